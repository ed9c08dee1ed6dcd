// Port of the stores that keep the cells and roots of drives.

/**
 * Stores cells and signed roots. Stores do not interpret cells, except that they find references during garbage
 * collection. Arguments are copied or written before the promise resolves, so callers may reuse their buffers
 * afterwards; results must not be modified.
 *
 * Failures: STORE_UNAVAILABLE if the store cannot be used, STORE_DAMAGED if a cell or a root is not what was stored. No
 * message contains a path, a key or a hash.
 */
export interface CellStore {
  /**
   * The encodings with these hashes, verified, in the given order; `undefined` for those the store does not have. Sees
   * everything flushed through this store, and everything below roots returned by `root` or `pin`. Neighbouring cells are
   * read together.
   *
   * @param take a store may give cells to it instead, which are valid only during the call: it must not throw
   */
  getMany(hashes: readonly Uint8Array[], take?: TakeCell): Promise<(Uint8Array | undefined)[]>;
  batch(): CellBatch;
  /** The root that all processes swap; `undefined` for none. @param owner the account key, 64 hex digits */
  root(owner: string): Promise<RootRecord | undefined>;
  /** Whether venues on other machines may swap the same roots, so often that a swap takes many tries. */
  readonly sharesRoots?: boolean;
  owners(): AsyncIterable<string>;
  /**
   * Protects the tree of an owner's root from garbage collection. Readers and writers pin first, then work on `root`.
   */
  pin(owner: string): Promise<Pin>;
  /** Removes cells that no root needs. Concurrent collections are harmless; an interrupted one can be restarted. */
  collect(options: CollectOptions): Promise<CollectReport>;
  /** As it was when the store was opened. 1: in its directories names differ in their first 32 bytes, as older versions want it. */
  readonly format: number;
  /** Raises the format to the newest one; absent where there is only one. @throws BUSY if another process has the store */
  upgrade?(): Promise<FormatChange>;
  readonly keys: KeyRecords;
  /** Drops batches that were not flushed. */
  close(): Promise<void>;
}

/** @param at which of the cells that were asked for */
export type TakeCell = (at: number, bytes: Uint8Array) => void;

/** Formats of a store, before and after; equal if it was of the newest one already. */
export interface FormatChange {
  readonly from: number;
  readonly to: number;
}

/** The cells of one change, in the order in which they will be read. Ended by `commit`, or simply abandoned. */
export interface CellBatch {
  /** A returned promise is back-pressure: await it before the next put. Cells already stored cost nothing. */
  put(hash: Uint8Array, bytes: Uint8Array): void | Promise<void>;
  /** Durable when resolved. More cells can be put afterwards. */
  flush(): Promise<void>;
  /**
   * Flushes, and makes `bytes` the owner's root; durable when resolved. After a conflict the batch still has the cells;
   * `flush` writes them.
   *
   * @param expected the root that it replaces, as returned by `root`; `null` for none
   * @param bytes encoding of Signed(drives)
   */
  commit(
    owner: string,
    expected: RootRecord | null,
    bytes: Uint8Array,
    hint?: RootHint,
  ): Promise<RootRecord | "conflict">;
  /**
   * Begins another try of the change: forgets cells that have not been written. Written cells belong to the next root
   * only if they are put again, which costs nothing. Absent where a new batch is as good.
   */
  restart?(): void;
}

/** Hints from the writer of a root; stores keep them if they can. */
export interface RootHint {
  /** Total size of the owner's files in all drives, in bytes. */
  readonly usedBytes?: number | undefined;
  /**
   * Encoding of the top cell of the owner's log. Collections keep its branches like those of the root, but a missing
   * one is no damage. A swap without one leaves the log as it is.
   */
  readonly log?: Uint8Array | undefined;
}

export interface RootRecord extends RootHint {
  /** Changes with every swap. */
  readonly version: string;
  readonly bytes: Uint8Array;
}

export interface Pin {
  readonly root: RootRecord | undefined;
  /** Idempotent. */
  release(): void;
}

export interface CollectOptions {
  /**
   * Grace period in ms: what was written, or part of a root, more recently is kept. Must exceed the duration of any
   * upload and any pin.
   */
  readonly graceMs: number;
  /** Counts only; removes nothing. */
  readonly dryRun?: boolean;
}

export interface CollectReport {
  /** Cells that roots and pins need. */
  readonly live: number;
  /** Cells removed, or that would be. */
  readonly removed: number;
  readonly removedBytes: number;
  /** Packs deleted, or copied because most of their content was garbage. */
  readonly packs: number;
  /** Missing or damaged cells. Their references are unknown, so if there are any, nothing is removed. */
  readonly missing: number;
}

/** Sealed keys of users, opaque to the store. */
export interface KeyRecords {
  /** Ordered by public key. */
  list(did: string): Promise<readonly KeyRecord[]>;
  /**
   * Durable when resolved. Replaces the record with the same public key.
   *
   * @param options `onlyFirst`: does nothing if the user already has a key; of several processes one decides.
   */
  put(did: string, record: KeyRecord, options?: { readonly onlyFirst: boolean }): Promise<void>;
  /** Each DID once, in no particular order. */
  dids(): AsyncIterable<string>;
}

export interface KeyRecord {
  /** 64 hex digits. */
  readonly publicKey: string;
  readonly bytes: Uint8Array;
}
