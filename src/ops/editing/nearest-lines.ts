import { splitLines } from "./line-changes.js";
import { occurrencesOf } from "./text-search.js";

/** How a place in a file differs from what was looked for. */
export type Difference = "whitespace" | "case" | "content";

/** Lines like those that were looked for. */
export interface NearLines {
  /** 1-based. */
  readonly startLine: number;
  readonly endLine: number;
  /** Cut where they are long. */
  readonly text: string;
  readonly differs: Difference;
}

const MOST_CANDIDATES = 3;
/** Characters of all candidates together. */
const MOST_CHARS = 600;
/** Lines between two looks at the clock. */
const STRIDE = 256;
/** Characters of one line that are compared; of more, only the first. */
const LINE_CHARS = 1_000;
/** Lines of the text looked for that are compared. */
const MOST_LINES = 300;
/** How often a line may stand in the text looked for and still say where it would be. */
const MOST_REPEATS = 4;
/** Share of the pairs of characters two lines must have in common to be called alike. */
const ALIKE = 0.5;

/** Characters up to which two texts are compared to say how they differ. */
const COMPARED_CHARS = 100_000;
/** Characters that a line must have to say where it would be: brackets alone stand everywhere. */
const TELLING = 3;

/** A line, and how it is compared: without white space and case. */
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
 * The lines of a file that are most like a text that it does not hold, the best first. Of a long file it does what it
 * can until `isOver` says that the time is up.
 */
export function nearestLines(wanted: string, text: string, isOver: () => boolean): readonly NearLines[] {
  const wantedLines = splitLines(wanted);
  const needle = wantedLines.slice(0, MOST_LINES).map(lineOf);
  const lines = linesUntil(text, isOver);
  const count = wantedLines.length;
  const squeezed = squeezedMatches(needle, lines);
  const shared = squeezed.length > 0 ? squeezed : best(sharing({ needle, lines, count }, isOver));
  const stretches = shared.length > 0 ? shared : best(alike({ needle, lines, count }, isOver));
  return described(stretches, wanted, lines);
}

/** What is looked for, and where. */
interface Search {
  readonly needle: readonly Line[];
  readonly lines: readonly Line[];
  /** Lines of what is looked for, compared or not. */
  readonly count: number;
}

const squeeze = (text: string): string => text.replace(/\s+/g, "");

function lineOf(text: string): Line {
  return { text, key: squeeze(text.slice(0, LINE_CHARS)).toLowerCase() };
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

/** Where the same characters stand apart from white space and case, wherever the lines are broken. */
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
  return occurrencesOf(wanted, all, MOST_CANDIDATES).starts.map((start) => ({
    from: countUpTo(start, starts) - 1,
    to: countUpTo(start + wanted.length - 1, starts),
    score: 1,
  }));
}

/** Where lines of both would stand under each other. */
function* sharing({ needle, lines, count }: Search, isOver: () => boolean): Generator<Stretch> {
  const places = new Map<string, number[]>();
  for (const [index, { key }] of needle.entries()) places.set(key, [...(places.get(key) ?? []), index]);
  const votes = new Map<number, number>();
  for (const [index, { key }] of lines.entries()) {
    if (index % STRIDE === STRIDE - 1 && isOver()) break;
    if (key.length < TELLING) continue;
    const indices = places.get(key) ?? [];
    if (indices.length > MOST_REPEATS) continue;
    for (const place of indices) votes.set(index - place, (votes.get(index - place) ?? 0) + 1);
  }
  for (const [from, score] of votes) yield stretch(from, score, { count, most: lines.length });
}

/** Where the longest line of what is looked for has a line like it. */
function* alike({ needle, lines, count }: Search, isOver: () => boolean): Generator<Stretch> {
  const lengths = needle.map(({ key }) => key.length);
  const longest = lengths.indexOf(Math.max(...lengths));
  const likeness = likenessTo(needle[longest]?.key ?? "");
  for (const [index, { key }] of lines.entries()) {
    if (index % STRIDE === STRIDE - 1 && isOver()) return;
    const score = likeness(key);
    if (score >= ALIKE) yield stretch(index - longest, score, { count, most: lines.length });
  }
}

const stretch = (from: number, score: number, { count, most }: { count: number; most: number }): Stretch => ({
  from: Math.max(0, from),
  to: Math.min(most, Math.max(1, from + count)),
  score,
});

/**
 * How much of the pairs of characters of one text others have, 0 to 1; less where they are much longer. Pairs are told
 * apart well enough by 16 bits.
 */
function likenessTo(wanted: string): (text: string) => number {
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

/** The best few that do not overlap. */
function best(stretches: Iterable<Stretch>): readonly Stretch[] {
  let kept: Stretch[] = [];
  for (const one of stretches) {
    const last = kept.at(-1);
    if (last !== undefined && kept.length === MOST_CANDIDATES && last.score >= one.score) continue;
    const overlapping = kept.filter(({ from, to }) => one.from < to && from < one.to);
    if (overlapping.some(({ score }) => score >= one.score)) continue;
    kept = [...kept.filter((other) => !overlapping.includes(other)), one]
      .sort((left, right) => right.score - left.score)
      .slice(0, MOST_CANDIDATES);
  }
  return kept;
}

function described(stretches: readonly Stretch[], wanted: string, lines: readonly Line[]): readonly NearLines[] {
  let room = MOST_CHARS;
  return stretches.map(({ from, to }, index) => {
    const text = lines
      .slice(from, to)
      .map((line) => line.text)
      .join("");
    const shown = cut(text, Math.floor(room / (stretches.length - index)));
    room -= shown.length;
    return { startLine: from + 1, endLine: to, text: shown, differs: differenceOf(wanted, text) };
  });
}

/** At most some characters, none of them half of a pair. */
const cut = (text: string, most: number): string =>
  text.length <= most ? text : `${text.slice(0, most - 1).replace(/[\ud800-\udbff]$/, "")}…`;

function differenceOf(wanted: string, text: string): Difference {
  if (Math.max(wanted.length, text.length) > COMPARED_CHARS) return "content";
  const [bareWanted, bare] = [squeeze(wanted), squeeze(text)];
  const isIn = (part: string, whole: string): boolean => occurrencesOf(part, whole, 0).count > 0;
  if (isIn(bareWanted, bare)) return "whitespace";
  return isIn(bareWanted.toLowerCase(), bare.toLowerCase()) ? "case" : "content";
}

/** How many of some ascending numbers are at most another. */
function countUpTo(limit: number, ascending: readonly number[]): number {
  let low = 0;
  let high = ascending.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((ascending[middle] ?? limit + 1) <= limit) low = middle + 1;
    else high = middle;
  }
  return low;
}
