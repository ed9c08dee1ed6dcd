// The port between the assets of a venue and where they are stored (memory, files, or a bucket).

import type { ByteRange } from "../../core/ports/asset.js";

/** Why a storage cannot be opened; the message is a phrase for the operator, without the path. */
export class AssetStorageError extends Error {
  override readonly name = "AssetStorageError";
}

/** The caller that registered an asset, and when: times increase strictly over all registrations. */
export interface AssetOwner {
  readonly did: string;
  readonly at: number;
}

/** An asset as stored. */
export interface AssetRecord {
  readonly id: string;
  /** Metadata as compact JSON. */
  readonly json: Buffer;
  /** About milliseconds since the epoch; increases strictly from asset to asset. */
  readonly registered: number;
  /** Oldest first. */
  readonly owners: readonly AssetOwner[];
}

/**
 * Storage for the assets of one venue. A store makes no decisions: permission, limits and the hash of the content are
 * checked by its caller before the store commits.
 */
export interface AssetStore {
  /** Bytes of all content together. */
  readonly totalBytes: number;
  /** Size in bytes of the content with this lower-case hex SHA-256; `undefined` when it is not stored. */
  size(sha256: string): number | undefined;
  /**
   * Stores `body` once it has ended. If it or the store fails, nothing is left behind and the error is passed on.
   *
   * @param hash lower-case hex SHA-256; asked for once the body has ended
   */
  put(hash: () => string, body: AsyncIterable<Uint8Array>): Promise<void>;
  /** Reads stored content. Errors carry no errno, which the reader could mistake for one of its own. */
  open(sha256: string, range?: ByteRange): AsyncIterable<Uint8Array>;
  /** All saved records, in any order. Damaged records are skipped and logged. */
  load(): Promise<readonly AssetRecord[]>;
  /** Records that other processes have saved since they were last told, in that order. Absent: no other uses the store. */
  news?(): Promise<readonly AssetRecord[]>;
  /**
   * Saves a new record, or one with a further owner, the last. Once this returns, the record survives a crash.
   * @returns it as it is kept, after the news
   */
  save(record: AssetRecord): Promise<readonly AssetRecord[]>;
  close(): Promise<void>;
}

/** The content that a store has, by its hashes. */
export class StoredSizes {
  readonly #sizes = new Map<string, number>();
  #totalBytes = 0;

  get totalBytes(): number {
    return this.#totalBytes;
  }

  size(sha256: string): number | undefined {
    return this.#sizes.get(sha256);
  }

  /** Counts content that is stored, once. */
  protected count(sha256: string, size: number): void {
    if (this.#sizes.has(sha256)) return;
    this.#sizes.set(sha256, size);
    this.#totalBytes += size;
  }

  /** The bytes to read of content. @param range absent: all @throws where it is not stored */
  protected bytesOf(sha256: string, range: ByteRange | undefined): ByteRange {
    const size = this.#sizes.get(sha256);
    if (size === undefined) throw new Error("Cannot read content: it is not stored");
    return range ?? { start: 0, end: size };
  }
}
