import { randomUUID } from "node:crypto";
import { stringifyExact } from "../../schema/exact-json.js";

/** Longest string written in one piece, in UTF-16 code units; larger ones survive until the next full collection. */
const PIECE_CHARS = 32_768;

/**
 * The JSON text of a value in pieces, so that memory never holds the whole text beside the long strings in it.
 * A `bigint` is written as an integer. @throws the error of serialization, before the first piece is yielded
 */
export function jsonPieces(value: unknown): Generator<string> {
  let long: string[] = [];
  const mark = randomUUID();
  const text = stringifyExact(value, () => {
    long = [];
    return (_key, one) => {
      if (typeof one !== "string" || one.length <= PIECE_CHARS) return one;
      long.push(one);
      return mark;
    };
  });
  return joined(text, long, `"${mark}"`);
}

/** Replaces each mark in the text with the long string it stands for. */
function* joined(text: string, long: readonly string[], mark: string): Generator<string> {
  let at = 0;
  let before = "";
  for (const one of long) {
    const place = text.indexOf(mark, at);
    before += `${text.slice(at, place)}"`;
    for (const piece of escaped(one)) {
      yield before + piece;
      before = "";
    }
    before = '"';
    at = place + mark.length;
  }
  yield before + text.slice(at);
}

/** A string as JSON without the quotes. Never cut inside a surrogate pair: JSON.stringify escapes lone surrogates. */
function* escaped(text: string): Generator<string> {
  for (let start = 0; start < text.length; ) {
    let end = Math.min(text.length, start + PIECE_CHARS);
    if (end < text.length && (text.charCodeAt(end) & 0xfc00) === 0xdc00) end -= 1;
    yield JSON.stringify(text.slice(start, end)).slice(1, -1);
    start = end;
  }
}
