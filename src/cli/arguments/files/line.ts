// Reads the command line of a command on files.

import { checkTypes, type LooseLine } from "../../commands/command.js";
import { FILE_OPTIONS } from "../../commands/file-options.js";
import {
  FILE_COMMANDS,
  type FileCommandName,
  type FileValues,
  fileOptions,
  isFileCommand,
} from "../../commands/files.js";
import { ownCallsOf } from "../../commands/shared.js";
import { readLine } from "../read.js";
import type { OwnCalls } from "../remote.js";

/** A command on files that was read, with its configuration and caller. */
export interface FileRun<N extends FileCommandName = FileCommandName> {
  readonly name: N;
  readonly values: FileValues<N>;
  readonly words: readonly string[];
  readonly calls: OwnCalls;
}

/** Forms of the namesakes: `find` takes long options with a single dash, `head` and `tail` the number of lines as one (`-2`). */
const RESPELL: Partial<Record<FileCommandName, (word: string) => string>> = {
  find: (word) => (/^-[a-z]/.test(word) && Object.hasOwn(fileOptions("find"), word.slice(1)) ? `-${word}` : word),
  head: (word) => word.replace(/^-(\d+)$/, "--lines=$1"),
  tail: (word) => word.replace(/^-(\d+)$/, "--lines=$1"),
};

/** The file command of a line, and its arguments; `undefined`: the line has another command. */
export async function findFileCommand(
  argv: readonly string[],
): Promise<{ readonly name: FileCommandName; readonly args: readonly string[] } | undefined> {
  const [first] = argv;
  // The table of all commands is loaded only where options come before the command.
  const at = first?.startsWith("-") === true ? (await import("../find-command.js")).firstWord(argv) : 0;
  const name = argv[at];
  return isFileCommand(name) ? { name, args: argv.toSpliced(at, 1) } : undefined;
}

/** @throws UsageError */
export function readFileLine(name: FileCommandName, args: readonly string[]): FileRun | "help" {
  const respell = RESPELL[name] ?? ((word: string) => word);
  const line = readLine(args, { name, options: fileOptions(name), words: { most: Infinity }, respell });
  return typeof line === "string" ? "help" : runOf(name, line);
}

function runOf<N extends FileCommandName>(name: N, { values, words }: LooseLine): FileRun<N> {
  checkTypes(values, FILE_COMMANDS[name].options);
  checkTypes(values, FILE_OPTIONS);
  return { name, values, words, calls: ownCallsOf(values) };
}
