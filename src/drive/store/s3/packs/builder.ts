// Builds packs for upload.

import { randomBytes } from "node:crypto";
import { PACK_HEADER, type PackEntry, packEnd, startDigest, TRAILER_BYTES } from "../../embedded/pack-format.js";
import { type HashText, hashOfText } from "../../mark.js";
import { bloomOf, type PackInfo, type PackKind } from "./manifest.js";

/** A pack ready for upload. */
export interface BuiltPack {
  readonly info: PackInfo;
  readonly bytes: Buffer;
  /** Its footer entries, as encoded in the pack. */
  readonly footer: Buffer;
}

const SALT_BYTES = 16;
const FIRST_BYTES = 65_536;
/** A pack is closed when its cells reach this size in bytes. */
export const PACK_CELL_BYTES = 16 << 20;

/** Contiguous cells, each once, in the order of arrival. */
export class PackBuilder {
  readonly #entries = new Map<HashText, PackEntry>();
  #buffer = Buffer.alloc(0);
  #used = PACK_HEADER.length;

  /** Size of the cells. */
  get bytes(): number {
    return this.#used - PACK_HEADER.length;
  }

  get count(): number {
    return this.#entries.size;
  }

  /** Copies the cell. */
  add(text: HashText, cell: Uint8Array): void {
    if (this.#entries.has(text)) return;
    const end = this.#used + cell.length;
    if (end > this.#buffer.length) {
      const room = Math.max(FIRST_BYTES, Math.min(2 * this.#buffer.length, PACK_CELL_BYTES + FIRST_BYTES), end);
      const larger = Buffer.allocUnsafeSlow(room);
      if (this.#buffer.length === 0) larger.set(PACK_HEADER);
      larger.set(this.#buffer.subarray(0, this.#used));
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

  /** Consumes the builder. The pack is unique even if another has the same cells: see decision 41. */
  build(kind: PackKind): BuiltPack {
    const entries = [...this.#entries.values()];
    const salt = randomBytes(SALT_BYTES);
    const cells = this.#buffer.subarray(PACK_HEADER.length, this.#used);
    const end = packEnd(entries, this.#used + SALT_BYTES, startDigest().update(cells).update(salt));
    const bytes = Buffer.concat([this.#buffer.subarray(0, this.#used), salt, end]);
    const footer = Buffer.from(end.subarray(0, end.length - TRAILER_BYTES));
    const hashes = entries.map(({ hash }) => hash);
    const id = end.toString("hex", end.length - TRAILER_BYTES + 12, end.length - 4);
    const filter = bloomOf(hashes, entries.length);
    this.#buffer = Buffer.alloc(0);
    return { info: { id, kind, count: entries.length, size: bytes.length, filter }, bytes, footer };
  }
}
