// JSON that preserves integers: those that a double cannot represent are read as `bigint`, and written digit by digit.
import { createRequire } from "node:module";

const require = createRequire(import.meta.url);

/** Ten modules for few texts: loaded at the first one. */
const lossless = (): typeof import("lossless-json") => require("lossless-json");

/** Valid JSON that is refused because one of its numbers could not be preserved. */
export class UnkeptNumber extends Error {
  override readonly name = "UnkeptNumber";
  /** `size`: the text has more than {@link MAX_EXACT_CHARS} characters, so parsing it exactly would take too long. */
  readonly reason: "range" | "size" | "depth";

  constructor(reason: UnkeptNumber["reason"]) {
    super(TEXTS[reason]);
    this.reason = reason;
  }
}

/** Maximum characters of a text that is parsed exactly; the exact parser is slow and blocks the event loop. */
export const MAX_EXACT_CHARS = 1_048_576;
/** Maximum digits of an integer that is read as `bigint`. */
const MAX_DIGITS = 1000;

const TEXTS = {
  range: "a number is too large. Send it as a string",
  size: `integers beyond 2^53 are kept only in JSON of at most ${MAX_EXACT_CHARS} characters. Send them as strings`,
  depth: "it is nested too deeply for integers beyond 2^53. Send them as strings",
} as const;

/** Fast test for numbers that `JSON.parse` may change: 16 digits, or a large exponent. May give false positives. */
const SUSPECT = /\d[\d.]{15}|\d[eE]\+?\d{3}/;

/**
 * As `JSON.parse`, but integers that a double cannot represent are `bigint`. Fractions are doubles.
 *
 * @throws SyntaxError, UnkeptNumber
 */
export function parseExact(text: string): unknown {
  const value: unknown = JSON.parse(text);
  if (!SUSPECT.test(text) || !changesNumber(text)) return value;
  if (text.length > MAX_EXACT_CHARS) throw new UnkeptNumber("size");
  try {
    return lossless().parse(text, undefined, { parseNumber: numberOf, onDuplicateKey: ({ newValue }) => newValue });
  } catch (error) {
    // The exact parser is recursive; `JSON.parse` has already reported any syntax error.
    throw error instanceof RangeError ? new UnkeptNumber("depth") : error;
  }
}

/** A text that says so much that reading it would keep others waiting. */
export class TooManyValues extends Error {
  constructor() {
    super(
      `it holds more than some ${MAX_PARTS} fields, objects and lists, or ${MAX_COST} items. Send it as text, in one string`,
    );
  }
}

/** From this length on, a text is looked at before it is parsed. */
const LONG = 65_536;
/** Most values of a text, in items of lists. V8 takes some 20 ms for as many, on a slow machine. */
const MAX_COST = 250_000;
/** Most fields, objects and lists: each takes as long as this many items. */
const MAX_PARTS = 10_000;
const PART_COST = MAX_COST / MAX_PARTS;

/** As {@link parseExact}, for what a caller sends. @throws SyntaxError, UnkeptNumber, TooManyValues */
export function parseInput(text: string): unknown {
  if (text.length > LONG && costOf(text) > MAX_COST) throw new TooManyValues();
  return parseExact(text);
}

/** What a text costs to parse, valid or not; counts no further than it may. */
function costOf(text: string): number {
  let cost = 0;
  for (let at = 0; at < text.length && cost <= MAX_COST; ) {
    const code = text.charCodeAt(at);
    if (code === COMMA) cost++;
    else if (code === COLON || code === BRACKET || code === BRACE) cost += PART_COST;
    at = code === QUOTE ? stringEnd(text, at) : at + 1;
  }
  return cost;
}

/**
 * As `JSON.stringify`, but a `bigint` is written as an integer. @throws if a value cannot be serialised
 * @param replacing creates a replacer, a new one for each attempt
 */
export function stringifyExact(
  value: unknown,
  replacing: () => ((key: string, value: unknown) => unknown) | undefined = () => undefined,
): string {
  try {
    return JSON.stringify(value, replacing());
  } catch (error) {
    if (!(error instanceof TypeError) || !/BigInt/.test(error.message)) throw error;
    return lossless().stringify(value, replacing()) ?? "null";
  }
}

/** Whether a valid JSON text has a number that changes as a double. @throws UnkeptNumber */
function changesNumber(text: string): boolean {
  for (let at = 0; at < text.length; ) {
    const code = text.charCodeAt(at);
    if (code === QUOTE) at = stringEnd(text, at);
    else if (code === MINUS || isDigit(code)) {
      const end = numberEnd(text, at);
      if (typeof numberOf(text.slice(at, end)) === "bigint") return true;
      at = end;
    } else at++;
  }
  return false;
}

const QUOTE = 0x22;
const MINUS = 0x2d;
const BACKSLASH = 0x5c;
const COMMA = 0x2c;
const COLON = 0x3a;
const BRACKET = 0x5b;
const BRACE = 0x7b;
const isDigit = (code: number): boolean => code >= 0x30 && code <= 0x39;

/** Behind the string that starts here. In a text that is no JSON it may not end. */
function stringEnd(text: string, start: number): number {
  for (let end = text.indexOf('"', start + 1); end >= 0; end = text.indexOf('"', end + 1)) {
    let before = end - 1;
    while (text.charCodeAt(before) === BACKSLASH) before--;
    if ((end - 1 - before) % 2 === 0) return end + 1;
  }
  return text.length;
}

const NUMBER = /[-+.\deE]+/y;

function numberEnd(text: string, start: number): number {
  NUMBER.lastIndex = start;
  NUMBER.test(text);
  return NUMBER.lastIndex;
}

/** The value of a number literal of JSON. @throws UnkeptNumber */
function numberOf(literal: string): number | bigint {
  const value = Number(literal);
  if (Math.abs(value) <= Number.MAX_SAFE_INTEGER) return value;
  if (/^-?\d+$/.test(literal)) {
    // Compares the text, not the value: from 10^21 on doubles are written with an exponent.
    if (String(value) === literal) return value;
    if (literal.length > MAX_DIGITS) throw new UnkeptNumber("range");
    return BigInt(literal);
  }
  if (!Number.isFinite(value)) throw new UnkeptNumber("range");
  const exact = decimalOf(literal);
  const shown = decimalOf(String(value));
  if (exact.exponent < 0 || (exact.digits === shown.digits && exact.exponent === shown.exponent)) return value;
  const size = BigInt(exact.digits + "0".repeat(exact.exponent));
  return value < 0 ? -size : size;
}

/** A number without its sign as `digits * 10^exponent`, with no zero at either end of the digits. */
function decimalOf(literal: string): { digits: string; exponent: number } {
  const [, whole = "", fraction = "", power = "0"] = /^-?(\d+)(?:\.(\d+))?(?:[eE]([-+]?\d+))?$/.exec(literal) ?? [];
  const digits = whole + fraction;
  let end = digits.length;
  while (end > 0 && digits[end - 1] === "0") end--;
  let start = 0;
  while (start < end && digits[start] === "0") start++;
  return { digits: digits.slice(start, end), exponent: Number(power) - fraction.length + digits.length - end };
}
