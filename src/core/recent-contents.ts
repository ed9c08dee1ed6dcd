// The contents of files that were edited last, so that the next edit need not hash what this process has written.

import type { Sha256 } from "./etag.js";

/** Hashing less takes about as long as looking it up. */
const MIN_BYTES = 16_384;
const MAX_BYTES = 1_048_576;
const MAX_ALL_BYTES = 4 * MAX_BYTES;
const MAX_SPARE = 2;
/** Buffers are made in multiples of this, so that a text which grows a little fits. */
const GRAIN = 16_384;

interface Content {
  readonly bytes: Buffer;
  readonly sha256: Sha256;
}

/**
 * The least recently edited content is forgotten first. Contents are compared byte by byte, so it does not matter what
 * else has changed a file, or whether two files go by the same key.
 */
export class RecentContents {
  readonly #contents = new Map<string, Content>();
  readonly #spare: Buffer[] = [];
  #size = 0;

  /** The hash of what a file holds, if that is what was kept. */
  hashOf(key: string, bytes: Buffer): Sha256 | undefined {
    const known = this.#contents.get(key);
    return known?.bytes.equals(bytes) === true ? known.sha256 : undefined;
  }

  /** A buffer for new content, with arbitrary bytes. New memory for each would cost more than filling it. */
  room(length: number): Buffer {
    if (!isKept(length)) return Buffer.allocUnsafe(length);
    const index = this.#spare.findIndex((buffer) => buffer.length >= length);
    const [whole = Buffer.allocUnsafeSlow(Math.ceil(length / GRAIN) * GRAIN)] =
      index < 0 ? [] : this.#spare.splice(index, 1);
    return whole.subarray(0, length);
  }

  /** @param bytes from {@link room}; nobody else uses them any more */
  keep(key: string, bytes: Buffer, sha256: Sha256): void {
    this.#forget(key);
    if (!isKept(bytes.length)) return;
    this.#contents.set(key, { bytes, sha256 });
    this.#size += memoryOf(bytes);
    for (const oldest of this.#contents.keys()) {
      if (this.#size <= MAX_ALL_BYTES) return;
      this.#forget(oldest);
    }
  }

  #forget(key: string): void {
    const content = this.#contents.get(key);
    if (content === undefined) return;
    this.#contents.delete(key);
    this.#size -= memoryOf(content.bytes);
    this.#spare.push(Buffer.from(content.bytes.buffer));
    if (this.#spare.length > MAX_SPARE) this.#spare.shift();
  }
}

const isKept = (length: number): boolean => length >= MIN_BYTES && length <= MAX_BYTES;

const memoryOf = ({ buffer }: Buffer): number => buffer.byteLength;
