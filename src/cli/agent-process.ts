import { spawn } from "node:child_process";
import { once } from "node:events";
import { Readable, Writable } from "node:stream";
import { ndJsonStream, type Stream } from "@agentclientprotocol/sdk";
import { escapeText } from "../core/texts.js";
import { type CommandContext, codeOf, Unavailable } from "./context.js";

/** How long an agent gets to end by itself. */
const GRACE_MS = 2000;

/** An agent that was started here. */
export interface AgentProcess {
  readonly stream: Stream;
  /** Its exit code; `null`: a signal ended it. */
  readonly ended: Promise<number | null>;
  /** Ends it, gently first. */
  stop(): Promise<void>;
}

/** Starts an agent as a process of the user's own: it is not confined, only what it asks for is. @throws Unavailable */
export async function startAgent(
  words: readonly string[],
  { cwd, env, stderr }: CommandContext,
): Promise<AgentProcess> {
  const [command = "", ...args] = words;
  const child = spawn(command, args, { cwd, env, stdio: ["pipe", "pipe", "pipe"] });
  const ended = new Promise<number | null>((resolve) => child.once("exit", (code) => resolve(code)));
  child.stderr.pipe(stderr, { end: false });
  try {
    await once(child, "spawn");
  } catch (error) {
    const why = codeOf(error) === "ENOENT" ? "no such program" : codeOf(error);
    throw new Unavailable(`Cannot start the agent '${escapeText(command)}': ${why}`);
  }
  return {
    stream: ndJsonStream(Writable.toWeb(child.stdin), Readable.toWeb(child.stdout)),
    ended,
    async stop() {
      child.kill("SIGTERM");
      const timer = setTimeout(() => child.kill("SIGKILL"), GRACE_MS);
      await ended;
      clearTimeout(timer);
    },
  };
}
