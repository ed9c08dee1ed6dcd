import { invalidInput } from "../errors/texts.js";

const MOST_TOKENS = 8;
const MOST_BYTES = 32_768;

/**
 * The tokens of a call, each once. A copy of another in the list counts as one more, whoever calls, so that a limit is the
 * same for all; one of a token that the caller is known by anyway does not.
 *
 * @param known tokens that the caller is known by; they come first
 * @returns why they are refused as a whole: no texts, or so many or so large together that looking at them would cost
 * much. What they say, and whether one is too large by itself, is not looked at
 */
export function readUcans(
  ucans: unknown,
  known: readonly string[] = [],
): readonly string[] | { readonly fault: "malformed" | "too_large" } {
  if (!Array.isArray(ucans)) return { fault: "malformed" };
  // First, so that a list of a million is not walked through.
  if (ucans.length > MOST_TOKENS) return { fault: "too_large" };
  const tokens = [...known.filter((token) => !ucans.includes(token)), ...ucans];
  if (tokens.length > MOST_TOKENS) return { fault: "too_large" };
  let total = 0;
  for (const token of tokens) {
    if (typeof token !== "string") return { fault: "malformed" };
    total += Buffer.byteLength(token);
    if (total > MOST_BYTES) return { fault: "too_large" };
  }
  return [...new Set([...known, ...tokens])];
}

/**
 * The tokens sent with a call of an adapter that judges them itself, each once.
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
  const expected = `at most ${MOST_TOKENS} tokens and ${MOST_BYTES} bytes together`;
  return invalidInput(`'ucans' is too_large: ${expected}`, "/ucans", expected);
}
