// The edits of an input, in either form, matched with one file, and the error for one that does not match.

import { adapterError, type FileAdapterError } from "../../core/errors/errors.js";
import { at, briefPath, invalidInput } from "../../core/errors/texts.js";
import type { FileCall } from "../../core/ports/operation.js";
import { foldName } from "../../path/grammar.js";
import type { EditInput } from "../../schema/types.js";
import { BOM, checkEncoding } from "../content/encoding.js";
import { placeKey } from "../content/file-etag.js";
import { linesAt } from "../content/terminators.js";
import { type Edit, EditMatcher, findOverlap, MAX_ALL, type Match, type Planned, sortByPosition } from "./match.js";
import { nearestTo } from "./nearest-lines.js";
import { checkGrowth, type Original } from "./original.js";

/** Matching lines in the data of an error, and in its message. */
export const LINES_TOLD = 10;
const LINES_SHOWN = 5;

/** The first of the lines at which something was found so many times. */
export const linesText = (lines: readonly number[], found: number): string =>
  `${lines.slice(0, LINES_SHOWN).join(", ")}${found > LINES_SHOWN ? ", …" : ""}`;

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
    const where = lines === undefined ? "Add" : `Lines ${linesText(lines, found)}: add`;
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
