/** Characters by which places are found that may hold the whole text. */
export const PROBE = 16;
/** What a look at one of them costs beside comparing, in characters. */
export const LOOK = 64;
/** Characters that such looks may cost for each character there is, before another way is cheaper. */
export const PATIENCE = 2;

export interface Occurrences {
  /** Of all, overlapping ones too. */
  readonly count: number;
  /** Where the first of them begin. */
  readonly starts: readonly number[];
}

/**
 * Where one text occurs in another. Linear in both, whatever they hold: the engine's own search of a long text is not.
 * @param needle not empty
 * @param keep how many starts are told
 */
export function occurrencesOf(needle: string, text: string, keep: number): Occurrences {
  const probe = needle.slice(0, PROBE);
  const starts: number[] = [];
  let count = 0;
  let credit = PATIENCE * (text.length + needle.length);
  for (let at = text.indexOf(probe); at >= 0; at = text.indexOf(probe, at + 1)) {
    credit -= LOOK + needle.length;
    if (credit < 0) return byPrefixes(needle, text, keep);
    if (!text.startsWith(needle, at)) continue;
    count++;
    if (starts.length < keep) starts.push(at);
  }
  return { count, starts };
}

/** Knuth, Morris and Pratt: no character of `text` is looked at again. */
function byPrefixes(needle: string, text: string, keep: number): Occurrences {
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

/** For each beginning of `needle`, how much of its end is a beginning of `needle` too. */
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
