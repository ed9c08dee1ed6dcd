// Reads the UCAN list of a call: checks its shape, count and size, before any token is decoded.

import { invalidInput } from "../errors/texts.js";

const MAX_TOKENS = 8;
const MAX_BYTES = 32_768;

/**
 * The tokens of a call, deduplicated. Duplicates in the list count towards the limits, so that the limits are the same
 * for all callers; copies of a token the caller authenticated with do not.
 *
 * @param known tokens the caller authenticated with; they come first
 * @returns the tokens, or why the list is refused: not strings, or too many or too large together to be worth checking.
 * Neither the contents nor the size of a single token is checked here
 */
export function readUcans(
  ucans: unknown,
  known: readonly string[] = [],
): readonly string[] | { readonly fault: "malformed" | "too_large" } {
  if (!Array.isArray(ucans)) return { fault: "malformed" };
  // Checked first, so that a huge list is never iterated.
  if (ucans.length > MAX_TOKENS) return { fault: "too_large" };
  const tokens = [...known.filter((token) => !ucans.includes(token)), ...ucans];
  if (tokens.length > MAX_TOKENS) return { fault: "too_large" };
  let total = 0;
  for (const token of tokens) {
    if (typeof token !== "string") return { fault: "malformed" };
    total += Buffer.byteLength(token);
    if (total > MAX_BYTES) return { fault: "too_large" };
  }
  return [...new Set([...known, ...tokens])];
}

/**
 * The tokens sent with a call to an adapter that verifies them itself, deduplicated.
 *
 * @throws INVALID_INPUT
 */
export function parseUcans(ucans: unknown): readonly string[] {
  const tokens = readUcans(ucans);
  if (!("fault" in tokens)) return tokens;
  if (tokens.fault === "too_large") throw tooLarge();
  throw invalidInput("'ucans' must be an array of strings", "/ucans", "array of strings");
}

function tooLarge() {
  const expected = `at most ${MAX_TOKENS} tokens and ${MAX_BYTES} bytes together`;
  return invalidInput(`'ucans' is too_large: ${expected}`, "/ucans", expected);
}
