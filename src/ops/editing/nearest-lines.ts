// Finds the lines of a file that are most similar to a text that does not occur in it, for NO_MATCH errors.

import type { CallScope } from "../../core/call/scope.js";
import { foreignDifference, lookOf, unseenDifference } from "../../path/looks.js";
import { countBelow } from "../content/terminators.js";
import { occurrencesOf } from "./text-search.js";
import { splitLines } from "./unified-diff.js";

/** How lines of a file differ from the wanted text. */
type Difference = "whitespace" | "case" | "content";

/** Lines similar to the wanted text. */
interface NearLines {
  /** 1-based. */
  readonly startLine: number;
  readonly endLine: number;
  /** Cut if it is long. */
  readonly text: string;
  readonly differs: Difference;
}

/** Time limit for {@link nearestTo}; a step under way may exceed it a little. */
const NEAREST_MS = 30;
const MAX_CANDIDATES = 3;
/** Characters of all candidates together. */
const MAX_CHARS = 600;
/** Lines between two checks of the clock. */
const STRIDE = 256;
/** Leading characters of a line that are compared. */
const LINE_CHARS = 1_000;
/** Lines of the wanted text that are compared. */
const MAX_LINES = 300;
/** A line that occurs more often in the wanted text does not indicate a position. */
const MAX_REPEATS = 4;
/** Minimum share of common character pairs (bigrams) for two lines to count as similar. */
const ALIKE = 0.5;

/** Longer texts are not compared for how they differ. */
const COMPARED_CHARS = 100_000;
/** Minimum characters of a line to indicate a position: lone brackets occur everywhere. */
const TELLING = 3;

/** A line, and its key for comparison: without white space, in lower case. */
interface Line {
  readonly text: string;
  readonly key: string;
}

/** The candidate lines `from` to before `to`, 0-based. */
interface Stretch {
  readonly from: number;
  readonly to: number;
  readonly score: number;
}

/**
 * The lines of a file that are most similar to a text that does not occur in it, the best first. A long file is
 * searched only until `isOver` returns true.
 */
export function nearestLines(wanted: string, text: string, isOver: () => boolean): readonly NearLines[] {
  const wantedLines = splitLines(wanted);
  const needle = wantedLines.slice(0, MAX_LINES).map(lineOf);
  const lines = linesUntil(text, isOver);
  const count = wantedLines.length;
  const squeezed = squeezedMatches(needle, lines);
  const shared =
    squeezed.length > 0 ? squeezed : bestStretches(stretchesSharingLines({ needle, lines, count }, isOver));
  const stretches = shared.length > 0 ? shared : bestStretches(stretchesLikeLongest({ needle, lines, count }, isOver));
  return describeStretches(stretches, wanted, lines);
}

/** {@link nearestLines} within a bounded time, and what a message says of them. */
export function nearestTo(wanted: string, text: string, scope: CallScope) {
  const until = Math.max(0, scope.remainingMs() - NEAREST_MS);
  const nearest = nearestLines(wanted, text, () => scope.remainingMs() <= until);
  const [best] = nearest;
  if (best === undefined) return { nearest, advice: "Nothing similar found: read it again" };
  const { startLine: first, endLine: last } = best;
  const lines = first === last ? `line ${first}` : `lines ${first}-${last}`;
  const differs = unseenIn(text, wanted, best) ?? best.differs;
  return { nearest, advice: `Nearest: ${lines} (differs in ${differs}). Copy the text from there` };
}

/** The first difference of the nearest lines from the wanted text, where it is hard to see or cannot be seen. */
function unseenIn(text: string, wanted: string, best: NearLines): string | undefined {
  if (wanted.length > COMPARED_CHARS) return undefined;
  const lines = text.split("\n", best.endLine).slice(best.startLine - 1);
  const there = lines.join("\n").slice(0, COMPARED_CHARS);
  const [one, other] = [there, wanted].map((all) => all.replaceAll("\r\n", "\n")) as [string, string];
  return unseenDifference(there, wanted) ?? foreignDifference(one, other);
}

/** The wanted lines (`needle`), and the lines to search. */
interface Search {
  readonly needle: readonly Line[];
  readonly lines: readonly Line[];
  /** Number of wanted lines, including those not compared. */
  readonly count: number;
}

const squeeze = (text: string): string => text.replace(/\s+/g, "");

function lineOf(text: string): Line {
  return { text, key: squeeze(lookOf(text.slice(0, LINE_CHARS))).toLowerCase() };
}

function linesUntil(text: string, isOver: () => boolean): readonly Line[] {
  const lines: Line[] = [];
  for (let from = 0; from < text.length; ) {
    if (lines.length % STRIDE === STRIDE - 1 && isOver()) break;
    const newline = text.indexOf("\n", from);
    const to = newline < 0 ? text.length : newline + 1;
    lines.push(lineOf(text.slice(from, to)));
    from = to;
  }
  return lines;
}

