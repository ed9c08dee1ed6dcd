// Caches content hashes by file version.

import type { Sha256 } from "./etag.js";

/** An entry takes about 200 bytes, which bounds the cache at about 10 MB. */
const MAX_ENTRIES = 50_000;

/** Cache of content hashes, keyed by root and file stamp; the least recently stored entry is evicted first. */
export class VersionCache {
  /** What was written last, for files that change too often for a stamp. */
  readonly recent = new RecentContents();
  readonly #known = new Map<string, Sha256>();

  /** @param stamp from the backend; `undefined`: the file may still change without a new stamp, so nothing is cached */
  get(root: string, stamp: string | undefined): Sha256 | undefined {
    return stamp === undefined ? undefined : this.#known.get(keyOf(root, stamp));
  }

  put(root: string, stamp: string | undefined, sha256: Sha256): void {
    if (stamp === undefined) return;
    const key = keyOf(root, stamp);
    this.#known.delete(key);
    this.#known.set(key, sha256);
    if (this.#known.size <= MAX_ENTRIES) return;
    for (const oldest of this.#known.keys()) {
      this.#known.delete(oldest);
      return;
    }
  }
}

const keyOf = (root: string, stamp: string): string => `${root}/${stamp}`;

// The contents of files that were edited last, so that the next edit need not hash what this process has written.

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
