/**
 * Where cells and signed roots are kept. Stores never interpret cells, apart from finding their references when they
 * collect. Everything that is handed over is copied or written out before the promise resolves, so callers may reuse
 * their buffers afterwards; what is returned is not to be changed.
 *
 * Failures: STORE_UNAVAILABLE when the store cannot be used, STORE_DAMAGED when a cell or a root is not what was
 * stored. No message names a place, a key or a hash.
 */
export interface CellStore {
  /**
   * The id under which this process writes, where each has roots of its own. It may change between swaps: the first swap
   * under another id expects `null`.
   */
  readonly writer?: string;
  /**
   * The encoding with this hash, checked; `undefined` when the store has none. Sees what has been flushed here, and what
   * belongs to roots that `roots` or `pin` have told of.
   */
  get(hash: Uint8Array): Promise<Uint8Array | undefined>;
  /** As `get`, in the order asked for; neighbours are read together. */
  getMany(hashes: readonly Uint8Array[]): Promise<(Uint8Array | undefined)[]>;
  batch(): CellBatch;
  /** One for each writer, in the order of their ids. @param owner the account key, 64 hex digits */
  roots(owner: string): Promise<readonly RootRecord[]>;
  /**
   * Makes `bytes` this writer's root; durable when resolved. Every cell it names must have been flushed.
   *
   * @param expected what `roots` told of this writer, `null` for nothing
   * @param bytes encoding of Signed(drives)
   */
  swapRoot(
    owner: string,
    expected: RootRecord | null,
    bytes: Uint8Array,
    hint?: SwapHint,
  ): Promise<RootRecord | "conflict">;
  /** Says that our own root of an owner has everything that these have, so that they can go with their writers. */
  retire?(owner: string, records: readonly RootRecord[]): void;
  /** Whether `writer` stands for all processes: what single ones have put is to become part of its root. */
  readonly sharesRoots?: boolean;
  /**
   * When processes that know nothing of a shared root have put one beside it, in ms since 1970: what they and others changed at
   * the same time was merged, or will be.
   */
  lateRoots?(owner: string): Promise<readonly number[]>;
  owners(): AsyncIterable<string>;
  /** Keeps the trees of an owner's roots from collection. A reader or writer pins first and then works on `roots`. */
  pin(owner: string): Promise<Pin>;
  /** Removes what no root needs. Two at once are harmless; one that was stopped can be started over. */
  collect(options: CollectOptions): Promise<CollectReport>;
  readonly keys: KeyRecords;
  /** Batches that were not flushed are dropped. */
  close(): Promise<void>;
}

/** Cells of one change, in the order in which they are read later. It ends with `commit` or is just dropped. */
export interface CellBatch {
  /** A promise is back-pressure: wait for it before the next one. A cell that is there already costs nothing. */
  put(hash: Uint8Array, bytes: Uint8Array): void | Promise<void>;
  /** Durable when resolved. More can be put afterwards. */
  flush(): Promise<void>;
  /** `flush` and `swapRoot` in one, cheaper than both. After a conflict the cells are kept. */
  commit(
    owner: string,
    expected: RootRecord | null,
    bytes: Uint8Array,
    hint?: SwapHint,
  ): Promise<RootRecord | "conflict">;
}

/** What whoever wrote a root knew of it; stores keep it if they can. */
export interface RootHint {
  /** Of all files of the owner, in all drives. */
  readonly usedBytes?: number | undefined;
}

export interface SwapHint extends RootHint {
  /** Roots of other writers whose content is in it. */
  readonly includes?: readonly RootRecord[] | undefined;
}

export interface RootRecord extends RootHint {
  /** Who wrote it. A store for one machine has one root for all its processes. */
  readonly writer: string;
  /** Another one after each swap. */
  readonly version: string;
  readonly bytes: Uint8Array;
}

export interface Pin {
  /** The roots that are kept. */
  readonly roots: readonly RootRecord[];
  /** More than once is harmless. */
  release(): void;
}

export interface CollectOptions {
  /** What was written or was part of a root less than this many ms ago stays. Longer than any upload and any pin. */
  readonly graceMs: number;
  /** Only counts. */
  readonly dryRun?: boolean;
}

export interface CollectReport {
  /** Cells that roots and pins need. */
  readonly live: number;
  /** Cells that were removed, or would be. */
  readonly removed: number;
  /** Their bytes. */
  readonly removedBytes: number;
  /** Of packs that were deleted, or copied because most of them was garbage. */
  readonly packs: number;
  /** Cells that are missing or damaged; what hangs on them only is not known, so that nothing is removed. */
  readonly missing: number;
}

/** Sealed keys of users, opaque to the store. */
export interface KeyRecords {
  /** By public key. */
  list(did: string): Promise<readonly KeyRecord[]>;
  /**
   * Durable when resolved. Replaces the record of the same public key.
   *
   * @param options `onlyFirst`: does nothing where the user has a key, decided in one step where processes share the store in
   * transactions or conditional puts. Otherwise two may find none at the same time, and both put theirs.
   */
  put(did: string, record: KeyRecord, options?: { readonly onlyFirst: boolean }): Promise<void>;
  /** Each once, in no order. */
  dids(): AsyncIterable<string>;
}

export interface KeyRecord {
  /** 64 hex digits. */
  readonly publicKey: string;
  readonly bytes: Uint8Array;
}
