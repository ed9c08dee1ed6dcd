// JSON that preserves integers: those that a double cannot represent are read as `bigint`, and written digit by digit.
import { randomBytes } from "node:crypto";

/** Valid JSON that is refused. */
export class RefusedJson extends Error {
  override readonly name = "RefusedJson";
  /** The reason without advice. */
  readonly fault: string;

  constructor(fault: string, advice: string) {
    super(`${fault}. ${advice}`);
    this.fault = fault;
  }
}

const tooMuch = (): RefusedJson =>
  new RefusedJson(
    `it is longer than 1 MB and holds more than ${MAX_PARTS} fields, objects and lists, ${MAX_ITEMS} items, ` +
      `or ${MAX_INTEGERS} integers beyond 2^53`,
    "Send it as text, in one string, or in parts of at most 1 MB",
  );
const unkeptNumber = (): RefusedJson => new RefusedJson("a number is too large", "Send it as a string");

/** Up to this length a text may hold anything: V8 parses the worst of it in some 0.1 s. */
const FREE_CHARS = 1_048_576;
/** Maximum digits of an integer in a longer text: conversion to `bigint` and back takes more than linear time. */
const MAX_DIGITS = 1000;

/** Fast test for numbers that `JSON.parse` may change: 16 digits, or a large exponent. May give false positives. */
const SUSPECT = /\d(?<![\d.].)[\d.]{15}|\d[eE]\+?\d{3}/;

/**
 * As `JSON.parse`, but integers that a double cannot represent are `bigint`. Fractions are doubles.
 *
 * @throws SyntaxError, RefusedJson
 */
export function parseExact(text: string): unknown {
  const value: unknown = JSON.parse(text);
  if (!SUSPECT.test(text)) return value;
  // Unguessable, so that no string of the text is taken for an integer.
  const mark = randomBytes(9).toString("base64url");
  const marked = markIntegers(text, mark);
  return marked === text ? value : restoreIntegers(JSON.parse(marked), mark);
}

/** A valid JSON text in which integers that change as a double are strings: the mark, then the digits. @throws RefusedJson */
function markIntegers(text: string, mark: string): string {
  const maxDigits = text.length > FREE_CHARS ? MAX_DIGITS : text.length;
  let marked = "";
  let kept = 0;
  let count = 0;
  for (let at = 0; at < text.length; ) {
    const code = text.charCodeAt(at);
    if (code === QUOTE) at = stringEnd(text, at) ?? text.length;
    else if (code === MINUS || isDigit(code)) {
      const end = numberEnd(text, at);
      const digits = changedInteger(text.slice(at, end), maxDigits);
      if (digits !== undefined) {
        if (++count > MAX_INTEGERS) throw tooMuch();
        marked += `${text.slice(kept, at)}"${mark}${digits}"`;
        kept = end;
      }
      at = end;
    } else at++;
  }
  return marked + text.slice(kept);
}

/** Puts integers in place of their marks. Without recursion: the nesting of a text may be deeper than the stack. */
function restoreIntegers(root: unknown, mark: string): unknown {
  const whole = [root];
  const open: unknown[] = [whole];
  const restore = (holder: unknown[] | Record<string, unknown>, key: number | string): void => {
    const value = (holder as Record<number | string, unknown>)[key];
    if (typeof value === "object" && value !== null) open.push(value);
    else if (typeof value === "string" && value.startsWith(mark)) {
      (holder as Record<number | string, unknown>)[key] = BigInt(value.slice(mark.length));
    }
  };
  for (let holder = open.pop(); holder !== undefined; holder = open.pop()) {
    if (Array.isArray(holder)) for (let at = 0; at < holder.length; at++) restore(holder, at);
    else for (const key of Object.keys(holder as object)) restore(holder as Record<string, unknown>, key);
  }
  return whole[0];
}

/** Most fields, objects and lists of a text of more than {@link FREE_CHARS}. V8 takes up to 2 µs for each, 0.3 s together. */
const MAX_PARTS = 150_000;
/** Most items of its lists, as many as 8 MB can hold. V8 takes up to 0.03 µs for each, beside what they are. */
const MAX_ITEMS = 4_194_304;

/** Most integers beyond 2^53, more than 8 MB can hold. Each takes 1 µs. */
const MAX_INTEGERS = 500_000;

/** As {@link parseExact}, for what callers choose. @throws SyntaxError, RefusedJson */
export function parseInput(text: string): unknown {
  if (!isQuicklyParsed(text)) throw tooMuch();
  return parseExact(text);
}

/** Whether a text, valid or not, is short or holds few values, so that others need not wait long while it is parsed. */
export const isQuicklyParsed = (text: string): boolean => text.length <= FREE_CHARS || !holdsTooMuch(text);

/** Whether a text, valid or not, takes too long to parse. */
function holdsTooMuch(text: string): boolean {
  let parts = 0;
  let items = 0;
  for (let at = 0; at < text.length && parts <= MAX_PARTS && items <= MAX_ITEMS; ) {
    const code = text.charCodeAt(at);
    if (code === COMMA) items++;
    else if (code === COLON || code === BRACKET || code === BRACE) parts++;
    at = code === QUOTE ? (stringEnd(text, at) ?? text.length) : at + 1;
  }
  return parts > MAX_PARTS || items > MAX_ITEMS;
}

type Replacer = (key: string, value: unknown) => unknown;