/** Places with the same characters apart from white space, case and line breaks. */
function squeezedMatches(needle: readonly Line[], lines: readonly Line[]): readonly Stretch[] {
  const wanted = needle.map(({ key }) => key).join("");
  if (wanted === "") return [];
  const starts: number[] = [];
  let length = 0;
  for (const { key } of lines) {
    starts.push(length);
    length += key.length;
  }
  const all = lines.map(({ key }) => key).join("");
  return occurrencesOf(wanted, all, MAX_CANDIDATES).starts.map((start) => ({
    from: countBelow(start + 1, starts) - 1,
    to: countBelow(start + wanted.length, starts),
    score: 1,
  }));
}

/** Places where lines of both coincide: each common line votes for an alignment. */
function* stretchesSharingLines({ needle, lines, count }: Search, isOver: () => boolean): Generator<Stretch> {
  const places = new Map<string, number[]>();
  for (const [index, { key }] of needle.entries()) places.set(key, [...(places.get(key) ?? []), index]);
  const votes = new Map<number, number>();
  for (const [index, { key }] of lines.entries()) {
    if (index % STRIDE === STRIDE - 1 && isOver()) break;
    if (key.length < TELLING) continue;
    const indices = places.get(key) ?? [];
    if (indices.length > MAX_REPEATS) continue;
    for (const place of indices) votes.set(index - place, (votes.get(index - place) ?? 0) + 1);
  }
  for (const [from, score] of votes) yield createStretch(from, score, { count, most: lines.length });
}

/** Places with a line similar to the longest wanted line. */
function* stretchesLikeLongest({ needle, lines, count }: Search, isOver: () => boolean): Generator<Stretch> {
  const lengths = needle.map(({ key }) => key.length);
  const longest = lengths.indexOf(Math.max(...lengths));
  const likeness = createLikeness(needle[longest]?.key ?? "");
  for (const [index, { key }] of lines.entries()) {
    if (index % STRIDE === STRIDE - 1 && isOver()) return;
    const score = likeness(key);
    if (score >= ALIKE) yield createStretch(index - longest, score, { count, most: lines.length });
  }
}

const createStretch = (from: number, score: number, { count, most }: { count: number; most: number }): Stretch => ({
  from: Math.max(0, from),
  to: Math.min(most, Math.max(1, from + count)),
  score,
});

/**
 * Similarity of other texts to one: the share of its character pairs (bigrams) that they contain, 0 to 1; lower if they
 * are much longer. Pairs are hashed to 16 bits, which is precise enough.
 */
function createLikeness(wanted: string): (text: string) => number {
  const pairAt = (text: string, at: number): number =>
    (text.charCodeAt(at) * 31 + text.charCodeAt(at + 1) * 1009) & 0xffff;
  const isWanted = new Uint8Array(0x10000);
  let pairs = 0;
  for (let at = 0; at + 1 < wanted.length; at++) {
    const pair = pairAt(wanted, at);
    if (isWanted[pair] === 0) pairs++;
    isWanted[pair] = 1;
  }
  const seenIn = new Uint32Array(0x10000);
  let turn = 0;
  return (text) => {
    turn++;
    let shared = 0;
    for (let at = 0; at + 1 < text.length; at++) {
      const pair = pairAt(text, at);
      if (isWanted[pair] === 0 || seenIn[pair] === turn) continue;
      seenIn[pair] = turn;
      shared++;
    }
    return shared === 0 ? 0 : shared / (pairs + Math.max(0, text.length - wanted.length) / 4);
  };
}

/** The best few stretches that do not overlap. */
function bestStretches(stretches: Iterable<Stretch>): readonly Stretch[] {
  let kept: Stretch[] = [];
  for (const one of stretches) {
    const last = kept.at(-1);
    if (last !== undefined && kept.length === MAX_CANDIDATES && last.score >= one.score) continue;
    const overlapping = kept.filter(({ from, to }) => one.from < to && from < one.to);
    if (overlapping.some(({ score }) => score >= one.score)) continue;
    kept = [...kept.filter((other) => !overlapping.includes(other)), one]
      .sort((left, right) => right.score - left.score)
      .slice(0, MAX_CANDIDATES);
  }
  return kept;
}

function describeStretches(
  stretches: readonly Stretch[],
  wanted: string,
  lines: readonly Line[],
): readonly NearLines[] {
  let room = MAX_CHARS;
  return stretches.map(({ from, to }, index) => {
    const text = lines
      .slice(from, to)
      .map((line) => line.text)
      .join("");
    const shown = cut(text, Math.floor(room / (stretches.length - index)));
    room -= shown.length;
    return { startLine: from + 1, endLine: to, text: shown.toWellFormed(), differs: differenceOf(wanted, text) };
  });
}

/** Cuts a text to `most` characters without splitting a surrogate pair. */
const cut = (text: string, most: number): string =>
  text.length <= most ? text : `${text.slice(0, most - 1).replace(/[\ud800-\udbff]$/, "")}…`;

function differenceOf(wanted: string, text: string): Difference {
  if (Math.max(wanted.length, text.length) > COMPARED_CHARS) return "content";
  const [bareWanted, bare] = [squeeze(wanted), squeeze(text)];
  const isIn = (part: string, whole: string): boolean => occurrencesOf(part, whole, 0).count > 0;
  if (isIn(bareWanted, bare)) return "whitespace";
  return isIn(bareWanted.toLowerCase(), bare.toLowerCase()) ? "case" : "content";
}
