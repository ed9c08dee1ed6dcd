import { isDeepStrictEqual } from "node:util";

/** A wrong answer makes every number worthless, so it ends the bench. */
export class WrongAnswer extends Error {
  name = "WrongAnswer";
}

export function expectEqual(actual, expected, what) {
  if (isDeepStrictEqual(actual, expected)) return;
  throw new WrongAnswer(`${what}: expected ${shorten(expected)}, got ${shorten(actual)}`);
}

export function expectThat(condition, what) {
  if (!condition) throw new WrongAnswer(what);
}

/** The text of a tool's first block. A tool that failed is a wrong answer. */
export function textOf(result, what) {
  if (result.isError === true) throw new WrongAnswer(`${what}: ${result.content?.[0]?.text}`);
  return result.content[0].text;
}

function shorten(value) {
  const text = typeof value === "string" ? value : (JSON.stringify(value) ?? String(value));
  return text.length > 200 ? `${text.slice(0, 200)}… (${text.length} characters)` : text;
}
