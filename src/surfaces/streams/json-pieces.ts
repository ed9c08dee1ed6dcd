// Serialises JSON in pieces, so that large answers are never one string.

import { randomUUID } from "node:crypto";
import { type ContentBytes, stringifyContents } from "../../core/content-bytes.js";
import { stringifyExact } from "../../schema/exact-json.js";

/** Longest string written in one piece, in UTF-16 code units; larger ones survive until the next full collection. */
const PIECE_CHARS = 32_768;

/**
 * The JSON text of a value in pieces, so that memory never holds the whole text beside the long strings in it.
 * A `bigint` is written as an integer. @throws the error of serialization, before the first piece is yielded
 */
export function jsonPieces(value: unknown): Generator<string> {
  return joinPieces(separateParts(value, true));
}

/** A JSON text in which marks stand for content in bytes, and for long strings. */
export interface SeparatedJson {
  readonly text: string;
  /** The parts that the marks stand for, in order. */
  readonly parts: readonly (string | ContentBytes)[];
  /** With its quotes. */
  readonly mark: string;
}

/** @param longStrings take long strings out too @throws the error of serialization */
export function separateParts(value: unknown, longStrings: boolean): SeparatedJson {
  let parts: (string | ContentBytes)[] = [];
  let mark = "";
  const take = (one: string | ContentBytes): string => {
    if (mark === "") mark = randomUUID();
    parts.push(one);
    return mark;
  };
  const takeLong = (_key: string, one: unknown): unknown =>
    typeof one === "string" && one.length > PIECE_CHARS ? take(one) : one;
  const text = stringifyContents(take, () =>
    stringifyExact(value, () => {
      parts = [];
      return longStrings ? takeLong : undefined;
    }),
  );
  return { text, parts, mark: `"${mark}"` };
}

/** The texts around the marks, with the quotes of what they stand for: one more than there are marks. */
export function textsBetweenMarks({ text, parts, mark }: SeparatedJson): string[] {
  const around: string[] = [];
  let at = 0;
  let quote = "";
  for (const _ of parts) {
    const place = text.indexOf(mark, at);
    around.push(`${quote}${text.slice(at, place)}"`);
    quote = '"';
    at = place + mark.length;
  }
  around.push(quote + text.slice(at));
  return around;
}

/** Puts back what the marks stand for. */
function* joinPieces(whole: SeparatedJson): Generator<string> {
  const around = textsBetweenMarks(whole);
  for (const [index, one] of whole.parts.entries()) {
    let before = around[index] ?? "";
    for (const piece of escapePieces(String(one))) {
      yield before + piece;
      before = "";
    }
    if (before !== "") yield before;
  }
  yield around.at(-1) ?? "";
}

/** A string as JSON without the quotes. Never cut inside a surrogate pair: JSON.stringify escapes lone surrogates. */
export function* escapePieces(text: string): Generator<string> {
  for (let start = 0; start < text.length; ) {
    let end = Math.min(text.length, start + PIECE_CHARS);
    if (end < text.length && (text.charCodeAt(end) & 0xfc00) === 0xdc00) end -= 1;
    yield JSON.stringify(text.slice(start, end)).slice(1, -1);
    start = end;
  }
}
