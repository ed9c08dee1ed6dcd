import { invalidInput } from "./texts.js";

const MOST_TOKENS = 8;
const MOST_BYTES = 32_768;

/**
 * Why the tokens sent with a call are refused as a whole: no texts, or so many or so large together that looking at them
 * would cost much. What they say, and whether one is too large by itself, is not looked at.
 */
export function faultOfUcans(ucans: unknown): "malformed" | "too_large" | undefined {
  if (!Array.isArray(ucans)) return "malformed";
  // First, so that a list of a million is not walked through.
  if (ucans.length > MOST_TOKENS) return "too_large";
  let total = 0;
  for (const token of ucans) {
    if (typeof token !== "string") return "malformed";
    total += Buffer.byteLength(token);
    if (total > MOST_BYTES) return "too_large";
  }
  return undefined;
}

/**
 * The tokens sent with a call of an adapter that judges them itself.
 *
 * @throws INVALID_INPUT
 */
export function parseUcans(ucans: unknown): readonly string[] {
  const fault = faultOfUcans(ucans);
  if (fault === "malformed") throw invalidInput("'ucans' must be an array of strings", "/ucans", "array of strings");
  if (fault === "too_large") throw tooLarge();
  return ucans as readonly string[];
}

function tooLarge() {
  const expected = `at most ${MOST_TOKENS} tokens and ${MOST_BYTES} bytes together`;
  return invalidInput(`'ucans' is too_large: ${expected}`, "/ucans", expected);
}
