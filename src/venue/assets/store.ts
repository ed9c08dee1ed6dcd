import type { ByteRange } from "../../core/ports/asset.js";

/** Why a storage cannot be opened: a phrase for the operator, without the path. */
export class AssetStorageError extends Error {
  override readonly name = "AssetStorageError";
}

/** Who registered an asset, and when in the order of all registrations. */
export interface AssetOwner {
  readonly did: string;
  readonly at: number;
}

/** An asset as it is kept. */
export interface AssetRecord {
  readonly id: string;
  /** Metadata as compact JSON. */
  readonly json: Buffer;
  /** Increases from asset to asset; about milliseconds since the epoch. */
  readonly registered: number;
  /** Oldest first. */
  readonly owners: readonly AssetOwner[];
}

/**
 * Where the assets of one venue are kept. A store judges nothing: who may write, how much, and whether the content has
 * the hash it is stored under, are known before it commits.
 */
export interface AssetStore {
  /** Bytes of all content. */
  readonly totalBytes: number;
  /** Bytes of one content by its lower-case hex SHA-256; `undefined` when it is not there. */
  size(sha256: string): number | undefined;
  /**
   * Stores `body` once it has ended. When it fails, or the store does, nothing of it is left and the failure passes
   * through.
   *
   * @returns whether it was new; `false`: the same content was stored meanwhile, and stays as it is
   */
  put(sha256: string, body: AsyncIterable<Uint8Array>): Promise<boolean>;
  /** Reads stored content. Failures carry no error code of the system, which could be taken for the reader's own. */
  open(sha256: string, range?: ByteRange): AsyncIterable<Uint8Array>;
  /** All that was saved, in any order. Damaged records are left out and logged. */
  load(): Promise<readonly AssetRecord[]>;
  /** Keeps a record in place of an older one with its id; once it returns, the record survives a crash. */
  save(record: AssetRecord): Promise<void>;
  close(): Promise<void>;
}
