// Types of parsed cells.

import type { FileAdapterError } from "../../../core/errors/errors.js";
import { driveError } from "../../error.js";
import { toHex } from "../ref.js";
import { BLOB_TAG, isSignOnly, Keyword, MAX_KEYWORD_BYTES } from "../scalar.js";
import { badFormat, type Reader, readerOf, take, takeByte, takeVlq } from "./reader.js";

/** A part as its container holds it: a view of the Ref, and the embedded cell unless the part is a branch. */
export interface ParsedRef {
  readonly bytes: Uint8Array;
  readonly cell: ParsedCell | undefined;
}

interface Parsed {
  /** The encoding. */
  readonly bytes: Uint8Array;
  /** Refs of the parts, in encoding order. */
  readonly refs: readonly ParsedRef[];
}

export interface ParsedScalar extends Parsed {
  readonly kind: "scalar";
  readonly value: null | boolean | bigint | Keyword;
}

/** A blob or string: short ones have content, long ones have parts. */
export interface ParsedBlob extends Parsed {
  readonly kind: "blob";
  readonly isText: boolean;
  readonly length: number;
  readonly content: Uint8Array | undefined;
}

export interface ParsedVector extends Parsed {
  readonly kind: "vector";
  readonly count: number;
  /** Number of parts that are elements; they come first, followed by vectors. */
  readonly elements: number;
}

/** Parts are alternating keys and values or, from 16 entries on, maps. */
export interface ParsedMap extends Parsed {
  readonly kind: "map";
  readonly count: number;
  /** Hashes of the keys, in a leaf. */
  readonly hashes: readonly Uint8Array[];
  readonly shift: number;
  readonly mask: number;
}

/** Parts are the node's own key and value, if present, followed by indexes. */
export interface ParsedIndex extends Parsed {
  readonly kind: "index";
  readonly count: number;
  readonly hasOwn: boolean;
  readonly depth: number;
  readonly mask: number;
}

export interface ParsedSigned extends Parsed {
  readonly kind: "signed";
  readonly publicKey: Uint8Array;
  readonly signature: Uint8Array;
}

/** One cell, parsed as far as possible without its branches. */
export type ParsedCell = ParsedScalar | ParsedBlob | ParsedVector | ParsedMap | ParsedIndex | ParsedSigned;

// Parsers of integers, keywords and text; rejects the CAD3 tags that drives do not use.

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

/** The size of a blob according to its top cell; `undefined` if that is not a blob. */
export function claimedSize(bytes: Uint8Array): number | undefined {
  const reader = readerOf(bytes);
  return takeByte(reader) === BLOB_TAG ? takeVlq(reader) : undefined;
}
