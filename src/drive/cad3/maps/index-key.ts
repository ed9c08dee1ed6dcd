import { Keyword } from "../keyword.js";
import { sameBytes } from "../ref.js";
import { utf8Bytes } from "../scalar.js";

/** What an Index is keyed by; only the bytes count for the place, of a text those of its UTF-8. */
export type IndexKey = string | Uint8Array | Keyword;

/** Bytes of a key that count. */
export const SLOT_BYTES = 32;
/** Digits of a key that count. */
export const MAX_DIGITS = 2 * SLOT_BYTES;

/** @throws TypeError for anything that is no key, RangeError for a text with lone surrogates */
export function keyBytes(key: IndexKey): Uint8Array {
  if (typeof key === "string") return utf8Bytes(key);
  if (key instanceof Uint8Array) return key;
  if (key instanceof Keyword) return utf8Bytes(key.name);
  throw new TypeError("The key of an index is a string, a blob or a keyword");
}

/** The bytes by which a key has its place. Keys for which they are equal are one slot. */
export const slotOf = (key: IndexKey): Uint8Array => keyBytes(key).subarray(0, SLOT_BYTES);

/** How many digits a slot has. */
export const digitsOf = (slot: Uint8Array): number => 2 * slot.length;

/** Whether two keys are the same in all their bytes, and of one kind. */
export function sameKey(one: IndexKey, other: IndexKey): boolean {
  if (typeof one === "string" || typeof other === "string") return one === other;
  return one instanceof Keyword === other instanceof Keyword && sameBytes(keyBytes(one), keyBytes(other));
}
