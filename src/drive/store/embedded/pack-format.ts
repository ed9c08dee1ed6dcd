// Format of pack files: header, cells, footer (entries by hash), trailer.

import { createHash } from "node:crypto";
import { sha3 } from "../../cad3/ref.js";
import { storeDamaged } from "../checks.js";
import { isLeafBlob } from "../mark.js";

export const PACK_HEADER = Buffer.from("VFPK\x01\0\0\0", "latin1");
const MAGIC = PACK_HEADER.subarray(0, 4);
export const ENTRY_BYTES = 32 + 6 + 3;
export const TRAILER_BYTES = 4 + 8 + 32 + 4;

/** Position of a cell in a pack, in bytes. */
export interface CellPlace {
  readonly offset: number;
  readonly length: number;
}

export interface PackEntry extends CellPlace {
  readonly hash: Uint8Array;
}

export interface PackTrailer {
  readonly count: number;
  readonly footerOffset: number;
  readonly digest: Buffer;
}

/** Footer and trailer. @param digest running hash of header and cells; consumed */
export function packEnd(
  entries: readonly PackEntry[],
  footerOffset: number,
  digest: ReturnType<typeof createHash>,
): Buffer {
  const sorted = [...entries].sort((one, other) => Buffer.compare(one.hash, other.hash) || one.offset - other.offset);
  const end = Buffer.alloc(sorted.length * ENTRY_BYTES + TRAILER_BYTES);
  sorted.forEach(({ hash, offset, length }, place) => {
    const at = place * ENTRY_BYTES;
    end.set(hash, at);
    end.writeUIntBE(offset, at + 32, 6);
    end.writeUIntBE(length, at + 38, 3);
  });
  const footerBytes = sorted.length * ENTRY_BYTES;
  end.writeUInt32BE(sorted.length, footerBytes);
  end.writeBigUInt64BE(BigInt(footerOffset), footerBytes + 4);
  end.set(digest.update(end.subarray(0, footerBytes)).digest(), footerBytes + 12);
  end.set(MAGIC, footerBytes + 44);
  return end;
}

/** @param bytes the last 48 bytes of a pack of `size` bytes @throws STORE_DAMAGED */
export function parseTrailer(bytes: Buffer, size: number): PackTrailer {
  if (bytes.length !== TRAILER_BYTES || !bytes.subarray(44).equals(MAGIC)) throw storeDamaged("a pack has no end");
  const count = bytes.readUInt32BE(0);
  const footerOffset = Number(bytes.readBigUInt64BE(4));
  if (footerOffset < PACK_HEADER.length || footerOffset + count * ENTRY_BYTES + TRAILER_BYTES !== size)
    throw storeDamaged("the end of a pack does not fit it");
  return { count, footerOffset, digest: bytes.subarray(12, 44) };
}

/** @throws STORE_DAMAGED if entries are out of order or outside the cells */
export function parseFooter(bytes: Buffer, { footerOffset }: PackTrailer): PackEntry[] {
  const entries = [...footerEntries(bytes)];
  entries.forEach(({ hash, offset, length }, place) => {
    const before = entries[place - 1];
    const isOrdered = before === undefined || Buffer.compare(before.hash, hash) <= 0;
    if (!isOrdered || offset < PACK_HEADER.length || length === 0 || offset + length > footerOffset)
      throw storeDamaged("a pack lists cells that are not in it");
  });
  return entries;
}

/** Length of a leaf blob, by its first three bytes. */
export const leafLength = (bytes: Buffer, at: number): number =>
  3 + ((bytes[at + 1] ?? 0) & 0x7f) * 128 + (bytes[at + 2] ?? 0);

/** Entries of a pack without a footer. @param bytes whole cells, leaf blobs only @throws STORE_DAMAGED */
export function* walkCells(bytes: Buffer, start: number): Generator<PackEntry> {
  for (let at = 0; at < bytes.length; ) {
    const length = leafLength(bytes, at);
    const cell = bytes.subarray(at, at + length);
    if (!isLeafBlob(cell)) throw storeDamaged("a pack holds what is no cell");
    yield { hash: sha3(cell), offset: start + at, length };
    at += length;
  }
}

export const startDigest = (): ReturnType<typeof createHash> => createHash("sha256").update(PACK_HEADER);

const HASH_BYTES = 32;

const placeAt = (footer: Buffer, at: number): CellPlace => ({
  offset: footer.readUIntBE(at + HASH_BYTES, 6),
  length: footer.readUIntBE(at + HASH_BYTES + 6, 3),
});

/** @param footer entries ordered by hash */
export function findInFooter(footer: Buffer, hash: Uint8Array): CellPlace | undefined {
  let [low, high] = [0, footer.length / ENTRY_BYTES];
  while (low < high) {
    const middle = (low + high) >>> 1;
    const at = middle * ENTRY_BYTES;
    const order = footer.compare(hash, 0, HASH_BYTES, at, at + HASH_BYTES);
    if (order === 0) return placeAt(footer, at);
    if (order < 0) low = middle + 1;
    else high = middle;
  }
  return undefined;
}

export function* footerEntries(footer: Buffer): Generator<CellPlace & { readonly hash: Buffer }> {
  for (let at = 0; at < footer.length; at += ENTRY_BYTES) {
    yield { hash: footer.subarray(at, at + HASH_BYTES), ...placeAt(footer, at) };
  }
}

/** How far apart places may lie, and how many bytes together have, that are read at once. */
export interface RunLimits {
  readonly maxGapBytes: number;
  readonly maxBytes: number;
}

/** Groups of places in a pack that are read together. @param places ordered by offset, of one pack after the other */
export function runsOf<P extends CellPlace & { readonly pack: unknown }>(
  places: Iterable<P>,
  { maxGapBytes, maxBytes }: RunLimits,
): P[][] {
  const runs: P[][] = [];
  for (const place of places) {
    const run = runs.at(-1);
    const [first, last] = [run?.[0], run?.at(-1)];
    const isNear =
      first !== undefined &&
      last !== undefined &&
      last.pack === place.pack &&
      place.offset - last.offset - last.length <= maxGapBytes &&
      place.offset + place.length - first.offset <= maxBytes;
    if (isNear) run?.push(place);
    else runs.push([place]);
  }
  return runs;
}
