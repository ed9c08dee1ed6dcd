// Tables (LMDB) of the embedded store, with the encodings of their rows.

import { createHash } from "node:crypto";
import { join } from "node:path";
import { adapterError } from "../../core/errors/errors.js";
import { openDatabase, type SharedDatabase, type Table } from "../../database/shared-database.js";
import { mayRun, ownToken } from "../../process/identity.js";
import type { FormatChange, KeyRecord, KeyRecords, RootRecord } from "./cell-store.js";
import { checkKeyRecord, NEWEST_FORMAT, storeUnavailable } from "./checks.js";
import { checkIndex, markOpen, TABLE_NAMES } from "./embedded/index-state.js";
import { keyRow, keyRowParts, MAX_KEYS } from "./key-row.js";

/** The tables of an embedded store. Numbers are big-endian, so that rows sort by time and number. */
export interface Tables {
  readonly env: SharedDatabase;
  /** hash → time ‖ encoding */
  readonly cells: Table;
  /** hash → time ‖ place */
  readonly chunks: Table;
  /** account key → version ‖ encoding */
  readonly roots: Table;
  /** time ‖ version → encoding of a root that was replaced at that time */
  readonly retired: Table;
  /** SHA-256 of DID ‖ public key → DID and record */
  readonly keys: Table;
  /** number → state */
  readonly packs: Table;
  readonly meta: Table;
}

const FORMAT = Buffer.from("format");
const TIME_BYTES = 6;
const LOG = Buffer.from("log ");

/** @throws STORE_UNAVAILABLE if the store has a newer format version, STORE_DAMAGED if its structure is damaged */
export function openTables(folder: string, flush: boolean): Tables {
  const index = join(folder, "index");
  const tables = openDatabase(index, TABLE_NAMES, { flush, check: checkIndex });
  const { env, meta } = tables;
  const [close, closed] = [env.close, markOpen(index)];
  env.close = () => close().then(closed);
  try {
    // Makes this process one of the readers, by which an upgrade knows who has the store.
    meta.get(FORMAT);
    const version = env.transactionSync(() => {
      if (meta.get(FORMAT) === undefined) setFormat(meta, NEWEST_FORMAT);
      return formatOf(meta);
    });
    if (version > NEWEST_FORMAT)
      throw storeUnavailable(`its format ${version} is newer than ${NEWEST_FORMAT}, which this version knows`);
    return tables;
  } catch (error) {
    void env.close();
    throw error;
  }
}

export const formatOf = (meta: Table): number => Number(meta.get(FORMAT));

/** Only inside a transaction. */
const setFormat = (meta: Table, version: number): void => void meta.putSync(FORMAT, Buffer.from(String(version)));

/** The next number of a kind; only inside a transaction. */
export function nextNumber(meta: Table, kind: "packs" | "versions"): number {
  const key = Buffer.from(kind);
  const next = uint(meta.get(key) ?? Buffer.alloc(TIME_BYTES)) + 1;
  meta.putSync(key, uintBytes(next));
  return next;
}

export const uintBytes = (number: number): Buffer => {
  const bytes = Buffer.allocUnsafe(TIME_BYTES);
  bytes.writeUIntBE(Math.max(0, Math.floor(number)), 0, TIME_BYTES);
  return bytes;
};
export const uint = (bytes: Buffer): number => bytes.readUIntBE(0, TIME_BYTES);

/** A time or version followed by its data. */
export const stamped = (at: number, bytes: Uint8Array): Buffer => Buffer.concat([uintBytes(at), bytes]);
export const unstamped = (row: Buffer): Buffer => row.subarray(TIME_BYTES);

export interface Place {
  readonly pack: number;
  readonly offset: number;
  readonly length: number;
}

export function placeRow(at: number, { pack, offset, length }: Place): Buffer {
  const row = Buffer.allocUnsafe(TIME_BYTES + 10);
  row.writeUIntBE(Math.floor(at), 0, TIME_BYTES);
  row.writeUInt32BE(pack, TIME_BYTES);
  row.writeUInt32BE(offset, TIME_BYTES + 4);
  row.writeUInt16BE(length, TIME_BYTES + 8);
  return row;
}

export const placeOf = (row: Buffer): Place => ({
  pack: row.readUInt32BE(TIME_BYTES),
  offset: row.readUInt32BE(TIME_BYTES + 4),
  length: row.readUInt16BE(TIME_BYTES + 8),
});

export interface PackState {
  readonly isSealed: boolean;
  /** Committed bytes, header and cells. */
  readonly length: number;
  /** Token of the process that appends; empty if there is none. */
  readonly writer: string;
}

export const packRow = ({ isSealed, length, writer }: PackState): Buffer =>
  Buffer.concat([Buffer.from([isSealed ? 1 : 0]), uintBytes(length), Buffer.from(writer)]);

