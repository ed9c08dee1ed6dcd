/** What ends a line. */
export type Terminator = "\n" | "\r\n" | "\r";

const ANY = /\r\n|\r|\n/g;

/** The terminators that a text has, the most frequent first; of two that are as frequent, the one that occurs first. */
export function terminatorsIn(text: string): readonly Terminator[] {
  if (!text.includes("\r")) return text.includes("\n") ? ["\n"] : [];
  const pairs = countOf("\r\n", text);
  const counts: readonly (readonly [Terminator, number])[] = [
    ["\n", countOf("\n", text) - pairs],
    ["\r\n", pairs],
    ["\r", countOf("\r", text) - pairs],
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
    text: withTerminator("\n", text),
    original: (index) => index + countBelow(index, pairs),
  };
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
