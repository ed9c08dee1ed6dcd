// Caches by hash that keep no object per entry: tens of thousands of small buffers would make every collection long.

import { type CellLedger, createCellLedger } from "./cell-ledger.js";
import type { Lru } from "./lru.js";

/** Like a map from hashes in hex digits that forgets what has not been used for long; `get` returns a copy. */
export type CellCache = Lru<Uint8Array>;

const SLAB_BYTES = 262_144;
/** A place is the offset, and the length in the lowest bits. */
const LENGTHS = 16_384;

/** The bytes of one hash, valid until the next call. */
const scratch = Buffer.alloc(32);

/** @param hash in hex digits @returns a view that the next call changes */
export function hashBytes(hash: string): Uint8Array {
  scratch.write(hash, "hex");
  return scratch;
}

/** Two generations, as of `createLru`; those of cells lie one after the other in a few large buffers. */
export function createCellCache(capacity: number): CellCache {
  const slabBytes = Math.min(SLAB_BYTES, Math.floor(capacity / 2));
  const maxSlabs = slabBytes === 0 ? 0 : Math.floor(capacity / 2 / slabBytes);
  let [young, old] = [newGeneration(), newGeneration()];
  const add = (hash: string, bytes: Uint8Array): void => {
    if (bytes.length > slabBytes || bytes.length >= LENGTHS) return;
    const isFull = (young.used % slabBytes) + bytes.length > slabBytes;
    const at = isFull || young.used === 0 ? young.slabs * slabBytes : young.used;
    if (at === young.slabs * slabBytes) {
      if (young.slabs === maxSlabs) {
        // The buffers are used again: new ones would stay allocated until the next collection.
        [old, young] = [young, { ...newGeneration(), buffers: old.buffers }];
        add(hash, bytes);
        return;
      }
      young.buffers[young.slabs] ??= Buffer.allocUnsafeSlow(slabBytes);
      young.slabs += 1;
    }
    young.buffers[Math.floor(at / slabBytes)]?.set(bytes, at % slabBytes);
    young.used = at + bytes.length;
    young.places.add(hashBytes(hash), at * LENGTHS + bytes.length);
  };
  const copyFrom = ({ places, buffers }: Generation, hash: string): Uint8Array | undefined => {
    const place = places.lengthOf(hashBytes(hash));
    if (place === undefined) return undefined;
    const at = Math.floor(place / LENGTHS);
    const start = at % slabBytes;
    return Buffer.from(buffers[Math.floor(at / slabBytes)]?.subarray(start, start + (place % LENGTHS)) ?? []);
  };
  return {
    get(hash) {
      const bytes = copyFrom(young, hash);
      if (bytes !== undefined) return bytes;
      const before = copyFrom(old, hash);
      if (before !== undefined) add(hash, before);
      return before;
    },
    set(hash, bytes) {
      if (young.places.lengthOf(hashBytes(hash)) === undefined) add(hash, bytes);
    },
  };
}

interface Generation {
  readonly places: CellLedger;
  readonly buffers: Buffer[];
  /** Buffers in use, and the end of the last cell in them. */
  slabs: number;
  used: number;
}

const newGeneration = (): Generation => ({ places: createCellLedger(), buffers: [], slabs: 0, used: 0 });

/** Whole numbers by hash. @param capacity most entries */
export function createNumberCache(capacity: number): Lru<number> {
  let [young, old] = [createCellLedger(), createCellLedger()];
  let count = 0;
  const add = (hash: string, value: number): void => {
    if (count + 1 > capacity / 2) {
      [old, young] = [young, createCellLedger()];
      count = 0;
    }
    young.add(hashBytes(hash), value);
    count += 1;
  };
  return {
    get(hash) {
      const value = young.lengthOf(hashBytes(hash));
      if (value !== undefined) return value;
      const before = old.lengthOf(hashBytes(hash));
      if (before !== undefined) add(hash, before);
      return before;
    },
    set: add,
  };
}
