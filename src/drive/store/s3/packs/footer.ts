// Lookup in pack footers.

import { ENTRY_BYTES } from "../../embedded/pack-format.js";

const HASH_BYTES = 32;

/** Position of a cell in a pack, in bytes. */
export interface CellPlace {
  readonly offset: number;
  readonly length: number;
}

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
