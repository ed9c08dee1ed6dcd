// Buffer of chunks that will be appended to a pack.

import { type HashText, hashOfText } from "../mark.js";
import type { PackPiece } from "./pack-writer.js";

const FIRST_BYTES = 65_536;

/** Contiguous chunks, each copied once. */
export class ChunkBuffer {
  /** Length of each chunk, in order. */
  readonly #lengths = new Map<HashText, number>();
  #buffer = Buffer.alloc(0);
  #used = 0;

  get bytes(): number {
    return this.#used;
  }

  get size(): number {
    return this.#lengths.size;
  }

  has(hash: HashText): boolean {
    return this.#lengths.has(hash);
  }

  add(hash: HashText, chunk: Uint8Array): void {
    if (this.#lengths.has(hash)) return;
    const end = this.#used + chunk.length;
    if (end > this.#buffer.length) {
      const larger = Buffer.allocUnsafeSlow(Math.max(FIRST_BYTES, 2 * this.#buffer.length, end));
      larger.set(this.#buffer.subarray(0, this.#used));
      this.#buffer = larger;
    }
    this.#buffer.set(chunk, this.#used);
    this.#lengths.set(hash, chunk.length);
    this.#used = end;
  }

  /** A view, valid until the next change. */
  piece(): PackPiece {
    const chunks = Array.from(this.#lengths, ([hash, length]) => ({ hash: hashOfText(hash), length }));
    return { bytes: this.#buffer.subarray(0, this.#used), chunks };
  }

  clear(): void {
    this.#lengths.clear();
    this.#used = 0;
  }
}
