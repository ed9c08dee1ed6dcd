// Checks the structure of a database file without LMDB, which trusts what it reads: a page that leads it astray ends the
// process, or makes a later change overwrite other pages. The format is that of lmdb's `mdb.c` (MDB_DATA_VERSION 2).

import { closeSync, fstatSync, openSync, readSync, statSync } from "node:fs";
import { DamagedDatabase } from "./damaged-database.js";

const HEADER_BYTES = 24;
const NODE_HEADER_BYTES = 8;
/** Kinds of pages. */
const [BRANCH, LEAF, OVERFLOW, META] = [1, 2, 4, 8];
/** Kinds of values in nodes of leaves: on pages of its own, a table. */
const [LARGE, TABLE] = [1, 2];
const MAGIC = 0xbeefc0de;
const VERSION = 2;
/** Flag of the table of free pages: its keys are integers. */
const INTEGER_KEYS = 8;
const TABLE_BYTES = 48;
const LARGE_BYTES = 24;
const NO_ROOT = 0xffff_ffff_ffff_ffffn;
const SMALLEST_PAGE = 512;
const LARGEST_PAGE = 32_768;
/** Free pages at the end that the file may lack. */
const SLACK_PAGES = 4_096;

/** Record of one table. */
interface TableRecord {
  readonly flags: number;
  readonly depth: number;
  readonly branches: bigint;
  readonly leaves: bigint;
  readonly overflows: bigint;
  readonly entries: bigint;
  /** `undefined`: it is empty. */
  readonly root: number | undefined;
}

interface Node {
  readonly flags: number;
  readonly key: Buffer;
  /** The value, or where it is; of branches empty. */
  readonly data: Buffer;
  /** The page below in a branch; the bytes of the value in a leaf. */
  readonly number: number;
}

/** One table while it is gone through. */
interface Walk {
  /** Is given each node of a leaf, a large value only if it is wanted. */
  readonly each: (node: Node) => void;
  readonly compare: (one: Buffer, other: Buffer) => number;
  readonly wantsLarge: boolean;
  branches: number;
  leaves: number;
  overflows: number;
  entries: number;
  lastKey: Buffer | undefined;
  /** The last key is that of a branch: the first one below may equal it. */
  mayEqual: boolean;
}

/**
 * The caller sees to it that nobody changes the file meanwhile.
 * @param path of the file of an LMDB database, as the bundled LMDB writes it without encryption
 * @param tables names that its tables may have
 * @throws DamagedDatabase; system errors
 */
export function checkPages(path: string, tables: readonly string[]): void {
  // A file that was made and never written.
  if (statSync(path).size > 0) check(path, (pages) => pages.check(tables));
}

/** Checks what LMDB reads when it opens the file and copies it, and no table. @throws DamagedDatabase, of an empty file too; system errors */
export const checkHead = (path: string): void =>
  check(path, (pages, bytes) => require(pages.end <= bytes, "the file is cut short"));

function check(path: string, more: (pages: PageCheck, bytes: number) => void): void {
  const fd = openSync(path, "r");
  try {
    const { size } = fstatSync(fd);
    more(new PageCheck(fd, size), size);
  } finally {
    closeSync(fd);
  }
}

class PageCheck {
  readonly #fd: number;
  readonly #pageBytes: number;
  readonly #free: TableRecord;
  readonly #main: TableRecord;
  readonly #pages: number;
  readonly #transaction: bigint;
  /** By page: 1 for those that are used, or free. */
  readonly #seen: Uint8Array;

