// An index of one audit file: which blocks of it may hold records of a caller, operation, outcome or resource.

import { type JsonLine, parseObject } from "./line.js";

/** Bytes of lines that are summarised together. */
const BLOCK_BYTES = 65_536;
/** Bytes of a Bloom filter; a block has some 150 lines with about five values each: 1 in 200 is read in vain. */
const FILTER_BYTES = 1024;
const FILTER_BITS = FILTER_BYTES * 8;
const HASHES = 3;
/** End, earliest and latest time as doubles, and the filter. */
const ENTRY_BYTES = 24 + FILTER_BYTES;
const MAGIC = Buffer.from("venue-files audit index 1\n");

/** A run of whole lines. */
export interface Block {
  readonly start: number;
  readonly end: number;
}

/** Values that a block must have, and the time it must overlap. */
export interface BlockFilter {
  /** Each group must have one of its values. */
  readonly groups: readonly (readonly string[])[];
  /** Milliseconds since the epoch, both inclusive. */
  readonly since: number;
  readonly until: number;
}

/** The values by which a line is found; see {@link keys}. */
function keysOf({ caller, operation, outcome, resource, others = [] }: JsonLine): string[] {
  const found: string[] = [];
  if (caller !== undefined) found.push(keys.caller(caller));
  if (operation !== undefined) found.push(keys.operation(operation));
  if (outcome !== undefined) found.push(keys.outcome(outcome));
  for (const one of resource === undefined ? others : [resource, ...others])
    found.push(...ancestors(one).map(keys.under));
  return found;
}

export const keys = {
  caller: (caller: string): string => `c${caller}`,
  operation: (operation: string): string => `o${operation}`,
  outcome: (outcome: string): string => `x${outcome}`,
  /** A resource, or a folder that it lies in. */
  under: (resource: string): string => `u${resource}`,
} as const;

/** A resource and all that it lies in, without a slash at the end: `file://docs/a` lies in `file://docs`. */
function ancestors(resource: string): string[] {
  const found: string[] = [];
  const first = resource.indexOf("://") + 3;
  for (let end = resource.indexOf("/", first); end !== -1; end = resource.indexOf("/", end + 1)) {
    found.push(resource.slice(0, end));
  }
  if (!resource.endsWith("/")) found.push(resource);
  return found;
}

/** Summaries of the blocks of a file, in their order. Lines are added as they stand in the file. */
export class BlockIndex {
  #ends: number[] = [];
  #earliest: number[] = [];
  #latest: number[] = [];
  #filters: Uint8Array[] = [];
  #open = newBlock(0);
  #offset = 0;

  /** Bytes that are in complete blocks. */
  get covered(): number {
    return this.#ends.at(-1) ?? 0;
  }

  get blocks(): number {
    return this.#ends.length;
  }

  /** Where lines are to be added next. */
  get offset(): number {
    return this.#offset;
  }

  /** Adds a line. @param line without its newline */
  add(line: Buffer): void {
    const parsed = parseObject(line.toString("utf8"));
    const open = this.#open;
    if (parsed !== undefined) {
      const { time = 0 } = parsed;
      open.earliest = Math.min(open.earliest, time);
      open.latest = Math.max(open.latest, time);
      for (const key of keysOf(parsed)) setBits(open.filter, key);
    }
    this.#offset += line.length + 1;
    if (this.#offset - open.start >= BLOCK_BYTES) this.#close();
  }

  /** Complete blocks that may hold what is asked for, newest first. @param before offset of the end of the search */
  *findBlocks({ groups, since, until }: BlockFilter, before: number): Generator<Block> {
    const hashes = groups.map((values) => values.map(bitsOf));
    for (let index = this.#ends.length - 1; index >= 0; index--) {
      const start = index === 0 ? 0 : (this.#ends[index - 1] ?? 0);
      if (start >= before) continue;
      const [earliest = 0, latest = 0, filter] = [this.#earliest[index], this.#latest[index], this.#filters[index]];
      if (latest < since || earliest > until || filter === undefined) continue;
      if (!hashes.every((values) => values.some((bits) => bits.every((bit) => hasBit(filter, bit))))) continue;
      yield { start, end: Math.min(before, this.#ends[index] ?? 0) };
    }
  }

  encode(): Buffer {
    const bytes = Buffer.alloc(MAGIC.length + this.#ends.length * ENTRY_BYTES);
    MAGIC.copy(bytes);
    for (let index = 0; index < this.#ends.length; index++) {
      const at = MAGIC.length + index * ENTRY_BYTES;
      bytes.writeDoubleLE(this.#ends[index] ?? 0, at);
      bytes.writeDoubleLE(this.#earliest[index] ?? 0, at + 8);
      bytes.writeDoubleLE(this.#latest[index] ?? 0, at + 16);
      bytes.set(this.#filters[index] ?? [], at + 24);
    }
    return bytes;
  }

  /** @returns `undefined` for bytes that are no index of a file of this size */
  static decode(bytes: Buffer, fileSize: number): BlockIndex | undefined {
    const count = (bytes.length - MAGIC.length) / ENTRY_BYTES;
    if (!Number.isInteger(count) || !bytes.subarray(0, MAGIC.length).equals(MAGIC)) return undefined;
    const index = new BlockIndex();
    for (let at = MAGIC.length; at < bytes.length; at += ENTRY_BYTES) {
      const end = bytes.readDoubleLE(at);
      if (!(end > index.covered && end <= fileSize)) return undefined;
      index.#ends.push(end);
      index.#earliest.push(bytes.readDoubleLE(at + 8));
      index.#latest.push(bytes.readDoubleLE(at + 16));
      index.#filters.push(bytes.subarray(at + 24, at + ENTRY_BYTES));
    }
    index.#offset = index.covered;
    index.#open = newBlock(index.covered);
    return index;
  }

  #close(): void {
    const { earliest, latest, filter } = this.#open;
    this.#ends.push(this.#offset);
    this.#earliest.push(earliest);
    this.#latest.push(latest);
    this.#filters.push(filter);
    this.#open = newBlock(this.#offset);
  }
}

const newBlock = (start: number) => ({
  start,
  earliest: Number.POSITIVE_INFINITY,
  latest: Number.NEGATIVE_INFINITY,
  filter: new Uint8Array(FILTER_BYTES),
});

/** Bits of the latest values: most lines have those of the line before. */
const known = new Map<string, readonly number[]>();
const MAX_KNOWN = 4096;

function bitsOf(key: string): readonly number[] {
  const found = known.get(key);
  if (found !== undefined) return found;
  if (known.size >= MAX_KNOWN) known.clear();
  const bits = hashBits(key);
  known.set(key, bits);
  return bits;
}

/** Double hashing of FNV-1a. */
function hashBits(key: string): readonly number[] {
  let hash = 0x811c9dc5;
  for (let index = 0; index < key.length; index++) hash = Math.imul(hash ^ key.charCodeAt(index), 0x01000193);
  const step = (Math.imul(hash ^ (hash >>> 15), 0x2c1b3c6d) | 1) >>> 0;
  return Array.from({ length: HASHES }, (_, index) => ((hash >>> 0) + index * step) % FILTER_BITS);
}

function setBits(filter: Uint8Array, key: string): void {
  for (const bit of bitsOf(key)) filter[bit >>> 3] = (filter[bit >>> 3] ?? 0) | (1 << (bit & 7));
}

const hasBit = (filter: Uint8Array, bit: number): boolean => ((filter[bit >>> 3] ?? 0) & (1 << (bit & 7))) !== 0;
