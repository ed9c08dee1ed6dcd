// Numbers, and the `ROOT:PATH` arguments of commands on files.

import { escapeText } from "../../../core/errors/texts.js";
import { UsageError } from "../options.js";

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
