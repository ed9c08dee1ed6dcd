import { join } from "node:path";
import { PassThrough, Readable } from "node:stream";
import { afterAll, beforeEach, expect } from "@jest/globals";
import type { CommandContext } from "../../../src/cli/context.js";
import { main } from "../../../src/cli/main.js";
import { cleanUp, makeFolder } from "../process.js";

export interface Stage {
  readonly env?: Readonly<Record<string, string>>;
  readonly input?: string;
  readonly tty?: boolean;
}

/** What a command of ours gets of a process, with what it has said. */
function stage(folder: string, { env = {}, input = "", tty = false }: Stage = {}) {
  const [stdout, stderr] = [new PassThrough(), new PassThrough()];
  const said = [stdout, stderr].map((stream) => {
    const chunks: Buffer[] = [];
    stream.on("data", (chunk: Buffer) => chunks.push(chunk));
    return () => Buffer.concat(chunks).toString();
  });
  const context = {
    ...{ env, cwd: folder, stdin: Readable.from([Buffer.from(input)]), stderr },
    stdout: tty ? Object.assign(stdout, { isTTY: true, columns: 20 }) : stdout,
    untilStopped: () => new Promise<void>(() => {}),
    onReload: () => {},
  };
  const [out = () => "", err = () => ""] = said;
  return { context: context as unknown as CommandContext, out, err };
}

/** Runs a command on the root `d`. */
const runOn = (folder: string, args: readonly string[], more?: Stage) =>
  runFileLine(folder, [...args, "--root", "d=docs"], more);

/** Runs a file command, as the process does. */
export async function runFileLine(folder: string, args: readonly string[], more?: Stage) {
  const { context, out, err } = stage(folder, more);
  const status = await main(args, context);
  return { status, stdout: out(), stderr: err() };
}

/** Commands on files, in a folder with these files that is made anew for each test. The root `d` is `docs` in it. */
export function useFileCommands(files: Readonly<Record<string, string>>) {
  let folder = "";
  beforeEach(() => {
    folder = makeFolder(files);
  });
  afterAll(cleanUp);
  const on = (args: readonly string[], more?: Stage) => runOn(folder, args, more);
  return {
    on,
    /** What a command says that must not fail. */
    async ok(...args: readonly string[]): Promise<string> {
      const { status, stdout, stderr } = await on(args);
      expect([stderr, status]).toEqual(["", 0]);
      return stdout;
    },
    inFolder: (path: string): string => join(folder, path),
  };
}
