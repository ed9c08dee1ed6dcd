import { hash } from "node:crypto";
import { vlqLength, writeVlq } from "./vlq.js";

/** A value whose encoding is longer is held by its hash. */
export const MAX_EMBEDDED_BYTES = 140;
export const HASH_BYTES = 32;
/** Of a reference by hash. */
export const REF_BYTES = 1 + HASH_BYTES;
/** The tag of a reference by hash. No encoding of a value begins with it. */
export const REF_TAG = 0x20;

/** The encoding of one value, and how a container holds it. */
export interface Cell {
  readonly bytes: Uint8Array;
  /** The encoding itself if it is short, else the tag of a reference and the hash. */
  readonly ref: Uint8Array;
}

/** Is told of every branch, once or more often. */
export type Emit = (cell: Cell) => void;

/** SHA3-256. */
export const sha3 = (bytes: Uint8Array): Uint8Array => hash("sha3-256", bytes, "buffer");

export const toHex = (bytes: Uint8Array): string =>
  Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString("hex");

/** Whether a Ref stands for a branch, a cell kept on its own. */
export const isBranch = (ref: Uint8Array): boolean => ref[0] === REF_TAG;

/** The hash of what a Ref stands for. */
export const hashOfRef = (ref: Uint8Array): Uint8Array => (isBranch(ref) ? ref.subarray(1) : sha3(ref));

export const sameBytes = (one: Uint8Array, other: Uint8Array): boolean =>
  one === other || Buffer.compare(one, other) === 0;

/** @param bytes an encoding, not to be changed later */
export const cellFrom = (bytes: Uint8Array): Cell => ({ bytes, ref: refOf(bytes) });

/** How a container holds the value with this encoding. */
export function refOf(bytes: Uint8Array): Uint8Array {
  if (bytes.length <= MAX_EMBEDDED_BYTES) return bytes;
  const ref = new Uint8Array(REF_BYTES);
  ref[0] = REF_TAG;
  ref.set(sha3(bytes), 1);
  return ref;
}

/** Puts an encoding together: tag, count, and what follows them. */
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
