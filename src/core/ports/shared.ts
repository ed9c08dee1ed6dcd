// Port of the state that the instances of one venue share. Absent: the venue is one process, and each part keeps its own.

/** Short hashes of an instance's own configuration, comparable among instances of one venue. */
export interface InstanceDigest {
  readonly tokens: string;
  readonly grants: string;
  readonly roots: string;
}

/** A process that serves the venue. */
export interface Instance {
  /** 1 to 65535; not given again within a day. */
  readonly number: number;
  /** Base URL by which its peers reach it. Absent: it does not listen yet. */
  readonly advertise?: string | undefined;
  readonly name: string;
  readonly version: string;
  readonly digest: InstanceDigest;
  /** Heard of within 10 s by the engine's clock, and not stopped. */
  readonly live: boolean;
}

/** One statement with `$1` parameters; without any, several. JSON parameters are values, not texts; `bigint` columns come as strings. */
export type SharedQuery = <Row extends object = Readonly<Record<string, unknown>>>(
  text: string,
  values?: readonly unknown[],
) => Promise<readonly Row[]>;

/** Seals what must not be read or exchanged in the engine, under a key of the venue's seed for one table. */
export interface Seal {
  /** @param id of the row, which the sealed bytes belong to */
  seal(id: string, bytes: Uint8Array): Buffer;
  /** @returns `undefined`: not sealed for this row of this table by this venue, or changed */
  open(id: string, sealed: Uint8Array): Buffer | undefined;
}

export interface SharedHandlers {
  /** A peer is not live any more; told once, by every instance that sees it. */
  gone(peer: Instance): void;
  /** Notifications may have been missed: the connection that hears them is new. */
  gap(): void;
}

export interface Shared {
  /** This instance. Read its number when it is used: after days of suspension it may have another. */
  readonly self: Instance;
  /** All others of the last day, live or not, as of the last tick: at most a second old while the engine is there. */
  peers(): readonly Instance[];
  /**
   * Runs a statement; it ends after 2 s, the wait for a connection included.
   * @throws SHARED_STATE_UNAVAILABLE: the engine is not reached, or takes no writes. The statement may have had its effect only where the
   * connection broke after it was sent
   */
  readonly query: SharedQuery;
  /** Runs statements in one transaction, 2 s each. @throws as {@link query}; whatever `work` throws rolls it back */
  transaction<Result>(work: (query: SharedQuery) => Promise<Result>): Promise<Result>;
  sealed(table: string): Seal;
  /** 32 bytes that all instances of the venue derive for a use, and nobody else: for MACs. */
  secret(use: string): Buffer;
  /** MACs by which rows are found whose engine must not learn what they are about. */
  mac(use: string): (text: string) => string;
  /** Sends to all instances, this one too; the payload is at most 7,900 bytes. A notification may be lost: see `gap`. */
  notify(kind: string, payload: string): Promise<void>;
  /** Hears what others notified, and itself did. @returns stops it */
  hear(kind: string, heard: (payload: string, from: number) => void): () => void;
  on<Name extends keyof SharedHandlers>(event: Name, handler: SharedHandlers[Name]): () => void;
}
