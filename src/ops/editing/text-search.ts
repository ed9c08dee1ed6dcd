// Substring search in linear time.

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

/** Knuth-Morris-Pratt search. */
function searchByPrefixes(needle: string, text: string, keep: number): Occurrences {
  const borders = bordersOf(needle);
  const starts: number[] = [];
  let count = 0;
  let matched = 0;
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    while (matched > 0 && (matched === needle.length || needle.charCodeAt(matched) !== code)) {
      matched = borders[matched - 1] ?? 0;
    }
    if (needle.charCodeAt(matched) === code) matched++;
    if (matched < needle.length) continue;
    count++;
    if (starts.length < keep) starts.push(at + 1 - matched);
  }
  return { count, starts };
}

/** The prefix function: for each prefix of `needle`, the length of its longest proper border. */
function bordersOf(needle: string): Int32Array {
  const borders = new Int32Array(needle.length);
  let length = 0;
  for (let at = 1; at < needle.length; at++) {
    const code = needle.charCodeAt(at);
    while (length > 0 && needle.charCodeAt(length) !== code) length = borders[length - 1] ?? 0;
    if (needle.charCodeAt(length) === code) length++;
    borders[at] = length;
  }
  return borders;
}
