// Compact record of cells.

/**
 * Cells and a whole number for each, of an import the length if the cell is a blob. Takes about 40 bytes per cell, whatever
 * its size, and no object.
 */
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
  const shards = new Array<Shard | undefined>(SHARDS);
  return {
    lengthOf(hash) {
      const rows = shards[hash[0] ?? 0]?.rows;
      if (rows === undefined) return undefined;
      const at = findRow(rows, keyOf(hash), 0);
      const high = rows[at + KEY_WORDS + 1] ?? 0;
      return high === 0 ? undefined : (high - TAKEN) * WORD + (rows[at + KEY_WORDS] ?? 0);
    },
    add(hash, length) {
      const first = hash[0] ?? 0;
      const shard = shards[first] ?? { rows: new Uint32Array(FIRST_ROWS * ROW_WORDS), count: 0 };
      shards[first] = shard;
      if ((shard.count + 1) * ROW_WORDS > shard.rows.length * MAX_FILLED) grow(shard);
      const { rows } = shard;
      const at = findRow(rows, keyOf(hash), 0);
      if (rows[at + KEY_WORDS + 1] === 0) shard.count += 1;
      rows.set(key, at);
      rows[at + KEY_WORDS] = length % WORD;
      rows[at + KEY_WORDS + 1] = TAKEN + Math.floor(length / WORD);
    },
  };
}

/** The key asked for last, which is used at once. */
const key = new Uint32Array(KEY_WORDS);

/** Half of the 256 bits suffice: finding another cell with a given 128-bit prefix is infeasible. */
function keyOf(hash: Uint8Array): Uint32Array {
  for (let word = 0; word < KEY_WORDS; word += 1) {
    const at = 4 * word + 4;
    key[word] =
      ((hash[at] ?? 0) << 24) | ((hash[at + 1] ?? 0) << 16) | ((hash[at + 2] ?? 0) << 8) | (hash[at + 3] ?? 0);
  }
  return key;
}

/** The row of a key, or the free row where it would be put. @param from where the key begins in `keys` */
function findRow(rows: Uint32Array, keys: Uint32Array, from: number): number {
  let at = ((keys[from] ?? 0) % (rows.length / ROW_WORDS)) * ROW_WORDS;
  while (rows[at + KEY_WORDS + 1] !== 0 && !isKey(rows, at, keys, from)) {
    at += ROW_WORDS;
    if (at === rows.length) at = 0;
  }
  return at;
}

const isKey = (rows: Uint32Array, at: number, keys: Uint32Array, from: number): boolean =>
  rows[at] === keys[from] &&
  rows[at + 1] === keys[from + 1] &&
  rows[at + 2] === keys[from + 2] &&
  rows[at + 3] === keys[from + 3];

function grow(shard: Shard): void {
  const before = shard.rows;
  shard.rows = new Uint32Array(2 * before.length);
  for (let at = 0; at < before.length; at += ROW_WORDS) {
    if (before[at + KEY_WORDS + 1] === 0) continue;
    shard.rows.set(before.subarray(at, at + ROW_WORDS), findRow(shard.rows, before, at));
  }
}
