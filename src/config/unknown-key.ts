import { createRequire } from "node:module";

const require = createRequire(import.meta.url);

/**
 * The valid key that was probably meant.
 *
 * @param key what stands in the config
 * @param known the keys that are valid there
 * @returns `undefined` when nothing is near
 */
export function nearestKey(key: string, known: readonly string[]): string | undefined {
  // Loaded only now: most starts have no unknown key, and loading costs more than reading the whole config.
  const { distance }: typeof import("fastest-levenshtein") = require("fastest-levenshtein");
  let nearest: string | undefined;
  let least = Number.POSITIVE_INFINITY;
  for (const candidate of known) {
    const [a, b] = [key.toLowerCase(), candidate.toLowerCase()];
    // `host` means `hostname`, though `port` is fewer edits away.
    const edits = isCutShort(a, b) ? Math.min(1, distance(a, b)) : distance(a, b);
    if (edits < least && edits <= Math.ceil(Math.max(a.length, b.length) / 3)) {
      nearest = candidate;
      least = edits;
    }
  }
  return nearest;
}

const isCutShort = (a: string, b: string): boolean =>
  a.length >= 3 && b.length >= 3 && (a.startsWith(b) || b.startsWith(a));
