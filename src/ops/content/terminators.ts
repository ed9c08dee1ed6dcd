// Line terminators of texts: finding, counting and replacing them.

/** A line terminator. */
export type Terminator = "\n" | "\r\n" | "\r";

const ANY = /\r\n|\r|\n/g;
const LINE_FEED = 10;

/** The terminators in a text, the most frequent first; equally frequent ones in order of first occurrence. */
export function terminatorsIn(text: string): readonly Terminator[] {
  if (!text.includes("\r")) return text.includes("\n") ? ["\n"] : [];
  const returns = countReturns(text);
  const counts: readonly (readonly [Terminator, number])[] = [
    ["\n", countOf("\n", text) - returns.pairs],
    ["\r\n", returns.pairs],
    ["\r", returns.all - returns.pairs],
  ];
  return counts
    .filter(([, count]) => count > 0)
    .sort(([one, left], [other, right]) => right - left || firstOf(one, text) - firstOf(other, text))
    .map(([terminator]) => terminator);
}

/** Position of the first such terminator; the halves of a CRLF do not count. */
function firstOf(terminator: Terminator, text: string): number {
  let at = text.indexOf(terminator);
  if (terminator === "\r\n") return at;
  const isPart = terminator === "\n" ? () => text[at - 1] === "\r" : () => text[at + 1] === "\n";
  while (at >= 0 && isPart()) at = text.indexOf(terminator, at + 1);
  return at;
}

function countReturns(text: string): { all: number; pairs: number } {
  let all = 0;
  let pairs = 0;
  for (let at = text.indexOf("\r"); at >= 0; at = text.indexOf("\r", at + 1)) {
    all++;
    if (text.charCodeAt(at + 1) === LINE_FEED) pairs++;
  }
  return { all, pairs };
}

export function countOf(part: string, text: string): number {
  let count = 0;
  for (let at = text.indexOf(part); at >= 0; at = text.indexOf(part, at + part.length)) count++;
  return count;
}

/** The text with all terminators replaced by one. */
export function withTerminator(terminator: Terminator, text: string): string {
  if (terminator === "\n" && !text.includes("\r")) return text;
  return text.replace(ANY, terminator);
}

/** Characters in which a terminator near a place is looked for. */
const NEAR = 4096;

/** A line; the last one of a text has no terminator. */
export interface Line {
  readonly text: string;
  readonly end: Terminator | "";
}

/** The lines of a text; behind its last terminator there is always one more. */
export function linesOf(text: string): Line[] {
  const lines: Line[] = [];
  let at = 0;
  for (const { 0: end, index } of text.matchAll(ANY)) {
    lines.push({ text: text.slice(at, index), end: end as Terminator });
    at = index + end.length;
  }
  lines.push({ text: text.slice(at), end: "" });
  return lines;
}

/**
 * Terminator of a new line. Models write a lone line feed for every terminator: it becomes that of the nearest line. Other
 * terminators are meant.
 * @param neighbours the nearest first; `""` and `undefined` are none
 */
export const endOfNew = (given: Terminator, neighbours: readonly (Terminator | "" | undefined)[]): Terminator =>
  given === "\n" ? (neighbours.find((one): one is Terminator => one !== undefined && one !== "") ?? given) : given;

/** LF or CRLF, whichever is first behind a position; `undefined`: none is near. */
export function endBehind(position: number, text: string): Terminator | undefined {
  const near = text.slice(position, position + NEAR);
  const feed = near.indexOf("\n");
  return feed < 0 ? undefined : feedEnding(position + feed, text);
}

/** LF or CRLF, whichever is last before a position; `undefined`: none is near. */
export function endBefore(position: number, text: string): Terminator | undefined {
  const from = Math.max(0, position - NEAR);
  const feed = text.slice(from, position).lastIndexOf("\n");
  return feed < 0 ? undefined : feedEnding(from + feed, text);
}

const feedEnding = (feed: number, text: string): Terminator => (text[feed - 1] === "\r" ? "\r\n" : "\n");

/** A text with `\n` as the only terminator, and the mapping back to the original. */
export interface PlainText {
  readonly text: string;
  /** The position in the original. */
  original(index: number): number;
}

/** The newline-normalised view of a text. */
export function plainText(text: string): PlainText {
  const pairs: number[] = [];
  for (let at = text.indexOf("\r\n"); at >= 0; at = text.indexOf("\r\n", at + 2)) pairs.push(at - pairs.length);
  return {
    // Two passes with literals take a third of the time of one with a regular expression.
    text: text.replaceAll("\r\n", "\n").replaceAll("\r", "\n"),
    original: (index) => index + countBelow(index, pairs),
  };
}

/** Start of the terminator that ends at `end`; -1: there is none. */
export function terminatorBefore(end: number, text: string): number {
  const last = text[end - 1];
  if (last === "\r") return end - 1;
  if (last !== "\n") return -1;
  return text[end - 2] === "\r" ? end - 2 : end - 1;
}

/** End of the terminator that begins at `start`; -1: there is none. */
export function terminatorAfter(start: number, text: string): number {
  const first = text[start];
  if (first === "\n") return start + 1;
  if (first !== "\r") return -1;
  return text[start + 1] === "\n" ? start + 2 : start + 1;
}

/** Number of ascending values below a limit. */
export function countBelow(limit: number, ascending: readonly number[]): number {
  let low = 0;
  let high = ascending.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((ascending[middle] ?? limit) < limit) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** The 1-based lines of positions; only `\n` ends a line, as in reads of lines. */
export function linesAt(ascending: readonly number[], text: string): number[] {
  let line = 1;
  let next = text.indexOf("\n");
  return ascending.map((position) => {
    for (; next >= 0 && next < position; next = text.indexOf("\n", next + 1)) line++;
    return line;
  });
}
