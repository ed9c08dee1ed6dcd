// Suggests the valid name for a misspelt one.

import { createRequire } from "node:module";
import { laterPackage } from "../core/later.js";

/** Loaded when it is first asked: most processes never need it. */
export const loadLevenshtein = laterPackage<typeof import("fastest-levenshtein")>(
  createRequire(import.meta.url),
  "fastest-levenshtein",
);

/** Maximum length compared: longer than any known name; edit distance of caller input takes quadratic time. */
const MAX_LENGTH = 100;

/**
 * The valid name that a misspelt one probably meant: a config key, an input field.
 *
 * @param key what was given
 * @param known the names that are valid there
 * @returns `undefined` if none is close
 */
export function nearestName(key: string, known: readonly string[]): string | undefined {
  if (key.length > MAX_LENGTH) return undefined;
  const { distance } = loadLevenshtein();
  let nearest: string | undefined;
  let least = Number.POSITIVE_INFINITY;
  for (const candidate of known) {
    const [a, b] = [key.toLowerCase(), candidate.toLowerCase()];
    // Prefers prefixes: `host` means `hostname`, though `port` has a smaller edit distance.
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
