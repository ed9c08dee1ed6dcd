// The command line inside the process of the test: a command costs a twentieth of what a process of its own costs. Signals,
// output that is a terminal, the temporary directory and the built program need `run` of process.ts.
import { PassThrough } from "node:stream";
import { text } from "node:stream/consumers";
import { main } from "../../src/cli/main.js";
import { type Finished, makeFolder, type StartOptions } from "./process.js";
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

async function runNext(args: readonly string[], options: HereOptions): Promise<Finished> {
  const home = options.tmp ?? makeFolder();
  const [stdin, stdout, stderr] = [new PassThrough(), new PassThrough(), new PassThrough()];
  const written = Promise.all([text(stdout), text(stderr)]);
  stdin.end(options.input ?? "");
  const before = process.cwd();
  process.chdir(options.cwd ?? home);
  try {
    const status = await main(args, {
      env: { PATH: process.env["PATH"], HOME: home, ...options.env },
      cwd: process.cwd(),
      stdin: stdin as unknown as NodeJS.ReadStream,
      stdout: stdout as unknown as NodeJS.WriteStream,
      stderr: stderr as unknown as NodeJS.WriteStream,
      untilStopped: () => new Promise(() => {}),
      onReload: () => {},
    });
    stdout.end();
    stderr.end();
    const [out, errors] = await written;
    return { status, signal: null, stdout: out, stderr: errors };
  } finally {
    process.chdir(before);
  }
}
