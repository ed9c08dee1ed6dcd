// The command line inside the process of the test: a command costs a twentieth of what a process of its own costs. Signals,
// output that is a terminal, the temporary directory and the built program need `run` of process.ts.
import { once } from "node:events";
import { resolve } from "node:path";
import { PassThrough } from "node:stream";
import { main } from "../../src/cli/main.js";
import {
  type Finished,
  listening,
  makeFolder,
  type Running,
  runningOf,
  type StartOptions,
  type Streams,
  stopAtEnd,
} from "./process.js";
// Loaded before any command: Jest cannot link two modules at once whose imports overlap, and commands import these in pairs.
import "../../src/cli/tokens/signing-key.js";
import "../../src/cli/tokens/token-files.js";
import "../../src/drive/engine/engine.js";
import "../../src/drive/keys/owner-keys.js";
import "../../src/drive/store/embedded/embedded.js";
import "../../src/drive/store/embedded/read-cells.js";
import "../../src/drive/store/tables.js";
import "../../src/venue/start/state/place.js";

let last: Promise<unknown> = Promise.resolve();

interface HereOptions extends StartOptions {
  readonly input?: string;
}

/**
 * Runs a command to its end, as `run` does. `tmp` is its home alone: temp roots go where those of the test go.
 *
 * One after the other, since each has the current directory to itself. Not from `test.concurrent`, where Jest lets nothing be
 * imported.
 */
export function runHere(args: readonly string[], options: HereOptions = {}): Promise<Finished> {
  const finished = last.then(() => runNext(args, options));
  last = finished.catch(() => {});
  return finished;
}

async function runNext(args: readonly string[], { input = "", ...options }: HereOptions): Promise<Finished> {
  const tmp = options.tmp ?? makeFolder();
  const before = process.cwd();
  process.chdir(options.cwd ?? tmp);
  try {
    const running = startHere(args, { ...options, tmp, cwd: process.cwd() });
    running.child.stdin.end(input);
    return await running.ended;
  } finally {
    process.chdir(before);
  }
}

/** Starts a command that goes on until it is stopped. */
export function startHere(args: readonly string[], options: StartOptions = {}): Running<Streams> {
  const tmp = options.tmp ?? makeFolder();
  const { cwd = tmp } = options;
  const [stdin, stdout, stderr] = [new PassThrough(), new PassThrough(), new PassThrough()];
  let kill = (): void => {};
  const stopped = new Promise<void>((resolve) => {
    kill = resolve;
  });
  // Read from the current directory of the process, where that is another.
  const isElsewhere = cwd !== process.cwd();
  const isFile = (index: number) => isElsewhere && ["--config", "--caps"].includes(args[index - 1] ?? "");
  const status = main(
    args.map((arg, index) => (isFile(index) ? resolve(cwd, arg) : arg)),
    {
      ...{ env: { PATH: process.env["PATH"], HOME: tmp, ...options.env }, cwd },
      stdin: stdin as unknown as NodeJS.ReadStream,
      stdout: stdout as unknown as NodeJS.WriteStream,
      stderr: stderr as unknown as NodeJS.WriteStream,
      untilStopped: () => stopped,
      onReload: () => {},
    },
  );
  const closed = (async () => {
    const ended = Promise.all([once(stdout, "end"), once(stderr, "end")]);
    const code = await status;
    stdout.end();
    stderr.end();
    await ended;
    return { status: code, signal: null };
  })();
  const running = runningOf({ child: { stdin, stdout, stderr }, tmp, closed, kill });
  stopAtEnd(running);
  return running;
}

/** Starts `serve` on a free port and waits until it listens. */
export const serveHere = (args: readonly string[], options: StartOptions = {}) =>
  listening(startHere(["serve", "--port", "0", ...args], options));
