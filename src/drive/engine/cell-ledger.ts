// Compact record of the cells of an import.

/** The cells of an import: hash, and length if the cell is a blob. Takes about 40 bytes per cell, whatever its size. */
export interface CellLedger {
  /**
   * 0 for a cell that is not a blob; `undefined` for one that has not arrived.
   * @param hash 32 bytes
   */
  lengthOf(hash: Uint8Array): number | undefined;
  add(hash: Uint8Array, length: number): void;
}

/** A row holds 128 bits of the hash, then the length, whose highest bit marks the row as used. */
const ROW_WORDS = 6;
const KEY_WORDS = 4;
const TAKEN = 0x8000_0000;
const WORD = 2 ** 32;
/** One small table per first byte of the hash, so that growing one stays cheap. */
const SHARDS = 256;
const FIRST_ROWS = 8;
const MAX_FILLED = 0.75;

interface Shard {
  rows: Uint32Array;
  count: number;
}

export function createCellLedger(): CellLedger {
  const shards = Array.from({ length: SHARDS }, (): Shard => ({ rows: new Uint32Array(0), count: 0 }));
  const shardOf = (hash: Uint8Array): Shard => shards[hash[0] ?? 0] ?? { rows: new Uint32Array(0), count: 0 };
  return {
    lengthOf(hash) {
      const { rows } = shardOf(hash);
      if (rows.length === 0) return undefined;
      const at = findRow(rows, keyOf(hash));
      const high = rows[at + KEY_WORDS + 1] ?? 0;
      return high === 0 ? undefined : (high - TAKEN) * WORD + (rows[at + KEY_WORDS] ?? 0);
    },
    add(hash, length) {
      const shard = shardOf(hash);
      if ((shard.count + 1) * ROW_WORDS > shard.rows.length * MAX_FILLED) grow(shard);
      const key = keyOf(hash);
      const at = findRow(shard.rows, key);
      if (shard.rows[at + KEY_WORDS + 1] === 0) shard.count += 1;
      shard.rows.set([...key, length % WORD, TAKEN + Math.floor(length / WORD)], at);
    },
  };
}

type Key = readonly [number, number, number, number];

/** Half of the 256 bits suffice: finding another cell with a given 128-bit prefix is infeasible. */
function keyOf(hash: Uint8Array): Key {
  const word = (at: number): number =>
    (((hash[at] ?? 0) << 24) | ((hash[at + 1] ?? 0) << 16) | ((hash[at + 2] ?? 0) << 8) | (hash[at + 3] ?? 0)) >>> 0;
  return [word(4), word(8), word(12), word(16)];
}

/** The row of a key, or the free row where it would be put. */
function findRow(rows: Uint32Array, key: Key): number {
  let at = (key[0] % (rows.length / ROW_WORDS)) * ROW_WORDS;
  while (rows[at + KEY_WORDS + 1] !== 0 && !key.every((word, place) => rows[at + place] === word)) {
    at += ROW_WORDS;
    if (at === rows.length) at = 0;
  }
  return at;
}

function grow(shard: Shard): void {
  const before = shard.rows;
  shard.rows = new Uint32Array(Math.max(FIRST_ROWS * ROW_WORDS, 2 * before.length));
  for (let at = 0; at < before.length; at += ROW_WORDS) {
    const row = before.subarray(at, at + ROW_WORDS);
    const [one = 0, two = 0, three = 0, four = 0, , high] = row;
    if (high !== 0) shard.rows.set(row, findRow(shard.rows, [one, two, three, four]));
  }
}
