// The input of `file:edit` in either form, and the turns of edits that depend on what a file holds.

import { invalidInput } from "../../core/errors/texts.js";
import type { FileCall } from "../../core/ports/operation.js";
import { foldName } from "../../path/grammar.js";
import type { EditInput } from "../../schema/types.js";
import { checkEncoding } from "../content/encoding.js";
import { placeKey } from "../content/file-etag.js";
import type { Edit } from "./match.js";

/** The edits of an input, given as a list or in short form; none where only line ends change. @throws INVALID_INPUT */
export function editsOf(input: EditInput): readonly Edit[] {
  checkEncoding(input.encoding);
  if (input.cell !== undefined && input.lineEnding !== undefined) {
    throw invalidInput(
      "'lineEnding' changes a whole file, not a cell: leave one out",
      "/lineEnding",
      "only one of both",
    );
  }
  const { edits, oldText, newText, expect, replaceAll, at } = input;
  const short = { oldText, newText, expect, replaceAll, at };
  const given = Object.entries(short).find(([, value]) => value !== undefined)?.[0];
  if (edits === undefined) {
    return given === undefined && input.lineEnding !== undefined ? [] : [checked(short, "", input.cell !== undefined)];
  }
  if (given === undefined) return editsIn(edits, "/edits");
  throw invalidInput(`Only one of 'edits' and '${given}' may be given`, `/${given}`, "edits, or oldText and newText");
}

/** Edits given as a list. @param pointer to the list in the input @throws INVALID_INPUT */
export const editsIn = (edits: NonNullable<EditInput["edits"]>, pointer: string): readonly Edit[] =>
  edits.map((edit, index) => checked(edit, `${pointer}/${index}`));

/**
 * Whether edits may leave a text as it is, whatever is in it: line ends and byte order marks aside, they take away and add
 * the same characters. To a caller that may not read they would tell the content, without a trace.
 */
export function mayCancelOut(edits: readonly Edit[]): boolean {
  // An edit of all occurrences has an unknown count: only a single edit surely changes something.
  if (edits.length > 1 && edits.some(({ expect }) => expect === undefined)) return true;
  const plain = edits.map(({ oldText, newText, expect = 1 }) => ({
    ...{ from: plainOf(oldText), to: plainOf(newText), expect },
  }));
  // Most differ in length: to count all characters takes longer.
  if (plain.reduce((sum, { from, to, expect }) => sum + expect * (to.length - from.length), 0) !== 0) return false;
  const counts = new Map<string, number>();
  const add = (text: string, count: number): void => {
    for (const one of text) counts.set(one, (counts.get(one) ?? 0) + count);
  };
  for (const { from, to, expect } of plain) {
    add(from, -expect);
    add(to, expect);
  }
  return [...counts.values()].every((count) => count === 0);
}

/** A file with several kinds of line ends is matched with them and without. */
const plainOf = (text: string): string => text.replace(/[\r\n\ufeff]/g, "");

interface GivenEdit {
  readonly oldText?: string | undefined;
  readonly newText?: string | undefined;
  readonly expect?: number | undefined;
  readonly replaceAll?: boolean | undefined;
  readonly at?: number | undefined;
}

/** @param mayBeWhole without old text the new one takes the place of all @throws INVALID_INPUT */
function checked({ oldText, newText, expect, replaceAll, at }: GivenEdit, pointer: string, mayBeWhole = false): Edit {
  const isPut = at !== undefined;
  if (oldText === undefined && !isPut && !mayBeWhole) {
    if (pointer === "") throw invalidInput("'edits', or 'oldText' and 'newText', is required", "/edits", "a list");
    throw invalidInput(`'${shown(`${pointer}/oldText`)}' is required`, `${pointer}/oldText`, "a value, or at");
  }
  if (newText === undefined) throw invalidInput("'newText' is required", `${pointer}/newText`, "a value");
  const other = Object.entries({ oldText, expect, replaceAll }).find(([, value]) => isPut && value !== undefined)?.[0];
  if (other !== undefined) {
    const message = `Only one of '${shown(`${pointer}/at`)}' and '${other}' may be given`;
    throw invalidInput(message, `${pointer}/${other}`, "at and newText, or oldText and newText");
  }
  checkWellFormed({ oldText, newText }, pointer);
  const isAll = replaceAll === true && expect === undefined;
  return { oldText: oldText ?? "", newText, expect: isAll ? undefined : (expect ?? 1), ...(isPut ? { at } : {}) };
}

/** Refuses lone surrogates: they would match half of a character, and cannot be encoded. */
function checkWellFormed(texts: Readonly<Record<"oldText" | "newText", string | undefined>>, pointer: string): void {
  for (const field of ["oldText", "newText"] as const) {
    if (texts[field]?.isWellFormed() !== false) continue;
    throw invalidInput(
      `'${shown(`${pointer}/${field}`)}' is not well-formed Unicode`,
      `${pointer}/${field}`,
      "Unicode text",
    );
  }
}

const shown = (pointer: string): string => pointer.slice(1).replaceAll("/", ".");

/**
 * Runs `work` once the earlier changes of these files have ended, in order of arrival. A file that goes by another name, or
 * that another process changes, is not waited for: there the commit finds the conflict.
 *
 * @throws ABORTED, TIMEOUT while it waits
 */
export function inTurn<T>(places: readonly [FileCall, ...FileCall[]], work: () => Promise<T>): Promise<T> {
  const { turns, access } = places[0];
  // In the same order for all, so that no two calls wait for each other.
  const keys = [...new Set(places.map(turnKey))].toSorted();
  const [first = ""] = keys;
  if (keys.length === 1 && turns.isFree(first)) return turns.run(first, work);
  const begin = async () => {
    access.scope.checkpoint();
    return work();
  };
  const run = keys.reduceRight<() => Promise<T>>((next, key) => () => turns.run(key, next), begin);
  return access.scope.race(run());
}

function turnKey(call: FileCall): string {
  const key = `${call.root.owner ?? ""} ${placeKey(call)}`;
  return call.root.backend.foldsCase === true ? foldName(key) : key;
}
