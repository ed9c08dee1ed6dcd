import { invalidInput } from "./texts.js";

const MOST_TOKENS = 8;
const MOST_TOKEN_BYTES = 8192;
const MOST_BYTES = 32_768;

/**
 * Checks the tokens sent with a call: texts, and not so many or so large that looking at them would cost much. What they
 * say is not looked at.
 *
 * @throws INVALID_INPUT
 */
export function parseUcans(ucans: unknown): readonly string[] {
  if (!Array.isArray(ucans)) throw notTexts();
  // First, so that a list of a million is not walked through.
  if (ucans.length > MOST_TOKENS) throw tooLarge();
  const tokens = ucans.filter((token) => typeof token === "string");
  if (tokens.length < ucans.length) throw notTexts();
  const sizes = tokens.map((token) => Buffer.byteLength(token));
  const total = sizes.reduce((sum, size) => sum + size, 0);
  if (total > MOST_BYTES || sizes.some((size) => size > MOST_TOKEN_BYTES)) throw tooLarge();
  return tokens;
}

const notTexts = () => invalidInput("'ucans' must be an array of strings", "/ucans", "array of strings");

function tooLarge() {
  const expected = `at most ${MOST_TOKENS} tokens, ${MOST_TOKEN_BYTES} bytes each and ${MOST_BYTES} together`;
  return invalidInput(`'ucans' is too_large: ${expected}`, "/ucans", expected);
}
