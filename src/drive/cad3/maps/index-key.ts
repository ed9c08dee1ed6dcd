// Keys of Index maps and the slots they occupy.

import { sameBytes } from "../ref.js";
import { Keyword, utf8Bytes } from "../scalar.js";

/** Key of an Index. Only its bytes determine its position; for a string, its UTF-8 bytes. */
export type IndexKey = string | Uint8Array | Keyword;

/** Significant bytes of a key. */
export const SLOT_BYTES = 255;
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

export function digitAt(bytes: Uint8Array, position: number): number {
  const byte = bytes[position >> 1] ?? 0;
  return (position & 1) === 0 ? byte >> 4 : byte & 15;
}

/** Number of leading digits that two keys share. @param most upper limit of the count */
export function sharedDigits(one: Uint8Array, other: Uint8Array, most: number): number {
  const bytes = Math.min(one.length, other.length);
  let at = 0;
  while (at < bytes && one[at] === other[at]) at += 1;
  const half = at < bytes && digitAt(one, 2 * at) === digitAt(other, 2 * at) ? 1 : 0;
  return Math.min(most, 2 * at + half);
}

/** Number of digits set in a mask. */
export function countDigits(mask: number): number {
  let count = 0;
  for (let rest = mask; rest !== 0; rest &= rest - 1) count += 1;
  return count;
}

export const hasDigit = (mask: number, digit: number): boolean => (mask & (1 << digit)) !== 0;

/** Index of a digit's child, present or not, among the children of a mask. */
export const placeOf = (mask: number, digit: number): number => countDigits(mask & ((1 << digit) - 1));

/** Digits from which on the depth of a node takes two bytes. */
const LONG_DEPTH = 128;

/** Depth (a VLQ) and mask as encoded in a cell. */
export const depthAndMask = (depth: number, mask: number): Uint8Array =>
  depth < LONG_DEPTH
    ? Uint8Array.of(depth, mask >> 8, mask & 0xff)
    : Uint8Array.of(0x80 | (depth >> 7), depth & 0x7f, mask >> 8, mask & 0xff);
