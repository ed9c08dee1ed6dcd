// Keys of Index maps and the slots they occupy.

import { Keyword } from "../keyword.js";
import { sameBytes } from "../ref.js";
import { utf8Bytes } from "../scalar.js";

/** Key of an Index. Only its bytes determine its position; for a string, its UTF-8 bytes. */
export type IndexKey = string | Uint8Array | Keyword;

/** Significant bytes of a key. */
export const SLOT_BYTES = 32;
/** Significant digits of a key. */
export const MAX_DIGITS = 2 * SLOT_BYTES;

/** @throws TypeError if it is not a key; RangeError for a string with lone surrogates */
function keyBytes(key: IndexKey): Uint8Array {
  if (typeof key === "string") return utf8Bytes(key);
  if (key instanceof Uint8Array) return key;
  if (key instanceof Keyword) return utf8Bytes(key.name);
  throw new TypeError("The key of an index is a string, a blob or a keyword");
}

/** The significant bytes of a key. Keys with equal bytes share one slot. */
export const slotOf = (key: IndexKey): Uint8Array => keyBytes(key).subarray(0, SLOT_BYTES);

export const digitsOf = (slot: Uint8Array): number => 2 * slot.length;

/** Whether two keys have the same type and the same bytes. */
export function sameKey(one: IndexKey, other: IndexKey): boolean {
  if (typeof one === "string" || typeof other === "string") return one === other;
  return one instanceof Keyword === other instanceof Keyword && sameBytes(keyBytes(one), keyBytes(other));
}
