// Reads the command line of a command on files: its options, and numbers and `ROOT:PATH` among them.

import { escapeText } from "../../core/errors/texts.js";
import type { LooseLine } from "../commands/command.js";
import { type FileCommandName, type FileValues, fileOptions, isFileCommand } from "../commands/files.js";
import { ownCallsOf } from "../commands/shared.js";
import { UsageError } from "./options.js";
import { readLine } from "./read.js";
import type { OwnCalls } from "./remote.js";

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
  const at = first?.startsWith("-") === true ? (await import("./find-command.js")).firstWord(argv) : 0;
  const name = argv[at];
  return isFileCommand(name) ? { name, args: argv.toSpliced(at, 1) } : undefined;
}

/** @throws UsageError */
export function readFileLine(name: FileCommandName, args: readonly string[]): FileRun | "help" {
  const respell = RESPELL[name] ?? ((word: string) => word);
  const line = readLine(args, { name, options: fileOptions(name), words: { most: Infinity }, respell });
  return typeof line === "string" ? "help" : runOf(name, line);
}

function runOf<N extends FileCommandName>(name: N, { values: read, words }: LooseLine): FileRun<N> {
  const values = read as FileValues<N>;
  return { name, values, words, calls: ownCallsOf(values) };
}

/** The value of an option as an integer. @throws UsageError */
export function numberOf(option: string, text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  if (/^\d{1,15}$/.test(text)) return Number(text);
  throw new UsageError(`--${option} takes a whole number, not '${escapeText(text)}'`);
}

/** A path in a root, written `ROOT:PATH`. */
export interface FilePlace {
  readonly root: string;
  readonly path: string;
}

/** @throws UsageError */
export function placeOf(word: string): FilePlace {
  const colon = word.indexOf(":");
  if (colon > 0) return { root: word.slice(0, colon), path: word.slice(colon + 1) };
  const root = "ROOT is the NAME of --root NAME=FOLDER, or the folder's own name";
  throw new UsageError(`'${escapeText(word)}' names no root: say ROOT:PATH, for example docs:notes/a.md. ${root}`);
}

export const placeText = ({ root, path }: FilePlace): string => escapeText(`${root}:${path}`);

/** A command and its arguments. */
interface FileWords {
  readonly name: string;
  readonly words: readonly string[];
}

/** The words of a command, checked for their number. @param what a name per word @throws UsageError */
export function wordsOf({ name, words }: FileWords, ...what: readonly string[]): readonly string[] {
  if (words.length === what.length) return words;
  throw new UsageError(`'${name}' takes ${what.join(" and ")}: venue-files ${name} ${what.join(" ")}`);
}

/** The places named by the words of a command; at least one. @throws UsageError */
export const placesOf = (command: FileWords): readonly FilePlace[] =>
  (command.words.length === 0 ? wordsOf(command, "ROOT:PATH") : command.words).map(placeOf);