  constructor(fd: number, bytes: number) {
    this.#fd = fd;
    const first = this.#read(0, SMALLEST_PAGE);
    this.#pageBytes = first.readUInt32LE(HEADER_BYTES + 24);
    const isSize = this.#pageBytes >= SMALLEST_PAGE && this.#pageBytes <= LARGEST_PAGE;
    require(isSize && (this.#pageBytes & (this.#pageBytes - 1)) === 0, "size of pages");
    const both = [first, this.#read(this.#pageBytes, SMALLEST_PAGE)];
    for (const [page, head] of both.entries()) {
      require(head.readBigUInt64LE(0) === BigInt(page) && head.readUInt16LE(18) === META, "head of the file");
      require(head.readUInt32LE(HEADER_BYTES) === MAGIC, "mark of the file");
      require(head.readUInt32LE(HEADER_BYTES + 4) === VERSION, "version");
    }
    const transactions = both.map((head) => head.readBigUInt64LE(HEADER_BYTES + 128));
    const meta = both[(transactions[1] ?? 0n) > (transactions[0] ?? 0n) ? 1 : 0]?.subarray(HEADER_BYTES) ?? first;
    this.#transaction = meta.readBigUInt64LE(128);
    this.#free = tableIn(meta.subarray(24, 24 + TABLE_BYTES));
    this.#main = tableIn(meta.subarray(24 + TABLE_BYTES, 24 + 2 * TABLE_BYTES));
    const last = meta.readBigUInt64LE(120);
    // The last pages may be free, and then not there.
    const most = BigInt(Math.ceil((2 * bytes) / this.#pageBytes) + SLACK_PAGES);
    require(last > 0n && last < most && this.#free.flags === INTEGER_KEYS, "head of the last transaction");
    this.#pages = Number(last) + 1;
    this.#seen = new Uint8Array(this.#pages);
    this.#seen.fill(1, 0, 2);
  }

  /** Where the last page ends that may be used. */
  get end(): number {
    return this.#pages * this.#pageBytes;
  }

  /** @throws DamagedDatabase */
  check(names: readonly string[]): void {
    const tables: TableRecord[] = [];
    const known = names.map((name) => `${name}\0`);
    this.#table(this.#main, ({ key, flags, data }) => {
      require(flags === TABLE && data.length === TABLE_BYTES && known.includes(key.toString("latin1")), "a table");
      tables.push(tableIn(data));
    });
    for (const table of tables) this.#table(table, ({ flags }) => require(flags === 0, "a value"));
    const free: bigint[] = [];
    this.#table(this.#free, (node) => this.#freeIn(node, free), byNumber);
    // Last, so that all pages in use are known.
    for (const page of free) this.#take(page);
  }

  /** Goes through a table in order. */
  #table(table: TableRecord, each: Walk["each"], compare = Buffer.compare): void {
    const counts = { branches: 0, leaves: 0, overflows: 0, entries: 0 };
    const walk: Walk = {
      each,
      compare,
      wantsLarge: table === this.#free,
      ...counts,
      lastKey: undefined,
      mayEqual: false,
    };
    if (table.root !== undefined) this.#page(table.root, table.depth, walk);
    const isCounted =
      (table.root !== undefined || table.depth === 0) &&
      table.branches === BigInt(walk.branches) &&
      table.leaves === BigInt(walk.leaves) &&
      table.overflows === BigInt(walk.overflows) &&
      table.entries === BigInt(walk.entries);
    require(isCounted, "the size of a table");
  }

  #page(page: number, depth: number, walk: Walk): void {
    this.#take(BigInt(page));
    require(depth > 0, "the depth of a table");
    if (depth > 1) {
      walk.branches += 1;
      for (const [index, { key, number }] of this.#nodes(page, BRANCH).entries()) {
        // The first key of a branch says nothing.
        if (index > 0) this.#inOrder(key, walk, true);
        this.#page(number, depth - 1, walk);
      }
      return;
    }
    walk.leaves += 1;
    for (const node of this.#nodes(page, LEAF)) {
      this.#inOrder(node.key, walk, false);
      walk.entries += 1;
      walk.each(node.flags === LARGE ? this.#large(node, walk) : node);
    }
  }

  #inOrder(key: Buffer, walk: Walk, isBranch: boolean): void {
    const order = walk.lastKey === undefined ? -1 : walk.compare(walk.lastKey, key);
    require(order < 0 || (order === 0 && walk.mayEqual && !isBranch), "the order of keys");
    walk.lastKey = key;
    walk.mayEqual = isBranch;
  }

  /** @returns what is on a page; its nodes fill it from `upper` to its end without gaps */
  #nodes(page: number, kind: number): Node[] {
    const bytes = this.#read(page * this.#pageBytes, this.#pageBytes);
    this.#head(bytes, page, kind);
    const [lower, upper] = [bytes.readUInt16LE(20), bytes.readUInt16LE(22)];
    const room = this.#pageBytes - HEADER_BYTES;
    require(lower <= upper && upper <= room && lower % 2 === 0 && lower > 0, "a page");
    const places: [start: number, end: number][] = [];
    const nodes: Node[] = [];
    for (let at = 0; at < lower; at += 2) {
      const start = HEADER_BYTES + bytes.readUInt16LE(HEADER_BYTES + at);
      require(start + NODE_HEADER_BYTES <= this.#pageBytes && start % 2 === 0, "a node");
      const [low, high] = [bytes.readUInt16LE(start), bytes.readUInt16LE(start + 2)];
      const flags = bytes.readUInt16LE(start + 4);
      const keyEnd = start + NODE_HEADER_BYTES + bytes.readUInt16LE(start + 6);
      const size = low + high * 0x1_0000;
      const isLeaf = kind === LEAF;
      const dataEnd = isLeaf ? keyEnd + ((flags & LARGE) === 0 ? size : LARGE_BYTES) : keyEnd;
      require(dataEnd <= this.#pageBytes && (!isLeaf || keyEnd > start + NODE_HEADER_BYTES), "a node");
      places.push([start, dataEnd + (dataEnd % 2)]);
      nodes.push({
        flags,
        key: bytes.subarray(start + NODE_HEADER_BYTES, keyEnd),
        data: bytes.subarray(keyEnd, dataEnd),
        number: isLeaf ? size : size + flags * 0x1_0000_0000,
      });
    }
    let next = HEADER_BYTES + upper;
    for (const [start, end] of places.sort(([a], [b]) => a - b)) {
      require(start === next, "nodes of a page");
      next = end;
    }
    require(next === this.#pageBytes, "nodes of a page");
    return nodes;
  }

  #head(bytes: Buffer, page: number, kind: number): void {
    const isOf = bytes.readBigUInt64LE(0) === BigInt(page) && bytes.readUInt16LE(18) === kind;
    require(isOf && bytes.readBigUInt64LE(8) <= this.#transaction, "head of a page");
  }

  /** A value on pages of its own. */
  #large(node: Node, walk: Walk): Node {
    const [page, pages] = [Number(node.data.readBigUInt64LE(0)), Number(node.data.readBigUInt64LE(16))];
    require(pages === Math.ceil((HEADER_BYTES + node.number) / this.#pageBytes), "a large value");
    for (let index = 0; index < pages; index++) this.#take(BigInt(page + index));
    const head = this.#read(page * this.#pageBytes, HEADER_BYTES);
    this.#head(head, page, OVERFLOW);
    require(head.readUInt32LE(20) === pages, "a large value");
    walk.overflows += pages;
    const data = walk.wantsLarge ? this.#read(page * this.#pageBytes + HEADER_BYTES, node.number) : node.data;
    return { ...node, flags: 0, data };
  }

  /** Free pages: their number, then pages; a negative number is the length of the run of pages that begins behind it. */
  #freeIn({ key, flags, data: list }: Node, free: bigint[]): void {
    require(key.length === 8 && flags === 0 && list.length >= 8, "a list of free pages");
    const count = list.readBigUInt64LE(0);
    require(count <= BigInt(Math.floor(list.length / 8) - 1), "a list of free pages");
    for (let index = 1; index <= Number(count); index++) {
      const entry = list.readBigInt64LE(index * 8);
      const run = entry < 0n ? -entry : entry === 0n ? 0n : 1n;
      if (entry < 0n) index += 1;
      require(index <= Number(count) && run <= BigInt(this.#pages), "a list of free pages");
      const start = list.readBigInt64LE(index * 8);
      for (let offset = 0n; offset < run; offset++) free.push(start + offset);
    }
  }

  /** Each page is used once, or free. */
  #take(page: bigint): void {
    require(page > 1n && page < BigInt(this.#pages) && this.#seen[Number(page)] === 0, "a page twice");
    this.#seen[Number(page)] = 1;
  }

  #read(start: number, length: number): Buffer {
    const bytes = Buffer.allocUnsafe(length);
    let count = 0;
    while (count < length) {
      const more = readSync(this.#fd, bytes, count, length - count, start + count);
      require(more > 0, "the file is cut short");
      count += more;
    }
    return bytes;
  }
}

function tableIn(bytes: Buffer): TableRecord {
  const root = bytes.readBigUInt64LE(40);
  return {
    flags: bytes.readUInt16LE(4),
    depth: bytes.readUInt16LE(6),
    branches: bytes.readBigUInt64LE(8),
    leaves: bytes.readBigUInt64LE(16),
    overflows: bytes.readBigUInt64LE(24),
    entries: bytes.readBigUInt64LE(32),
    root: root === NO_ROOT ? undefined : Number(root),
  };
}

/** Orders integer keys. */
function byNumber(one: Uint8Array, other: Uint8Array): -1 | 0 | 1 {
  const [first, second] = [one, other].map((key) => new DataView(key.buffer, key.byteOffset, 8).getBigUint64(0, true));
  if (first === undefined || second === undefined || first === second) return 0;
  return first < second ? -1 : 1;
}

function require(isTrue: boolean, what: string): asserts isTrue {
  if (!isTrue) throw new DamagedDatabase(what);
}
