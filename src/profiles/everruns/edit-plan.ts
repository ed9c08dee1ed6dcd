// Locates the replacements of `edit_file` in a text, across newline styles.

import type { EditedText, TextChange } from "../../core/call/terms.js";
import { escapeText } from "../../core/errors/texts.js";
import { type Terminator, terminatorsIn, withTerminator } from "../../ops/content/terminators.js";
import { findOverlap, type Planned, sortByPosition } from "../../ops/editing/apply.js";
import { nearestLines } from "../../ops/editing/nearest-lines.js";
import { occurrencesOf } from "../../ops/editing/text-search.js";
import type { RequestedEdit } from "./edit-input.js";
import { toolFault } from "./tool-fault.js";

const BOM = "\ufeff";
const MAX_SHOWN = 80;
/** Time limit of the search for a similar line, in milliseconds. */
const NEAREST_MS = 30;

/**
 * All replacements, ordered by position. Each old text must occur exactly once.
 * @throws NO_MATCH, AMBIGUOUS_MATCH, OVERLAPPING_EDITS
 */
export async function planEdits(edits: readonly RequestedEdit[], file: EditedText): Promise<readonly TextChange[]> {
  const bom = file.text.startsWith(BOM) ? BOM.length : 0;
  const body = file.text.slice(bom);
  const styles = stylesOf(body);
  const planned: Planned[] = [];
  for (const [index, edit] of edits.entries()) {
    const { start, end, text } = locateEdit(edit, { body, styles, file });
    planned.push({ start: start + bom, end: end + bom, text, edit: index });
    await file.breathe();
  }
  const ordered = sortByPosition(planned);
  if (findOverlap(ordered) !== undefined) throw toolFault("OVERLAPPING_EDITS", "Edits overlap in the target file");
  return ordered;
}

/** Newline style of a text. `undefined`: it has no line endings. */
interface Styles {
  readonly dominant: Terminator | undefined;
  readonly isMixed: boolean;
}

function stylesOf(body: string): Styles {
  const [dominant, second] = terminatorsIn(body);
  return { dominant, isMixed: second !== undefined };
}

interface Search {
  readonly body: string;
  readonly styles: Styles;
  readonly file: EditedText;
}

function locateEdit({ oldText, newText }: RequestedEdit, search: Search): TextChange {
  const { body, styles } = search;
  const literal = { old: withoutMark(oldText), new: withoutMark(newText) };
  if (literal.old === "") throw toolFault("INVALID_INPUT", "old_text cannot be empty");
  const { dominant, isMixed } = styles;
  const aligned =
    dominant === undefined
      ? literal
      : { old: withTerminator(dominant, literal.old), new: withTerminator(dominant, literal.new) };
  for (const pair of isMixed ? [literal, aligned] : [aligned]) {
    const { count, starts } = occurrencesOf(pair.old, body, 1);
    const [start] = starts;
    if (start === undefined) continue;
    if (count === 1) return { start, end: start + pair.old.length, text: pair.new };
    throw toolFault("AMBIGUOUS_MATCH", `old_text is ambiguous and matched multiple locations: '${shownText(oldText)}'`);
  }
  const text = `Could not find an exact match for old_text: '${shownText(oldText)}'`;
  throw toolFault("NO_MATCH", `${text}${closestText(literal.old, search)}`);
}

/** Names the most similar line, if the caller may read the file. */
function closestText(wanted: string, { body, file }: Search): string {
  if (!file.mayRead) return "";
  const until = Math.max(0, file.remainingMs() - NEAREST_MS);
  const plain = withTerminator("\n", body);
  const [best] = nearestLines(withTerminator("\n", wanted), plain, () => file.remainingMs() <= until);
  if (best === undefined) return "";
  const [line = ""] = best.text.split("\n");
  return ` Closest match at line ${best.startLine}: '${shownText(line)}'.`;
}

const withoutMark = (text: string): string => (text.startsWith(BOM) ? text.slice(BOM.length) : text);

/** A text for a message: on one line, at most 80 characters. */
export function shownText(text: string): string {
  const start = text.slice(0, 4 * MAX_SHOWN);
  const points = [...escapeText(withTerminator("\n", start).replaceAll("\n", "\\n"))];
  const isCut = points.length > MAX_SHOWN;
  return isCut ? `${points.slice(0, MAX_SHOWN).join("")}…` : points.join("");
}
