// Finds hunks in a text and derives the replacements.

import { brokenBytes } from "../content/broken-text.js";
import type { Replacement } from "../editing/match.js";
import { startsOf } from "../editing/text-search.js";
import { splitLines } from "../editing/unified-diff.js";
import { newLines } from "./new-lines.js";
import type { Hunk } from "./section.js";

/** How lines are compared, the strictest first. */
export const WAYS = ["exact", "newlines", "whitespace"] as const;
export type Way = (typeof WAYS)[number];

export interface HunkMatches {
  /** By position, not overlapping. */
  readonly replacements: readonly Replacement[];
  /** The loosest way that was needed. */
  readonly way: Way;
}

/** Why a hunk does not match. */
export interface HunkFault {
  /** 0-based. */
  readonly hunk: number;
  /** 1-based lines at which it matches, if there are several; empty: none. */
  readonly lines: readonly number[];
  /** The text that was not found: lines of the file, or an anchor. */
  readonly wanted: string;
  /** The text that was not found is the one after `@@`. */
  readonly isAnchor: boolean;
}

const VIEWS: Readonly<Record<Way, (line: string) => string>> = {
  exact: (line) => (line.endsWith("\n") ? line.slice(0, -1) : line),
  newlines: (line) => line.replace(/\r?\n?$/, ""),
  whitespace: (line) => line.trimEnd(),
};

/** The lines of a text, as each way of comparing sees them. */
class Lines {
  readonly lines: readonly string[];
  /** The lines with U+FFFD for bytes that are no text. */
  readonly shown: readonly string[];
  /** Behind the last line that is not blank. */
  readonly filled: number;
  readonly #views = new Map<Way, readonly string[]>();

  constructor(text: string) {
    this.lines = splitLines(text);
    this.filled = this.lines.findLastIndex((line) => line.trim() !== "") + 1;
    this.shown = text.isWellFormed() ? this.lines : this.lines.map(shownLine);
  }