/**
 * As `JSON.stringify`, but a `bigint` is written as an integer, and nesting may be deeper than the stack.
 * @throws if a value cannot be serialised
 * @param replacing creates a replacer, a new one for each attempt
 */
export function stringifyExact(value: unknown, replacing: () => Replacer | undefined = () => undefined): string {
  try {
    return JSON.stringify(value, replacing());
  } catch (error) {
    const isOurs = error instanceof RangeError || (error instanceof TypeError && /BigInt/.test(error.message));
    if (!isOurs) throw error;
    return stringifyFlat(value, replacing());
  }
}

/** Deeper than any text that is parsed. */
const MAX_DEPTH = 1_000_000;

/** An object or list that is being written. */
interface OpenPart {
  readonly value: object;
  /** Absent for lists. */
  readonly keys?: readonly string[];
  readonly length: number;
  next: number;
  /** Whether a comma comes first. */
  isBegun: boolean;
}

/** As `JSON.stringify` with integers, without recursion. */
function stringifyFlat(root: unknown, replacer: Replacer | undefined): string {
  const pieces: string[] = [];
  const open: OpenPart[] = [];
  const within = new Set<object>();
  /** @returns whether there was anything to write */
  const begin = (holder: object, key: string, before: string): boolean => {
    const value = shownValue(holder, key, replacer);
    if (typeof value !== "object" || value === null) {
      const text = typeof value === "bigint" ? String(value) : JSON.stringify(value);
      if (text !== undefined) pieces.push(before, text);
      return text !== undefined;
    }
    if (within.has(value)) throw new TypeError("a circle cannot be written as JSON");
    // Objects may be made by getters, without end.
    if (open.length >= MAX_DEPTH) throw new RangeError("nested too deeply to be written as JSON");
    within.add(value);
    const isList = Array.isArray(value);
    pieces.push(before, isList ? "[" : "{");
    const keys = isList ? undefined : Object.keys(value);
    const { length } = keys ?? (value as unknown[]);
    open.push({ value, ...(keys === undefined ? {} : { keys }), length, next: 0, isBegun: false });
    return true;
  };
  begin({ "": root }, "", "");
  for (let part = open.at(-1); part !== undefined; part = open.at(-1)) {
    const { value, keys, length, next, isBegun } = part;
    if (next === length) {
      pieces.push(keys === undefined ? "]" : "}");
      within.delete(value);
      open.pop();
      continue;
    }
    part.next++;
    const comma = isBegun ? "," : "";
    const key = keys === undefined ? String(next) : (keys[next] as string);
    if (begin(value, key, keys === undefined ? comma : `${comma}${JSON.stringify(key)}:`)) part.isBegun = true;
    else if (keys === undefined) {
      pieces.push(comma, "null");
      part.isBegun = true;
    }
  }
  return pieces.join("");
}

/** The value that `JSON.stringify` writes for a member: after `toJSON` and the replacer, and without wrappers of primitive values. */
function shownValue(holder: object, key: string, replacer: Replacer | undefined): unknown {
  let value: unknown = (holder as Record<string, unknown>)[key];
  const { toJSON } = (typeof value === "object" && value !== null ? value : {}) as { toJSON?: unknown };
  if (typeof toJSON === "function") value = toJSON.call(value, key);
  if (replacer !== undefined) value = replacer.call(holder, key, value);
  if (value instanceof Number || value instanceof String || value instanceof Boolean) return value.valueOf();
  return value;
}

const QUOTE = 0x22;
const MINUS = 0x2d;
const BACKSLASH = 0x5c;
const COMMA = 0x2c;
const COLON = 0x3a;
const BRACKET = 0x5b;
const BRACE = 0x7b;
const isDigit = (code: number): boolean => code >= 0x30 && code <= 0x39;

/** Behind the string that starts here: its closing quote is the first with an even number of backslashes before it. */
export function stringEnd(text: string, start: number): number | undefined {
  for (let end = text.indexOf('"', start + 1); end >= 0; end = text.indexOf('"', end + 1)) {
    let before = end - 1;
    while (text.charCodeAt(before) === BACKSLASH) before--;
    if ((end - 1 - before) % 2 === 0) return end + 1;
  }
  return undefined;
}

const NUMBER = /[-+.\deE]+/y;

function numberEnd(text: string, start: number): number {
  NUMBER.lastIndex = start;
  NUMBER.test(text);
  return NUMBER.lastIndex;
}

/** The digits of an integer that a double would change; `undefined` for other numbers. @throws RefusedJson */
function changedInteger(literal: string, maxDigits: number): string | undefined {
  const value = Number(literal);
  if (Math.abs(value) <= Number.MAX_SAFE_INTEGER) return undefined;
  if (/^-?\d+$/.test(literal)) {
    // Compares the text, not the value: from 10^21 on doubles are written with an exponent.
    if (String(value) === literal) return undefined;
    if (literal.length > maxDigits) throw unkeptNumber();
    return literal;
  }
  if (!Number.isFinite(value)) throw unkeptNumber();
  const exact = decimalOf(literal);
  const shown = decimalOf(String(value));
  if (exact.exponent < 0 || (exact.digits === shown.digits && exact.exponent === shown.exponent)) return undefined;
  return `${value < 0 ? "-" : ""}${exact.digits}${"0".repeat(exact.exponent)}`;
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
