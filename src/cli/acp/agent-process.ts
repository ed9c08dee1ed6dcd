import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { Readable, Writable } from "node:stream";
import { setTimeout as sleep } from "node:timers/promises";
import { ndJsonStream, type Stream } from "@agentclientprotocol/sdk";
import { escapeText } from "../../core/errors/texts.js";
import { type CommandContext, codeOf, Unavailable } from "../context.js";

/** How long an agent gets to end by itself. */
const GRACE_MS = 2000;
const LOOK_MS = 10;
const HAS_GROUPS = process.platform !== "win32";

/** An agent that was started here. */
export interface AgentProcess {
  readonly stream: Stream;
  /** Its exit code; `null`: a signal ended it. */
  readonly ended: Promise<number | null>;
  /** Ends it and all that it has started, gently first. */
  stop(): Promise<void>;
}

/** Starts an agent as a process of the user's own: it is not confined, only what it asks for is. @throws Unavailable */
export async function startAgent(
  words: readonly string[],
  { cwd, env, stderr }: CommandContext,
): Promise<AgentProcess> {
  const [command = "", ...args] = words;
  const child = spawn(command, args, { cwd, env, stdio: ["pipe", "pipe", "pipe"], detached: HAS_GROUPS });
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
      signalGroup(child, "SIGTERM");
      const deadline = performance.now() + GRACE_MS;
      while (isGroupAlive(child) && performance.now() < deadline) await sleep(LOOK_MS);
      signalGroup(child, "SIGKILL");
      await ended;
    },
  };
}

/** An agent is often a script that starts another program: only its group holds them all. */
function signalGroup(child: ChildProcess, signal: NodeJS.Signals): void {
  if (child.pid === undefined) return;
  if (!HAS_GROUPS) {
    child.kill(signal);
    return;
  }
  try {
    process.kill(-child.pid, signal);
  } catch {
    // Nothing is left of it.
  }
}

function isGroupAlive({ pid, exitCode, signalCode }: ChildProcess): boolean {
  if (pid === undefined) return false;
  if (!HAS_GROUPS) return exitCode === null && signalCode === null;
  try {
    process.kill(-pid, 0);
    return true;
  } catch {
    return false;
  }
}
