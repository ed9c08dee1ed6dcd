// Matches the edits of one file, and says what does not match.

import { ambiguousMatch, noMatch, noSuchLine, overlappingEdits } from "../../core/errors/edit-texts.js";
import type { FileCall } from "../../core/ports/operation.js";
import { BOM } from "../content/encoding.js";
import { linesAt } from "../content/terminators.js";
import { type Edit, EditMatcher, findOverlap, MAX_ALL, type Match, type Planned, sortByPosition } from "./match.js";
import { nearestLines, unseenIn } from "./nearest-lines.js";
import { checkGrowth, type Original } from "./original.js";
import { yieldIfDue } from "./yield.js";

/** Time limit for finding lines similar to an edit that does not match; a step under way may exceed it a little. */
const NEAREST_MS = 30;
const LINES_TOLD = 10;

/** The replacements of all edits, by position. @throws NO_MATCH, AMBIGUOUS_MATCH, OVERLAPPING_EDITS, TOO_LARGE */
export async function planOf(
  edits: readonly Edit[],
  { text, form }: Pick<Original, "text" | "form">,
  { call, mayRead }: { call: FileCall; mayRead: boolean },
): Promise<readonly Planned[]> {
  const { place, scope } = call.access;
  let added = 0;
  const willAdd = (chars: number): void => {
    added += chars;
    checkGrowth({ added, grows: added > text.length }, call);
  };
  const matcher = new EditMatcher(text, willAdd);
  const planned: Planned[] = [];
  for (const [index, one] of edits.entries()) {
    const match = matcher.match(one);
    if (match.replacements.length === 0) {
      throw mismatch(one, match, { call, text: mayRead ? text : undefined, edit: index, of: edits.length });
    }
    // The byte order mark stays, even if an edit's old text begins with it.
    const kept = form.bom ? match.replacements.map(shiftBehindMark) : match.replacements;
    for (const replacement of kept) planned.push({ ...replacement, edit: index });
    await yieldIfDue(scope);
  }
  const ordered = sortByPosition(planned);
  const overlap = findOverlap(ordered);
  if (overlap === undefined) return ordered;
  const [first, second] = overlap.map((one) => one.edit).toSorted((left, right) => left - right);
  throw overlappingEdits(place, [first ?? 0, second ?? 0]);
}

export const shiftBehindMark = <R extends { start: number; end: number; text: string }>(one: R): R =>
  one.start > 0
    ? one
    : { ...one, start: 1, end: Math.max(1, one.end), text: one.text.startsWith(BOM) ? one.text.slice(1) : one.text };

interface Mismatch {
  readonly call: FileCall;
  /** `undefined`: the caller may not read the file. */
  readonly text: string | undefined;
  readonly edit: number;
  readonly of: number;
}

function mismatch(
  { oldText, expect = MAX_ALL, at }: Edit,
  { found, starts }: Match,
  { call, text, edit: index, of }: Mismatch,
) {
  const { place, scope } = call.access;
  const which = { edit: index, of };
  if (at !== undefined) return noSuchLine(place, { ...which, line: at });
  if (found > 0) {
    const lines = text === undefined ? undefined : linesAt(starts.slice(0, LINES_TOLD), text);
    return ambiguousMatch(place, { ...which, found, expected: expect, ...(lines === undefined ? {} : { lines }) });
  }
  if (text === undefined) return noMatch(place, which);
  const until = Math.max(0, scope.remainingMs() - NEAREST_MS);
  const nearest = nearestLines(oldText, text, () => scope.remainingMs() <= until);
  return noMatch(place, { ...which, nearest, ...unseenIn(text, oldText, nearest) });
}
