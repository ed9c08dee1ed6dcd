// Starts the program of an agent, and ends it with everything it started.

import type { ChildProcess } from "node:child_process";
import { once } from "node:events";
import { Readable, Writable } from "node:stream";
import { setTimeout as sleep } from "node:timers/promises";
import { ndJsonStream, type Stream } from "@agentclientprotocol/sdk";
import { escapeText } from "../../core/errors/texts.js";
import { attempt, works } from "../../core/io.js";
import { isWindows } from "../../core/system.js";
import { spawnAlone } from "../../process/spawn-alone.js";
import { type CommandContext, codeOf, Unavailable } from "../context.js";

/** Time between SIGTERM and SIGKILL, in milliseconds. */
const GRACE_MS = 2000;
const LOOK_MS = 10;
const hasGroups = (): boolean => !isWindows();

/** A running agent process. */
export interface AgentProcess {
  readonly stream: Stream;
  /** Exit code; `null` if killed by a signal. */
  readonly ended: Promise<number | null>;
  /** Ends its whole process group: terminates it first, kills it after a grace period. */
  stop(): Promise<void>;
}

/** Starts an agent as an ordinary process: not sandboxed, only its requests are restricted. @throws Unavailable */
export async function startAgent(
  words: readonly string[],
  { cwd, env, stderr }: CommandContext,
): Promise<AgentProcess> {
  const [command = "", ...args] = words;
  const child = spawnAlone(command, args, { cwd, env, stdio: ["pipe", "pipe", "pipe"], detached: hasGroups() });
  const { stdin, stdout } = child;
  if (stdin === null || stdout === null) throw new RangeError("No pipes");
  const ended = new Promise<number | null>((resolve) => child.once("exit", (code) => resolve(code)));
  child.stderr?.pipe(stderr, { end: false });
  try {
    await once(child, "spawn");
  } catch (error) {
    const why = codeOf(error) === "ENOENT" ? "no such program" : codeOf(error);
    throw new Unavailable(`Cannot start the agent '${escapeText(command)}': ${why}`);
  }
  return {
    stream: ndJsonStream(Writable.toWeb(stdin), Readable.toWeb(stdout)),
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

/** Signals the process group, since an agent is often a script that starts other programs. */
function signalGroup(child: ChildProcess, signal: NodeJS.Signals): void {
  const { pid } = child;
  if (pid === undefined) return;
  if (!hasGroups()) {
    child.kill(signal);
    return;
  }
  // The group may no longer exist.
  attempt(() => process.kill(-pid, signal));
}

function isGroupAlive({ pid, exitCode, signalCode }: ChildProcess): boolean {
  if (pid === undefined) return false;
  if (!hasGroups()) return exitCode === null && signalCode === null;
  return works(() => process.kill(-pid, 0));
}
