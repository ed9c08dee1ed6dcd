// Parses the edits of `file:edit`, in either form.

import { invalidInput } from "../../core/errors/texts.js";
import type { EditInput } from "../../schema/types.js";
import { checkEncoding } from "../content/encoding.js";
import type { Edit } from "./match.js";

/** The edits of an input, given as a list or in short form. @throws INVALID_INPUT */
export function editsOf({ edits, oldText, newText, expect, encoding }: EditInput): readonly Edit[] {
  checkEncoding(encoding);
  const short = { oldText, newText, expect };
  if (edits === undefined) return [shorthand(short)];
  const both = Object.entries(short).find(([, value]) => value !== undefined)?.[0];
  if (both !== undefined) {
    throw invalidInput(`Only one of 'edits' and '${both}' may be given`, `/${both}`, "edits, or oldText and newText");
  }
  return editsIn(edits, "/edits");
}

/** Edits given as a list. @param pointer to the list in the input @throws INVALID_INPUT */
export const editsIn = (edits: NonNullable<EditInput["edits"]>, pointer: string): readonly Edit[] =>
  edits.map((edit, index) => checked(edit, `${pointer}/${index}`));

/**
 * Whether edits may leave a text as it is, whatever is in it: line ends and byte order marks aside, they take away and add
 * the same characters. To whoever may not read they would tell, without a trace, what is there.
 */
export function mayCancelOut(edits: readonly Edit[]): boolean {
  const plain = edits.map(({ oldText, newText, expect }) => ({ from: plainOf(oldText), to: plainOf(newText), expect }));
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

interface Shorthand {
  readonly oldText: string | undefined;
  readonly newText: string | undefined;
  readonly expect: number | undefined;
}

function shorthand({ oldText, newText, expect }: Shorthand): Edit {
  if (oldText === undefined) throw invalidInput("'edits', or 'oldText' and 'newText', is required", "/edits", "a list");
  if (newText === undefined) throw invalidInput("'newText' is required", "/newText", "a value");
  return checked({ oldText, newText, ...(expect === undefined ? {} : { expect }) }, "");
}

/** Refuses lone surrogates: they would match half of a character, and cannot be encoded. */
function checked(edit: { oldText: string; newText: string; expect?: number }, pointer: string): Edit {
  for (const field of ["oldText", "newText"] as const) {
    if (edit[field].isWellFormed()) continue;
    const shown = `${pointer}/${field}`.slice(1).replaceAll("/", ".");
    throw invalidInput(`'${shown}' is not well-formed Unicode`, `${pointer}/${field}`, "Unicode text");
  }
  return { oldText: edit.oldText, newText: edit.newText, expect: edit.expect ?? 1 };
}
