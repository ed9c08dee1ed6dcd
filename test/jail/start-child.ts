import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import type { FileAdapterConfig } from "../../src/index.js";
import type { Outcome, Output } from "./files.js";
import { ROOT } from "./files.js";

export interface ChildOptions {
  readonly config: FileAdapterConfig;
  /** Rights to go on with; only root can choose. */
  readonly uid?: number;
  readonly gid?: number;
  readonly umask?: number;
  readonly env?: Readonly<Record<string, string>>;
  /** A command that runs the process, which is appended to it. */
  readonly under?: readonly string[];
}

/** An adapter in a process of its own. */
export interface Child {
  readonly pid: number;
  readonly warnings: readonly string[];
  /** @param input without `root`, if that is {@link ROOT} */
  invoke(operation: string, input?: Record<string, unknown>): Promise<Outcome>;
  /** Ends it as a program ends that closes its adapter. */
  close(): Promise<void>;
  /** Ends it at once, as a crash does. */
  kill(): Promise<void>;
}

/** The user that owns nothing. */
export const NOBODY = { uid: 65534, gid: 65534 } as const;
export const isRoot = process.geteuid?.() === 0;

/** @throws Error with the reason when the adapter cannot be made */
export async function startChild(options: ChildOptions): Promise<Child> {
  const { env, under = [], ...rest } = options;
  const script = fileURLToPath(new URL("./adapter-child.mjs", import.meta.url));
  const [command = "", ...args] = [...under, process.execPath, script, JSON.stringify(rest)];
  const child = spawn(command, args, { stdio: ["pipe", "pipe", "inherit"], env: { ...process.env, ...env } });
  const exited = once(child, "exit");
  // Whoever writes to a process that was killed learns of it by its exit.
  child.stdin?.on("error", () => {});
  const answers = new Map<number, (outcome: Outcome) => void>();
  const { ready, failed } = readAnswers(child, answers);
  void exited.then(() => failed(new Error("the process of the adapter has ended")));
  const warnings = await ready;
  let calls = 0;
  return {
    pid: child.pid ?? -1,
    warnings,
    invoke(operation, input = {}) {
      const id = ++calls;
      const answer = new Promise<Outcome>((resolve) => answers.set(id, resolve));
      const given = operation === "roots" ? input : { root: ROOT, ...input };
      child.stdin?.write(`${JSON.stringify({ id, operation, input: given })}\n`);
      return answer;
    },
    async close() {
      child.stdin?.end();
      await exited;
    },
    async kill() {
      child.kill("SIGKILL");
      await exited;
    },
  };
}

interface Line {
  readonly id?: number;
  readonly output?: Output;
  readonly error?: Outcome;
  readonly failed?: string;
  readonly warnings?: string[];
}

function readAnswers(
  child: ChildProcess,
  answers: Map<number, (outcome: Outcome) => void>,
): { ready: Promise<readonly string[]>; failed: (error: Error) => void } {
  let failed: (error: Error) => void = () => {};
  const ready = new Promise<readonly string[]>((resolve, reject) => {
    failed = reject;
    if (child.stdout === null) return;
    createInterface({ input: child.stdout }).on("line", (text) => {
      const line = JSON.parse(text) as Line;
      if (line.failed !== undefined) reject(new Error(line.failed));
      else if (line.id === undefined) resolve(line.warnings ?? []);
      else answers.get(line.id)?.(line.error ?? { code: "ok", output: line.output ?? {} });
    });
  });
  return { ready, failed };
}

/** Runs `work` with an adapter of another process, which is closed afterwards. */
export async function withChild<T>(options: ChildOptions, work: (child: Child) => Promise<T>): Promise<T> {
  const child = await startChild(options);
  try {
    return await work(child);
  } finally {
    await child.close();
  }
}

/** A command prefix that mounts in a namespace of its own, so that nobody else sees it. */
export const mounted = (...commands: readonly string[]): readonly string[] => [
  "unshare",
  "--mount",
  "--propagation",
  "private",
  "sh",
  "-ec",
  `${commands.join("\n")}\nexec "$@"`,
  "sh",
];

/** Whether this process may mount in a namespace of its own, and why not. */
export function mountsPossible(command: string): { possible: boolean; reason: string } {
  const [program = "", ...args] = mounted(command);
  const { status, error, stderr } = spawnSync(program, [...args, "true"], { encoding: "utf8" });
  if (status === 0) return { possible: true, reason: "" };
  return { possible: false, reason: ` (cannot mount here: ${(error?.message ?? stderr).trim().split("\n")[0]})` };
}
