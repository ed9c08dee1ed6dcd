import { type ChildProcessWithoutNullStreams, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import type { Readable, Writable } from "node:stream";
import { fileURLToPath } from "node:url";

/** The built command line entry; `npm test` builds it first. */
export const CLI = fileURLToPath(new URL("../../dist/cli.js", import.meta.url));

export interface Finished {
  readonly status: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly stdout: string;
  readonly stderr: string;
}

export interface StartOptions {
  readonly cwd?: string;
  /** Where temp roots go; by default a fresh folder. */
  readonly tmp?: string;
  readonly env?: Readonly<Record<string, string>>;
  /** A command that runs the process, which is appended to it. */
  readonly under?: readonly string[];
}

/** Standard input and output. */
export interface Streams {
  readonly stdin: Writable;
  readonly stdout: Readable;
  readonly stderr: Readable;
}

/** A process of ours that goes on until it is stopped. */
export interface Running<C extends Streams = ChildProcessWithoutNullStreams> {
  readonly child: C;
  /** Where its temp roots are. */
  readonly tmp: string;
  stdout(): string;
  stderr(): string;
  /** The first match in what it has written so far or will write. Rejects when it ends without. */
  until(pattern: RegExp, stream?: "stdout" | "stderr"): Promise<RegExpExecArray>;
  readonly ended: Promise<Finished>;
  stop(signal?: NodeJS.Signals): Promise<Finished>;
}

const children = new Set<ChildProcessWithoutNullStreams>();
const folders: string[] = [];
const stops = new Set<() => Promise<unknown>>();

/** Makes a folder that {@link cleanUp} removes, with the given files in it. */
export function makeFolder(files: Readonly<Record<string, string | Buffer>> = {}): string {
  const folder = mkdtempSync(join(tmpdir(), "venue-files-test-"));
  folders.push(folder);
  for (const [name, content] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, name)), { recursive: true });
    writeFileSync(join(folder, name), content);
  }
  return folder;
}

/** Ends every process that was started here and removes every folder. */
export async function cleanUp(): Promise<void> {
  const open = [...children];
  for (const child of open) child.kill("SIGKILL");
  await Promise.all([...stops].map((stop) => stop()));
  await Promise.all(open.map((child) => ((child.exitCode ?? child.signalCode) ? undefined : once(child, "close"))));
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true });
}

/** Names of what temp roots left in a folder: instances and their records. */
export function tempRootsIn(tmp: string): string[] {
  return readdirSync(tmp)
    .filter((name) => name.startsWith("venue-files-"))
    .flatMap((home) => readdirSync(join(tmp, home)));
}

/** Starts `venue-files` with the given arguments. */
export function start(args: readonly string[], options: StartOptions = {}): Running {
  return startNode([CLI, ...args], options);
}

/** Starts Node itself. */
export function startNode(args: readonly string[], options: StartOptions = {}): Running {
  const tmp = options.tmp ?? makeFolder();
  const [command = "", ...before] = [...(options.under ?? []), process.execPath];
  const child = spawn(command, [...before, ...args], {
    cwd: options.cwd ?? tmp,
    env: { PATH: process.env["PATH"], HOME: tmp, TMPDIR: tmp, ...options.env },
  });
  children.add(child);
  const closed = once(child, "close").then(([status, signal]) => {
    children.delete(child);
    return { status, signal };
  });
  const kill = (signal: NodeJS.Signals) => void child.kill(signal);
  return runningOf({ child, tmp, closed, kill });
}

/** Has {@link cleanUp} stop something, unless it has ended by then. */
export function stopAtEnd({ stop, ended }: Pick<Running<Streams>, "stop" | "ended">): void {
  const stopIt = () => stop().catch(() => {});
  stops.add(stopIt);
  const forget = () => void stops.delete(stopIt);
  ended.then(forget, forget);
}

/** Keeps what a command writes. @param closed when nothing more comes */
export function runningOf<C extends Streams>(parts: {
  readonly child: C;
  readonly tmp: string;
  readonly closed: Promise<Pick<Finished, "status" | "signal">>;
  kill(signal: NodeJS.Signals): void;
}): Running<C> {
  const { child, tmp, closed, kill } = parts;
  // Writing to one that has ended is no concern of the test runner.
  child.stdin.on("error", () => {});
  const written = { stdout: "", stderr: "" };
  for (const stream of ["stdout", "stderr"] as const) {
    child[stream].setEncoding("utf8");
    child[stream].on("data", (chunk: string) => {
      written[stream] += chunk;
    });
  }
  const ended = closed.then((end): Finished => ({ ...end, ...written }));
  return {
    child,
    tmp,
    stdout: () => written.stdout,
    stderr: () => written.stderr,
    until: (pattern, stream = "stdout") => matchOf(child[stream], { pattern, read: () => written[stream], ended }),
    ended,
    stop(signal = "SIGTERM") {
      kill(signal);
      return ended;
    },
  };
}

/** Runs `venue-files` to its end. */
export async function run(args: readonly string[], options: StartOptions & { input?: string } = {}): Promise<Finished> {
  const running = start(args, options);
  running.child.stdin.end(options.input ?? "");
  return running.ended;
}

/** Starts `serve` on a free port and waits until it listens. */
export const serve = (args: readonly string[], options: StartOptions = {}): Promise<Running & { url: string }> =>
  listening(start(["serve", "--port", "0", ...args], options));

/** Waits until `serve` listens. */
export async function listening<C extends Streams>(running: Running<C>): Promise<Running<C> & { url: string }> {
  const [, url = ""] = await running.until(/listens on (\S+)\n[\s\S]*Stop with Ctrl-C/);
  return { ...running, url };
}

function matchOf(
  stream: Readable,
  wanted: { readonly pattern: RegExp; readonly ended: Promise<Finished>; read(): string },
): Promise<RegExpExecArray> {
  const { pattern, read, ended } = wanted;
  return new Promise((resolve, reject) => {
    const look = () => {
      const match = pattern.exec(read());
      if (match === null) return;
      stream.off("data", look);
      resolve(match);
    };
    stream.on("data", look);
    look();
    ended.then((end) => {
      look();
      reject(new Error(`Ended without ${pattern}: ${JSON.stringify(end)}`));
    }, reject);
  });
}
