// Hashes that are known without reading: of versions by their stamp, and of the contents that were edited last.

import type { Sha256 } from "./etag.js";
import { putLatest } from "./put-latest.js";

/** Hashing a smaller content takes about as long as a lookup. */
const MIN_BYTES = 16_384;
const MAX_BYTES = 1_048_576;
const MAX_ALL_BYTES = 8 * MAX_BYTES;
const MAX_SPARE = 2;
/** Buffers are made in multiples of this, so that a text which grows a little fits. */
const GRAIN = 16_384;
/** Larger contents are hashed in the thread pool, by their writer. */
const MAX_HASHED_BYTES = 262_144;

/** Content with its hash. */
export interface HashedContent {
  readonly bytes: Buffer;
  readonly sha256: Sha256;
  /** Hash state of its first bytes, from which hashes of contents that begin with the same bytes go on. */
  readonly start?: HashedStart | undefined;
}

interface HashedStart {
  readonly length: number;
  /** Copied before each use. */
  readonly state: GrowingHash;
}

/** A hash that bytes are added to, as `node:crypto` has it. */
export interface GrowingHash {
  update(bytes: Uint8Array): unknown;
  copy(): GrowingHash;
  digest(encoding: "hex"): string;
}

/**
 * The least recently edited content is forgotten first. Contents are compared byte by byte, so it does not matter what
 * else has changed a file, or whether two files go by the same key.
 */
export class RecentContents {
  readonly #contents = new Map<string, HashedContent>();
  readonly #spare: Buffer[] = [];
  readonly #newHash: () => GrowingHash;
  #size = 0;

  /** @param newHash begins a SHA-256 */
  constructor(newHash: () => GrowingHash) {
    this.#newHash = newHash;
  }

  /** The hash of the content of a file, if it equals the content kept. */
  hashOf(key: string, bytes: Buffer): Sha256 | undefined {
    const known = this.#contents.get(key);
    return known?.bytes.equals(bytes) === true ? known.sha256 : undefined;
  }

  /**
   * Hashes new content of a file, without the bytes before the last change if they are still the same.
   * @param unchanged how many bytes are before this change, at most all
   * @returns `undefined`: it is not kept, or is to be hashed elsewhere
   */
  hash(key: string, bytes: Buffer, unchanged: number): HashedContent | undefined {
    if (!isKept(bytes.length)) return undefined;
    let start = this.#startOf(key, bytes);
    if (bytes.length - (start?.length ?? 0) > MAX_HASHED_BYTES) return undefined;
    const digest = start?.state.copy() ?? this.#newHash();
    let done = start?.length ?? 0;
    if (unchanged > done) {
      digest.update(bytes.subarray(done, unchanged));
      start = { length: unchanged, state: digest.copy() };
      done = unchanged;
    }
    digest.update(bytes.subarray(done));
    return { bytes, sha256: digest.digest("hex"), start };
  }

  /** A buffer for new content, with arbitrary bytes. New memory for each would cost more than filling it. */
  room(length: number): Buffer {
    if (!isKept(length)) return Buffer.allocUnsafe(length);
    const index = this.#spare.findIndex((buffer) => buffer.length >= length);
    const [whole = Buffer.allocUnsafeSlow(Math.ceil(length / GRAIN) * GRAIN)] =
      index < 0 ? [] : this.#spare.splice(index, 1);
    return whole.subarray(0, length);
  }

  /** @param content its bytes are from {@link room}, and are not used elsewhere any more */
  keep(key: string, content: HashedContent): void {
    this.#forget(key);
    if (!isKept(content.bytes.length)) return;
    this.#contents.set(key, content);
    this.#size += memoryOf(content);
    for (const oldest of this.#contents.keys()) {
      if (this.#size <= MAX_ALL_BYTES) return;
      this.#forget(oldest);
    }
  }

  #startOf(key: string, bytes: Buffer): HashedStart | undefined {
    const known = this.#contents.get(key);
    const start = known?.start;
    if (known === undefined || start === undefined || start.length > bytes.length) return undefined;
    return known.bytes.subarray(0, start.length).equals(bytes.subarray(0, start.length)) ? start : undefined;
  }

  #forget(key: string): void {
    const content = this.#contents.get(key);
    if (content === undefined) return;
    this.#contents.delete(key);
    this.#size -= memoryOf(content);
    this.#spare.push(Buffer.from(content.bytes.buffer));
    if (this.#spare.length > MAX_SPARE) this.#spare.shift();
  }
}

const isKept = (length: number): boolean => length >= MIN_BYTES && length <= MAX_BYTES;

const memoryOf = ({ bytes }: HashedContent): number => bytes.buffer.byteLength;

/** An entry takes about 200 bytes, which bounds the cache at about 10 MB. */
const MAX_ENTRIES = 50_000;

/** Cache of content hashes, keyed by root and file stamp; the least recently stored entry is evicted first. */
export class VersionCache {
  /** Contents of the latest edits, for files that change too often for a stamp. */
  readonly recent: RecentContents;
  readonly #known = new Map<string, Sha256>();

  /** @param newHash begins a SHA-256 */
  constructor(newHash: () => GrowingHash) {
    this.recent = new RecentContents(newHash);
  }

  /** @param stamp from the backend; `undefined`: the file may still change without a new stamp, so nothing is cached */
  get(root: string, stamp: string | undefined): Sha256 | undefined {
    return stamp === undefined ? undefined : this.#known.get(keyOf(root, stamp));
  }

  put(root: string, stamp: string | undefined, sha256: Sha256): void {
    if (stamp !== undefined) putLatest(this.#known, keyOf(root, stamp), sha256, MAX_ENTRIES);
  }
}

const keyOf = (root: string, stamp: string): string => `${root}/${stamp}`;
