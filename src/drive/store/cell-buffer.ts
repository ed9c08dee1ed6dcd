// Cells in memory, as they will lie in a pack.

import type { PackEntry } from "./embedded/pack-format.js";
import { type HashText, hashOfText } from "./mark.js";

const FIRST_BYTES = 65_536;
/** Beyond this a buffer does not double: packs of object storage are closed there. */
const MOST_BYTES = (16 << 20) + FIRST_BYTES;

/** Contiguous cells behind a head, each once, in the order of arrival. */
export class CellBuffer {
  readonly #head: Buffer;
  readonly #entries = new Map<HashText, PackEntry>();
  #buffer = Buffer.alloc(0);
  #used: number;

  constructor(head = Buffer.alloc(0)) {
    this.#head = head;
    this.#used = head.length;
  }

  /** Size of the cells. */
  get bytes(): number {
    return this.#used - this.#head.length;
  }

  get count(): number {
    return this.#entries.size;
  }

  get entries(): PackEntry[] {
    return [...this.#entries.values()];
  }

  /** Head and cells; valid until the next change. */
  get content(): Buffer {
    return this.#buffer.subarray(0, this.#used);
  }

  has(text: HashText): boolean {
    return this.#entries.has(text);
  }

  /** Copies the cell. */
  add(text: HashText, cell: Uint8Array): void {
    if (this.#entries.has(text)) return;
    const end = this.#used + cell.length;
    if (end > this.#buffer.length) {
      const room = Math.max(FIRST_BYTES, Math.min(2 * this.#buffer.length, MOST_BYTES), end);
      const larger = Buffer.allocUnsafeSlow(room);
      larger.set(this.#buffer.length === 0 ? this.#head : this.content);
      this.#buffer = larger;
    }
    this.#buffer.set(cell, this.#used);
    this.#entries.set(text, { hash: hashOfText(text), offset: this.#used, length: cell.length });
    this.#used = end;
  }

  /** The cells so far, as views. */
  *cells(): Generator<readonly [HashText, Uint8Array]> {
    for (const [text, { offset, length }] of this.#entries)
      yield [text, this.#buffer.subarray(offset, offset + length)];
  }

  /** Keeps its memory for the next cells. */
  clear(): void {
    this.#entries.clear();
    this.#used = this.#head.length;
  }

  free(): void {
    this.clear();
    this.#buffer = Buffer.alloc(0);
  }
}