export const packState = (row: Buffer): PackState => ({
  isSealed: row[0] === 1,
  length: uint(row.subarray(1)),
  writer: row.toString("utf8", 1 + TIME_BYTES),
});

export const rootRecord = (row: Buffer): RootRecord => ({ version: String(uint(row)), bytes: unstamped(row) });

/** Key of the row that holds the size of the files of a root. */
export const usedKey = (owner: Buffer): Buffer => Buffer.concat([Buffer.from("used"), owner]);
export const usedRow = (version: number, usedBytes: number): Buffer =>
  Buffer.concat([uintBytes(version), uintBytes(usedBytes)]);

/** `undefined` if the size was recorded for another root. @param root its row */
export const usedBytesOf = (row: Buffer | undefined, root: Buffer): number | undefined =>
  row === undefined || uint(row) !== uint(root) ? undefined : uint(row.subarray(TIME_BYTES));

export const logKey = (owner: Buffer): Buffer => Buffer.concat([LOG, owner]);

export function* allLogs({ meta }: Pick<Tables, "meta">): Generator<Uint8Array> {
  for (const { key, value } of rows(meta)) if (key.length === LOG.length + 32 && key.indexOf(LOG) === 0) yield value;
}

/** Rows after a key, at most `limit`. */
export function page(table: Table, after: Buffer | undefined, limit: number): { key: Buffer; value: Buffer }[] {
  const start = after === undefined ? {} : { start: after, exclusiveStart: true };
  return [...table.getRange({ ...start, limit })];
}

const PAGE_ROWS = 512;

/** All rows; no read snapshot is held between pages. */
export function* rows(table: Table): Generator<{ key: Buffer; value: Buffer }> {
  for (let after: Buffer | undefined; ; ) {
    const found = page(table, after, PAGE_ROWS);
    yield* found;
    after = found.at(-1)?.key;
    if (found.length < PAGE_ROWS) return;
  }
}

/** @throws BUSY if another process has a store that would be raised */
export function upgradeTables(tables: Tables): FormatChange {
  return tables.env.transactionSync(() => {
    const from = formatOf(tables.meta);
    if (from < NEWEST_FORMAT && isUsedByOthers(tables))
      throw adapterError(
        "BUSY",
        "Another process has the store of the drives open. Stop all venues that use it, then upgrade it",
      );
    setFormat(tables.meta, NEWEST_FORMAT);
    return { from, to: NEWEST_FORMAT };
  });
}

/** Whether another process has the tables open. Those of other containers are known only while they write packs. */
function isUsedByOthers({ env, packs }: Tables): boolean {
  env.readerCheck();
  const readers = Array.from(env.readerList().matchAll(/^ *(\d+) /gm), ([, pid]) => Number(pid));
  const own = ownToken();
  return (
    readers.some((pid) => pid !== process.pid) ||
    [...rows(packs)].some(({ value }) => {
      const { isSealed, writer } = packState(value);
      return !isSealed && writer !== own && mayRun(writer);
    })
  );
}

const HASH_BYTES = 32;
const AFTER_ALL_KEYS = Buffer.alloc(HASH_BYTES + 1, 0xff);

/** Runs a job in a transaction; durable when resolved. */
export type Commit = <T>(job: () => T) => Promise<T>;

export function createEmbeddedKeys({ env, keys }: Tables, commit: Commit): KeyRecords {
  return {
    async list(did) {
      env.resetReadTxn();
      const found = [...keys.getRange({ ...rangeOf(did), limit: MAX_KEYS })];
      return found.map(({ key, value }): KeyRecord => {
        return { publicKey: key.toString("hex", HASH_BYTES), bytes: keyRowParts(value).bytes };
      });
    },
    async put(did, { publicKey, bytes }, options) {
      checkKeyRecord(did, publicKey, bytes);
      const range = rangeOf(did);
      const key = Buffer.concat([range.start, Buffer.from(publicKey, "hex")]);
      const hasOne = () => options?.onlyFirst === true && [...keys.getKeys({ ...range, limit: 1 })].length > 0;
      await commit(() => void (hasOne() || keys.putSync(key, keyRow(did, bytes))));
    },
    async *dids() {
      let before: string | undefined;
      for (const { value } of rows(keys)) {
        const { did } = keyRowParts(value);
        // Records of one user are adjacent.
        if (did !== before) yield did;
        before = did;
      }
    },
  };
}

/** The keys of a user's rows. */
function rangeOf(did: string): { readonly start: Buffer; readonly end: Buffer } {
  const start = createHash("sha256").update(did).digest();
  return { start, end: Buffer.concat([start, AFTER_ALL_KEYS]) };
}