  /** Starts of all places from `from` on where the block is. */
  placesOf(block: readonly string[], from: number, way: Way): number[] {
    return [...startsOf(block.map(VIEWS[way]), this.#viewsOf(way), from)];
  }

  #viewsOf(way: Way): readonly string[] {
    let views = this.#views.get(way);
    if (views === undefined) {
      views = this.shown.map(VIEWS[way]);
      this.#views.set(way, views);
    }
    return views;
  }
}

/** A line as a lenient decoder shows it: U+FFFD for bytes that are no text. */
const shownLine = (line: string): string => (line.isWellFormed() ? line : brokenBytes(line).toString("utf8"));

/** Finds every hunk behind the one before, each in one place only. @param breathe called before each */
export async function matchHunks(
  text: string,
  hunks: readonly Hunk[],
  breathe: () => Promise<void>,
): Promise<HunkMatches | HunkFault> {
  const file = new Lines(text);
  const starts = [0];
  for (const line of file.lines) starts.push((starts.at(-1) ?? 0) + line.length);
  const replacements: Replacement[] = [];
  let way: Way = "exact";
  let cursor = { line: 0, drift: 0 };
  for (const [index, hunk] of hunks.entries()) {
    await breathe();
    const found = findHunk(file, hunk, cursor);
    if ("wanted" in found) return { ...found, hunk: index };
    if (WAYS.indexOf(found.way) > WAYS.indexOf(way)) way = found.way;
    const { at } = found;
    const end = at + hunk.before.length;
    for (const { from, to, text: put } of newLines(file.lines, { hunk, at, isExact: found.way === "exact" })) {
      replacements.push({ start: starts[from] ?? text.length, end: starts[to] ?? text.length, text: put });
    }
    cursor = { line: end, drift: hunk.above === undefined ? cursor.drift : at - hunk.above };
  }
  return { replacements, way };
}

/** Where hunks are looked for: from a line on, and how far the one before was from where its header says. */
interface Cursor {
  readonly line: number;
  readonly drift: number;
}

type Place = { readonly at: number; readonly way: Way };

function findHunk(file: Lines, hunk: Hunk, cursor: Cursor): Place | Omit<HunkFault, "hunk"> {
  const strict = findBelow(file, hunk, { ...cursor, isLoose: false });
  const isFound = "at" in strict || strict.lines.length > 0 || strict.isAnchor || hunk.anchors.length === 0;
  return isFound ? strict : findBelow(file, hunk, { ...cursor, isLoose: true });
}

function findBelow(
  file: Lines,
  hunk: Hunk,
  { line, drift, isLoose }: Cursor & { isLoose: boolean },
): Place | Omit<HunkFault, "hunk"> {
  const { before } = hunk;
  const { lines } = file;
  const anchors = findAnchors(file.shown, hunk.anchors, { from: line, isLoose });
  if (anchors.missing !== undefined) return { lines: [], wanted: anchors.missing, isAnchor: true };
  const expected = hunk.above === undefined ? undefined : hunk.above + drift;
  if (before.length === 0) return placeOfAdded(lines, hunk, { line, expected, below: anchors.next });
  for (const way of WAYS) {
    const places = file
      .placesOf(before, line, way)
      .filter((at) => mayLieAt(file, hunk, at) && anchors.first < at + before.length);
    const at = onlyOf(places, expected);
    if (at !== undefined) return { at, way };
    if (places.length > 1) return { lines: places.map((one) => one + 1), wanted: before.join("\n"), isAnchor: false };
  }
  return { lines: [], wanted: before.join("\n"), isAnchor: false };
}

/** Only added lines: behind the anchor, where the header says, else at the end. */
function placeOfAdded(
  lines: readonly string[],
  { atEnd, anchors, bare }: Hunk,
  { line, expected, below }: { line: number; expected: number | undefined; below: number },
): Place {
  const isSaid = !atEnd && bare?.after !== true;
  if (isSaid && anchors.length > 0) return { at: Math.max(line, below + 1), way: "exact" };
  if (isSaid && expected !== undefined) return { at: Math.min(Math.max(line, expected), lines.length), way: "exact" };
  return { at: lines.length, way: "exact" };
}

/** Whether the place fits the facts of the hunk about the end of the file. */
function mayLieAt({ lines, filled }: Lines, { before, atEnd, bare }: Hunk, at: number): boolean {
  const end = at + before.length;
  if (bare?.before === true || bare?.after === true) return end === lines.length;
  // Only empty lines follow.
  return !atEnd || end >= filled;
}

/** The only place; of several the one that is much nearer to where the header says than any other. */
function onlyOf(places: readonly number[], expected: number | undefined): number | undefined {
  if (places.length < 2) return places[0];
  if (expected === undefined) return undefined;
  const distance = (at: number): number => Math.abs(at - expected);
  const [first = 0, second = 0] = places.toSorted((left, right) => distance(left) - distance(right));
  return distance(first) * 2 < distance(second) ? first : undefined;
}

interface Anchors {
  /** The first that is in no line. */
  readonly missing?: string;
  /** The first line that the last anchor can be: what the hunk is about does not end above it. */
  readonly first: number;
  /** The same line from the end of the hunk before on, if there is one: lines that are only added go behind it. */
  readonly next: number;
}

/**
 * Each is looked for behind the one before, from the start of the file: an anchor above the hunk before is met too, as
 * where both lie in one function.
 * @param from end of the hunk before
 * @param isLoose a line that only begins with an anchor is as good as one that is it
 */
function findAnchors(
  lines: readonly string[],
  anchors: readonly string[],
  { from, isLoose }: { from: number; isLoose: boolean },
): Anchors {
  let first = 0;
  let next: number | undefined = from;
  for (const anchor of anchors) {
    const found = lineWith(lines, anchor, { from: first, isLoose });
    if (found === undefined) return { missing: anchor, first, next: first };
    first = found;
    next = next === undefined ? undefined : lineWith(lines, anchor, { from: next, isLoose });
  }
  return { first, next: next ?? first };
}

/** The first line that is the anchor; else, since models leave out indents and ends of lines, one that begins with it. */
function lineWith(
  lines: readonly string[],
  anchor: string,
  { from, isLoose }: { from: number; isLoose: boolean },
): number | undefined {
  let beginning: number | undefined;
  for (let at = from; at < lines.length; at++) {
    const line = lines[at]?.trim() ?? "";
    if (line === anchor) return at;
    if (beginning !== undefined || !line.startsWith(anchor)) continue;
    if (isLoose) return at;
    beginning = at;
  }
  return beginning;
}
