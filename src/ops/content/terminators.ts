/** What ends a line. */
export type Terminator = "\n" | "\r\n" | "\r";

const ANY = /\r\n|\r|\n/g;
const LINE_FEED = 10;

/** The terminators that a text has, the most frequent first; of two that are as frequent, the one that occurs first. */
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

/** Where a terminator stands first; those of a pair are none of their own. */
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

function countOf(part: string, text: string): number {
  let count = 0;
  for (let at = text.indexOf(part); at >= 0; at = text.indexOf(part, at + part.length)) count++;
  return count;
}

/** The same text with one terminator throughout. */
export const withTerminator = (terminator: Terminator, text: string): string => text.replace(ANY, terminator);

/** A text in which every line ends in `\n`, and the way back. */
export interface PlainText {
  readonly text: string;
  /** Where something is in the original. */
  original(index: number): number;
}

/** The newline-normalised view of a text. */
export function plainText(text: string): PlainText {
  const pairs: number[] = [];
  for (let at = text.indexOf("\r\n"); at >= 0; at = text.indexOf("\r\n", at + 2)) pairs.push(at - pairs.length);
  return {
    // Two passes with plain texts take a third of one with an expression.
    text: text.replaceAll("\r\n", "\n").replaceAll("\r", "\n"),
    original: (index) => index + countBelow(index, pairs),
  };
}

/** Where a terminator that ends at a place begins. -1: none does */
export function terminatorBefore(end: number, text: string): number {
  const last = text[end - 1];
  if (last === "\r") return end - 1;
  if (last !== "\n") return -1;
  return text[end - 2] === "\r" ? end - 2 : end - 1;
}

/** Where a terminator that begins at a place ends. -1: none does */
export function terminatorAfter(start: number, text: string): number {
  const first = text[start];
  if (first === "\n") return start + 1;
  if (first !== "\r") return -1;
  return text[start + 1] === "\n" ? start + 2 : start + 1;
}

/** How many of some ascending numbers are below another. */
function countBelow(limit: number, ascending: readonly number[]): number {
  let low = 0;
  let high = ascending.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((ascending[middle] ?? limit) < limit) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** The 1-based line in which a position is; a line ends with `\n`, as in a read of lines. */
export const lineAt = (position: number, text: string): number => {
  let line = 1;
  for (let at = text.indexOf("\n"); at >= 0 && at < position; at = text.indexOf("\n", at + 1)) line++;
  return line;
};
