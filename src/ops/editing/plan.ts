// Matches the edits of one file, and makes the error for an edit that does not match.

import { adapterError, type FileAdapterError } from "../../core/errors/errors.js";
import { at, briefPath } from "../../core/errors/texts.js";
import type { FileCall } from "../../core/ports/operation.js";
import { BOM } from "../content/encoding.js";
import { linesAt } from "../content/terminators.js";
import { type Edit, EditMatcher, findOverlap, MAX_ALL, type Match, type Planned, sortByPosition } from "./match.js";
import { nearestTo } from "./nearest-lines.js";
import { checkGrowth, type Original } from "./original.js";

/** Matching lines in the data of an error, and in its message. */
const LINES_TOLD = 10;
const LINES_SHOWN = 5;

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
    await scope.pause();
  }
  const ordered = sortByPosition(planned);
  const overlap = findOverlap(ordered);
  if (overlap === undefined) return ordered;
  const [first, second] = overlap.map((one) => one.edit + 1).toSorted((left, right) => left - right);
  // Equal if occurrences of one edit overlap.
  const next = first === second ? { next: { option: "oldText" } } : {};
  const advice = first === second ? "Make its oldText longer" : "Make one edit of both";
  throw adapterError("OVERLAPPING_EDITS", `Edits ${first} and ${second} overlap in "${briefPath(place)}". ${advice}`, {
    ...at(place),
    edits: [first, second],
    ...next,
  });
}

export const shiftBehindMark = <R extends { start: number; end: number; text: string }>(one: R): R =>
  one.start > 0
    ? one
    : { ...one, start: 1, end: Math.max(1, one.end), text: one.text.startsWith(BOM) ? one.text.slice(1) : one.text };

interface Mismatch {
  readonly call: FileCall;
  /** `undefined`: the caller may not read the file. */
  readonly text: string | undefined;
  /** 0-based. */
  readonly edit: number;
  readonly of: number;
}

function mismatch(one: Edit, match: Match, { call, text, edit, of }: Mismatch): FileAdapterError {
  const { place, scope } = call.access;
  const path = briefPath(place);
  const which = `Edit ${edit + 1} of ${of}`;
  const data = { ...at(place), edit: edit + 1 };
  if (one.at !== undefined) {
    const told = `${which}: "${path}" has no line ${one.at}. Read it again, or add to it with file:append`;
    return adapterError("NO_MATCH", told, { ...data, next: { tool: "file:append" } });
  }
  const { found, starts } = match;
  if (found > 0) {
    const expected = one.expect ?? MAX_ALL;
    const lines = text === undefined ? undefined : linesAt(starts.slice(0, LINES_TOLD), text);
    const more = lines !== undefined && (lines.length > LINES_SHOWN || found > lines.length) ? ", …" : "";
    const where = lines === undefined ? "Add" : `Lines ${lines.slice(0, LINES_SHOWN).join(", ")}${more}: add`;
    const option = found > MAX_ALL ? "oldText" : "replaceAll";
    const advice = `${where} lines around it to oldText${option === "oldText" ? "" : ", or set replaceAll"}`;
    return adapterError(
      "AMBIGUOUS_MATCH",
      `${which} matches "${path}" ${found} times, expected ${expected}. ${advice}`,
      { ...data, found, expected, ...(lines && { lines }), next: { option } },
    );
  }
  const told = `${which} does not match "${path}"`;
  if (text === undefined) return adapterError("NO_MATCH", told, data);
  const { nearest, advice } = nearestTo(one.oldText, text, scope);
  return adapterError("NO_MATCH", `${told}. ${advice}`, { ...data, tried: ["exact", "newlines"], nearest });
}
