// Parses the edits of `file:edit`, in either form.

import { invalidInput } from "../../core/errors/texts.js";
import type { EditInput } from "../../schema/types.js";
import { isEncodingName } from "../content/encoding.js";
import type { Edit } from "./match.js";

/** The edits of an input, given as a list or in short form. @throws INVALID_INPUT */
export function editsOf({ edits, oldText, newText, expect, encoding }: EditInput): readonly Edit[] {
  if (encoding !== undefined && !isEncodingName(encoding)) {
    throw invalidInput("'encoding' must be the name of a text encoding", "/encoding", "utf-8, utf-16le, latin1, …");
  }
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
