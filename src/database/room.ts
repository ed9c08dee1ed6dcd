// Room on the disk for what a transaction writes. LMDB tells of a full disk on standard error, and can overwrite memory of its
// own; so its file is made longer before it writes.

import { closeSync, fstatSync, openSync, readSync, writeSync } from "node:fs";
import { PAGE_BYTES } from "./environment.js";

/** Larger values have pages of their own. */
const LARGE_BYTES = 1_900;
/** Pages that a transaction writes for a row that is there, and beside rows; page numbers in a list of free pages. */
const PAGES_PER_ROW = 2;
const MORE_PAGES = 12;
const PAGES_PER_LIST = 500;
/** New pages for each page of values: at least a third of each is filled. */
const SPREAD = 3;
/** Where a head of the file has the size of pages, the number of the last one that is used, and that of the transaction. */
const PAGE_SIZE_AT = 48;
const LAST_PAGE_AT = 144;
const TRANSACTION_AT = 152;
const ZEROS = Buffer.alloc(1 << 18);

/** Counts what transactions of a database change. */
export class Room {
  readonly #fd: number;
  readonly #heads: Buffer;
  readonly #pageBytes: number;
  #changes = 0;
  #small = 0;
  /** Pages of large values. */
  #large = 0;
  #depth = 0;

  /** @param file of the database, which holds something */
  constructor(file: string) {
    this.#fd = openSync(file, "r+");
    const size = Buffer.alloc(4);
    readSync(this.#fd, size, 0, size.length, PAGE_SIZE_AT);
    this.#pageBytes = size.readUInt32LE();
    this.#heads = Buffer.alloc(this.#pageBytes + TRANSACTION_AT + 8);
  }

  close(): void {
    closeSync(this.#fd);
  }

  /** A row is written or removed. */
  count(key: Buffer, value?: Buffer): void {
    this.#changes += 1;
    this.#small += key.length;
    if (value === undefined) return;
    if (value.length < LARGE_BYTES) this.#small += value.length;
    else this.#large += Math.ceil(value.length / PAGE_BYTES) + 1;
  }

  /** The count belongs to the outermost of nested calls. */
  counting<T>(work: () => T): T {
    this.#depth += 1;
    try {
      return work();
    } finally {
      this.#depth -= 1;
      if (this.#depth === 0) [this.#changes, this.#small, this.#large] = [0, 0, 0];
    }
  }

  /** While nobody else changes the database. @throws the system's error if there is no room for what was counted */
  make(): void {
    const last = this.#lastPage();
    const rows = Math.min(PAGES_PER_ROW * this.#changes, last) + Math.ceil((SPREAD * this.#small) / this.#pageBytes);
    const more = MORE_PAGES + Math.ceil(last / PAGES_PER_LIST) + rows + this.#large;
    this.#lengthen((last + 1 + more) * this.#pageBytes);
  }

  #lastPage(): number {
    readSync(this.#fd, this.#heads, 0, this.#heads.length, 0);
    const [first, second] = [0, this.#pageBytes].map((head) => this.#heads.readBigUInt64LE(head + TRANSACTION_AT));
    const newest = (second ?? 0n) > (first ?? 0n) ? this.#pageBytes : 0;
    return Number(this.#heads.readBigUInt64LE(newest + LAST_PAGE_AT));
  }

  #lengthen(length: number): void {
    for (let end = fstatSync(this.#fd).size; end < length; ) {
      end += writeSync(this.#fd, ZEROS, 0, Math.min(ZEROS.length, length - end), end);
    }
  }
}
