// Substring search in linear time, and the lines that two texts share.

/** Length of the prefix by which candidates are found. */
export const PROBE = 16;
/** Fixed cost of checking a candidate, in characters compared. */
export const LOOK = 64;
/** Most cost of candidates per character of the texts, before another algorithm is cheaper. */
export const PATIENCE = 2;

export interface Occurrences {
  /** Number of all occurrences, including overlapping ones. */
  readonly count: number;
  /** Start positions of the first occurrences. */
  readonly starts: readonly number[];
}

/**
 * Finds one text in another, in time linear in both in the worst case, which V8's `indexOf` of a long text is not.
 * @param needle not empty
 * @param keep most start positions returned
 */
export function occurrencesOf(needle: string, text: string, keep: number): Occurrences {
  const probe = needle.slice(0, PROBE);
  const starts: number[] = [];
  let count = 0;
  let credit = PATIENCE * (text.length + needle.length);
  for (let at = text.indexOf(probe); at >= 0; at = text.indexOf(probe, at + 1)) {
    credit -= LOOK + needle.length;
    if (credit < 0) return searchByPrefixes(needle, text, keep);
    if (!text.startsWith(needle, at)) continue;
    count++;
    if (starts.length < keep) starts.push(at);
  }
  return { count, starts };
}

function searchByPrefixes(needle: string, text: string, keep: number): Occurrences {
  const starts: number[] = [];
  let count = 0;
  for (const start of startsOf(codesOf(needle), codesOf(text))) if (++count <= keep) starts.push(start);
  return { count, starts };
}

const codesOf = (text: string): Sequence<number> => ({ length: text.length, at: (index) => text.charCodeAt(index) });

/** A list, or the code units of a text. */
interface Sequence<T> {
  readonly length: number;
  at(index: number): T | undefined;
}

/** Where a sequence is in another, in linear time (Knuth-Morris-Pratt). @param from where the search begins */
export function* startsOf<T>(needle: Sequence<T>, all: Sequence<T>, from = 0): Generator<number> {
  const borders = bordersOf(needle);
  let matched = 0;
  for (let at = from; at < all.length; at++) {
    const one = all.at(at);
    while (matched > 0 && (matched === needle.length || needle.at(matched) !== one))
      matched = borders[matched - 1] ?? 0;
    if (needle.at(matched) === one) matched++;
    if (matched === needle.length) yield at + 1 - matched;
  }
}

/** The prefix function: for each prefix of `needle`, the length of its longest proper border. */
function bordersOf<T>(needle: Sequence<T>): Int32Array {
  const borders = new Int32Array(needle.length);
  let length = 0;
  for (let at = 1; at < needle.length; at++) {
    const one = needle.at(at);
    while (length > 0 && needle.at(length) !== one) length = borders[length - 1] ?? 0;
    if (needle.at(length) === one) length++;
    borders[at] = length;
  }
  return borders;
}

export function sharedLines(
  olds: readonly string[],
  news: readonly string[],
  most: number,
): readonly (readonly [number, number])[] {
  const shortest = Math.min(olds.length, news.length);
  let head = 0;
  while (head < shortest && olds[head] === news[head]) head++;
  let tail = 0;
  while (tail < shortest - head && olds.at(-1 - tail) === news.at(-1 - tail)) tail++;
  const [oldEnd, newEnd] = [olds.length - tail, news.length - tail];
  const isFew = (oldEnd - head) * (newEnd - head) <= most;
  const between = isFew ? longestShared(olds.slice(head, oldEnd), news.slice(head, newEnd)) : [];
  return [
    ...Array.from({ length: head }, (_, at) => [at, at] as const),
    ...between.map(([old, next]) => [head + old, head + next] as const),
    ...Array.from({ length: tail }, (_, at) => [oldEnd + at, newEnd + at] as const),
  ];
}

/** The longest common subsequence of lines, as pairs of indices. */
function longestShared(olds: readonly string[], news: readonly string[]): (readonly [number, number])[] {
  const width = news.length + 1;
  const lengths = new Uint16Array((olds.length + 1) * width);
  const at = (row: number, column: number): number => lengths[row * width + column] ?? 0;
  const ids = new Map<string, number>();
  const idsOf = (lines: readonly string[]) =>
    lines.map((line) => {
      const id = ids.get(line) ?? ids.size;
      ids.set(line, id);
      return id;
    });
  const [oldIds, newIds] = [idsOf(olds), idsOf(news)];
  for (let row = olds.length - 1; row >= 0; row--) {
    for (let column = news.length - 1; column >= 0; column--) {
      lengths[row * width + column] =
        oldIds[row] === newIds[column]
          ? at(row + 1, column + 1) + 1
          : Math.max(at(row + 1, column), at(row, column + 1));
    }
  }
  const pairs: (readonly [number, number])[] = [];
  for (let row = 0, column = 0; row < olds.length && column < news.length; ) {
    if (oldIds[row] === newIds[column]) pairs.push([row++, column++]);
    else if (at(row + 1, column) >= at(row, column + 1)) row++;
    else column++;
  }
  return pairs;
}
