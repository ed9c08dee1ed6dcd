// Finds hunks in a text and derives the replacements.

import { terminatorsIn } from "../content/terminators.js";
import { splitLines } from "../editing/line-changes.js";
import type { Replacement } from "../editing/match.js";
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
  newlines: (line) => line.replace(/\r?\n$/, ""),
  whitespace: (line) => line.trimEnd(),
};

/** The lines of a text, as each way of comparing sees them. */
class Lines {
  readonly lines: readonly string[];
  readonly #views = new Map<Way, readonly string[]>();

  constructor(text: string) {
    this.lines = splitLines(text);
  }

  /** Starts of all places from `from` on where the block is, in linear time. */
  placesOf(block: readonly string[], from: number, way: Way): number[] {
    const of = this.#viewsOf(way);
    const needle = block.map(VIEWS[way]);
    const borders = bordersOf(needle);
    const places: number[] = [];
    let matched = 0;
    for (let at = from; at < of.length; at++) {
      while (matched > 0 && (matched === needle.length || needle[matched] !== of[at]))
        matched = borders[matched - 1] ?? 0;
      if (needle[matched] === of[at]) matched++;
      if (matched === needle.length) places.push(at + 1 - matched);
    }
    return places;
  }

  #viewsOf(way: Way): readonly string[] {
    let views = this.#views.get(way);
    if (views === undefined) {
      views = this.lines.map(VIEWS[way]);
      this.#views.set(way, views);
    }
    return views;
  }
}

/** The prefix function: for each prefix, the length of its longest proper border. */
function bordersOf(needle: readonly string[]): number[] {
  const borders = [0];
  let length = 0;
  for (let at = 1; at < needle.length; at++) {
    while (length > 0 && needle[length] !== needle[at]) length = borders[length - 1] ?? 0;
    if (needle[length] === needle[at]) length++;
    borders.push(length);
  }
  return borders;
}

/** Finds every hunk behind the one before, each in one place only. */
export function matchHunks(text: string, hunks: readonly Hunk[]): HunkMatches | HunkFault {
  const file = new Lines(text);
  const starts = [0];
  for (const line of file.lines) starts.push((starts.at(-1) ?? 0) + line.length);
  // A lone CR does not end a line here.
  const terminator = terminatorsIn(text).find((one) => one !== "\r") ?? "\n";
  const replacements: Replacement[] = [];
  let way: Way = "exact";
  let cursor = 0;
  for (const [index, hunk] of hunks.entries()) {
    const found = findHunk(file, hunk, cursor);
    if ("wanted" in found) return { ...found, hunk: index };
    if (WAYS.indexOf(found.way) > WAYS.indexOf(way)) way = found.way;
    const { at } = found;
    const end = at + hunk.before.length;
    const replaced = newLines(file.lines, { hunk, at, terminator });
    replacements.push({ start: starts[at] ?? 0, end: starts[end] ?? text.length, text: replaced });
    cursor = end;
  }
  return { replacements, way };
}

type Place = { readonly at: number; readonly way: Way };

function findHunk(file: Lines, hunk: Hunk, cursor: number): Place | Omit<HunkFault, "hunk"> {
  const { anchors, before, atEnd } = hunk;
  const { lines } = file;
  let from = cursor;
  for (const anchor of anchors) {
    const at = findAnchor(lines, anchor, from);
    if (at === undefined) return { lines: [], wanted: anchor, isAnchor: true };
    from = at;
  }
  // Only added lines: behind the anchor, else at the end.
  if (before.length === 0) return { at: anchors.length > 0 && !atEnd ? from + 1 : lines.length, way: "exact" };
  for (const way of WAYS) {
    const all = file.placesOf(before, from, way);
    const places = atEnd ? all.filter((at) => isAtEnd(lines, at + before.length)) : all;
    const [at] = places;
    if (at !== undefined && places.length === 1) return { at, way };
    if (places.length > 1) return { lines: places.map((one) => one + 1), wanted: before.join("\n"), isAnchor: false };
  }
  return { lines: [], wanted: before.join("\n"), isAnchor: false };
}

/** Only empty lines follow. */
const isAtEnd = (lines: readonly string[], at: number): boolean => lines.slice(at).every((line) => line.trim() === "");

/** The first line that is the anchor; else, since models leave out indents and ends of lines, one that begins with it. */
function findAnchor(lines: readonly string[], anchor: string, from: number): number | undefined {
  const wanted = anchor.trim();
  const tests: readonly ((line: string) => boolean)[] = [
    (line) => line.trim() === wanted,
    (line) => line.trim().startsWith(wanted),
  ];
  for (const test of tests) {
    const at = lines.findIndex((line, index) => index >= from && test(line));
    if (at >= 0) return at;
  }
  return undefined;
}

/** Kept lines stay as they are in the file; whether the file ends with a newline stays too. */
function newLines(
  lines: readonly string[],
  { hunk, at, terminator }: { hunk: Hunk; at: number; terminator: string },
): string {
  const end = at + hunk.before.length;
  const last = lines.at(-1) ?? "";
  const endsBare = end === lines.length && last !== "" && !last.endsWith("\n");
  const all = hunk.after.map((line) => ("kept" in line ? (lines[at + line.kept] ?? "") : `${line.added}${terminator}`));
  if (!endsBare) return all.join("");
  const whole = all.map((line) => (line.endsWith("\n") ? line : `${line}${terminator}`)).join("");
  const text = at === lines.length ? `${terminator}${whole}` : whole;
  return text.replace(/\r?\n$/, "");
}
