// Keeps texts for models within a number of tokens, without a tokenizer: estimates err on the long side.

/** Runs of letters up to this length are mostly words, which take about a token for every four letters. */
const WORD_CHARS = 12;
/** Shortest form of a path or another word that is cut in its middle. */
const SHORTEST_CHARS = 16;

/** Texts are not looked at further: nothing longer would fit. */
const MAX_CHARS = 2000;

const RUNS = /[A-Za-z0-9]+|[!-/:-@[-`{-~]+|[^!-~]/gu;

/** An estimate of the tokens of a text; it errs on the long side for hashes and rare scripts. */
function estimateTokens(text: string): number {
  let tokens = 0;
  for (const word of text.split(/\s+/)) {
    // A space before digits takes a token of its own.
    if (/^[0-9]/.test(word)) tokens++;
    for (const [run] of word.matchAll(RUNS)) tokens += costOf(run);
  }
  return tokens;
}

function costOf(run: string): number {
  const { length } = run;
  if (run.charCodeAt(0) > 0x7e) return Buffer.byteLength(run);
  if (/^[0-9]+$/.test(run)) return Math.ceil(length / 3);
  if (/^[A-Za-z]+$/.test(run)) return length > WORD_CHARS ? 0.8 * length : Math.max(1, length / 6);
  // Letters mixed with digits are hashes more often than words.
  if (/[A-Za-z0-9]/.test(run)) return 0.8 * length;
  return 0.3 + 0.5 * length;
}

/**
 * Shortens a text so that it takes at most about `most` tokens with `ending`, which stays whole: first the longest words
 * (paths and names) in their middle, then the end.
 */
export function fitTokens(text: string, most: number, ending: string): string {
  const room = most - estimateTokens(ending);
  const words = text.slice(0, MAX_CHARS).toWellFormed().split(" ");
  while (estimateTokens(words.join(" ")) > room) {
    const sizes = words.map((word) => [...word].length);
    const size = Math.max(...sizes);
    if (size <= SHORTEST_CHARS) return `${cutTo(words.join(" "), room)}${ending}`;
    const at = sizes.indexOf(size);
    words[at] = shorten(words[at] ?? "");
  }
  return `${words.join(" ")}${ending}`;
}

/** Takes a third out of the middle of a word, at least down to the shortest form. */
function shorten(word: string): string {
  const points = [...word.replace("…", "")];
  const kept = Math.max(SHORTEST_CHARS - 2, Math.floor((points.length * 2) / 3));
  const head = Math.floor(kept / 2);
  return `${points.slice(0, head).join("")}…${points.slice(head - kept).join("")}`;
}

function cutTo(text: string, room: number): string {
  const points = [...text];
  let end = points.length;
  while (end > 0 && estimateTokens(`${points.slice(0, end).join("")}…`) > room) end -= 8;
  return `${points.slice(0, Math.max(0, end)).join("")}…`;
}
