// Parsers of integers, keywords and text; rejects the CAD3 tags that drives do not use.

import type { FileAdapterError } from "../../../core/errors/errors.js";
import { driveError } from "../../error.js";
import { Keyword, MAX_KEYWORD_BYTES } from "../keyword.js";
import { toHex } from "../ref.js";
import { isSignOnly } from "../scalar.js";
import { badFormat, type Reader, take, takeByte } from "./reader.js";

/** Longest integer encoding that a JavaScript number represents exactly, sign included. */
const MAX_NUMBER_BYTES = 6;

/** Rejects malformed UTF-8 and keeps a leading U+FEFF, which is content here. */
const UTF8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/** @throws BAD_FORMAT if the bytes are not UTF-8 */
export function textOf(bytes: Uint8Array): string {
  try {
    return UTF8.decode(bytes);
  } catch {
    throw badFormat("a text is not valid UTF-8");
  }
}

/** A big-endian two's-complement integer of minimal length. @param size 0 to 8 bytes */
export function takeLong(reader: Reader, size: number): bigint {
  const bytes = take(reader, size);
  const [top = 0, next] = bytes;
  const isLonger = next === undefined ? size === 1 && top === 0 : isSignOnly(top, next);
  if (isLonger) throw badFormat("an integer is not in its shortest form");
  // Up to six bytes a number is exact; above that BigInt is used. The first byte carries the sign.
  if (size > MAX_NUMBER_BYTES) return BigInt.asIntN(8 * size, BigInt(`0x${toHex(bytes)}`));
  let long = (top << 24) >> 24;
  for (let place = 1; place < size; place += 1) long = long * 256 + (bytes[place] ?? 0);
  return BigInt(long);
}

export function takeKeyword(reader: Reader): Keyword {
  const length = takeByte(reader);
  if (length < 1 || length > MAX_KEYWORD_BYTES) throw badFormat("a keyword has 1 to 128 bytes");
  return new Keyword(textOf(take(reader, length)));
}

/** CAD3 tags not used in drives: numbers, symbols, characters, lists, sets, flags, records, extensions. */
const UNSUPPORTED: readonly (readonly [number, number])[] = [
  [0x19, 0x19],
  [0x1d, 0x1d],
  [0x32, 0x32],
  [0x3c, 0x3f],
  [0x81, 0x81],
  [0x83, 0x83],
  [0x88, 0x88],
  [0x91, 0x91],
  [0xa0, 0xaf],
  [0xb2, 0xbf],
  [0xc0, 0xef],
];

/** Error for a tag that starts no value of a drive. */
export function refusedTag(tag: number): FileAdapterError {
  const text = `0x${tag.toString(16).padStart(2, "0")}`;
  if (!UNSUPPORTED.some(([first, last]) => first <= tag && tag <= last))
    return badFormat(`no value has the tag ${text}`);
  return driveError("UNSUPPORTED_CELL", `Not supported in a drive: a value with the tag ${text}`);
}
