// Cells and Refs: a value of up to 140 bytes is embedded in its container, a longer one is held by its SHA3-256 hash.

import { hash } from "node:crypto";

/** Values with a longer encoding are held by hash. */
export const MAX_EMBEDDED_BYTES = 140;
export const HASH_BYTES = 32;
/** Length of a reference by hash. */
export const REF_BYTES = 1 + HASH_BYTES;
/** Tag of a reference by hash; no encoding of a value begins with it. */
export const REF_TAG = 0x20;

/** Encoding of one value, and its Ref. */
export interface Cell {
  readonly bytes: Uint8Array;
  /** The encoding itself if it is short, otherwise the reference tag and the hash. */
  readonly ref: Uint8Array;
}

/** Called for every branch, possibly repeatedly. */
export type Emit = (cell: Cell) => void;

/** SHA3-256. */
export const sha3 = (bytes: Uint8Array): Uint8Array => hash("sha3-256", bytes, "buffer");

/** Whether bytes have this hash. Compared as texts: a buffer for each hash would have to be collected. */
export const isHashOf = (expected: Uint8Array, bytes: Uint8Array): boolean =>
  hash("sha3-256", bytes, "binary") === asBuffer(expected).toString("binary");

/** The same bytes, with the methods of a buffer. */
export const asBuffer = (bytes: Uint8Array): Buffer =>
  Buffer.isBuffer(bytes) ? bytes : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);

export const toHex = (bytes: Uint8Array): string => asBuffer(bytes).toString("hex");

/** Whether a Ref is a hash reference, so that its cell is stored separately. */
export const isBranch = (ref: Uint8Array): boolean => ref[0] === REF_TAG;

/** Hash of the cell that a Ref stands for. */
export const hashOfRef = (ref: Uint8Array): Uint8Array => (isBranch(ref) ? ref.subarray(1) : sha3(ref));

/** Hash of the cell that a reference by hash stands for, as hex. */
export const hexOfBranch = (ref: Uint8Array): string => asBuffer(ref).toString("hex", 1);

export const sameBytes = (one: Uint8Array, other: Uint8Array): boolean =>
  one === other || Buffer.compare(one, other) === 0;

/** @param bytes an encoding, which must not change afterwards */
export const cellFrom = (bytes: Uint8Array): Cell => ({ bytes, ref: refOf(bytes) });

/** The Ref of an encoding. */
export function refOf(bytes: Uint8Array): Uint8Array {
  if (bytes.length <= MAX_EMBEDDED_BYTES) return bytes;
  const ref = new Uint8Array(REF_BYTES);
  ref[0] = REF_TAG;
  ref.set(sha3(bytes), 1);
  return ref;
}

/** Concatenates tag, count (VLQ) and parts to an encoding. */
export function joinCell(tag: number, count: number, parts: readonly Uint8Array[]): Cell {
  let length = 1 + vlqLength(count);
  for (const part of parts) length += part.length;
  const bytes = new Uint8Array(length);
  bytes[0] = tag;
  let at = writeVlq(bytes, 1, count);
  for (const part of parts) {
    bytes.set(part, at);
    at += part.length;
  }
  return cellFrom(bytes);
}

export function vlqLength(count: number): number {
  let length = 1;
  for (let rest = count; rest >= 128; rest = Math.floor(rest / 128)) length += 1;
  return length;
}

/**
 * Writes a count in base 128, most significant group first; the high bit is set on every byte except the last.
 *
 * @returns offset of the next byte
 */
export function writeVlq(target: Uint8Array, at: number, count: number): number {
  const end = at + vlqLength(count);
  let rest = count;
  for (let place = end - 1; place >= at; place -= 1) {
    target[place] = (rest % 128) | (place === end - 1 ? 0 : 0x80);
    rest = Math.floor(rest / 128);
  }
  return end;
}
