// Tables (LMDB) of the journal of one root, with the encoding of their rows.

import { createHash, randomBytes } from "node:crypto";
import { crc32 } from "node:zlib";
import { ABORT } from "lmdb";
import { openDatabase, type SharedDatabase, type Table } from "../database/shared-database.js";

export interface Tables {
  readonly env: SharedDatabase;
  /** id → checksum ‖ entry as JSON */
  readonly entries: Table;
  /** letter ‖ text ‖ 0 ‖ id → nothing; see {@link indexKey} */
  readonly index: Table;
  /** id → where and how large the content before the change is, as JSON */
  readonly kept: Table;
  /** id → content before the change */
  readonly images: Table;
  readonly meta: Table;
}

const TABLE_NAMES = ["meta", "entries", "index", "kept", "images"] as const;
const FORMAT = Buffer.from("format");
const TOTALS = Buffer.from("totals");
/** Begins the keys of the totals of single actors. */
const SHARE = "share ";
const TRASH_KEY = Buffer.from("trash key");
const FORMAT_VERSION = 1;
const CHECK_BYTES = 4;
/** Longest text in an index key as it is, in bytes. LMDB allows keys of 1,978 bytes. */
const LONGEST_TEXT = 1_500;
/** Between the start of a longer text and its hash. */
const CUT = "\u0001";
const AFTER_CUT = "\u0002";

/**
 * Entries that an index leads to: by path, actor, via or group; `k`: those whose content is kept apart from the quota; `o`:
 * those of an actor whose content counts.
 */
export type Indexed = "p" | "a" | "v" | "g" | "k" | "o";

/**
 * @param path of their folder
 * @param options `checksPages`: the structure of the file is checked before LMDB relies on it
 * @throws Error if it cannot be opened, is damaged, or was written by a newer version
 */
export function openTables(path: string, { checksPages = false } = {}): Tables {
  // A power failure may lose the newest entries; the changes themselves do not depend on them.
  const tables = openDatabase(path, TABLE_NAMES, { flush: false, ...(checksPages && { check: TABLE_NAMES }) });
  const { env, meta } = tables;
  try {
    const version = env.transactionSync(() => {
      const present = meta.get(FORMAT);
      if (present === undefined) meta.putSync(FORMAT, Buffer.from(String(FORMAT_VERSION)));
      return Number(present ?? FORMAT_VERSION);
    });
    if (version !== FORMAT_VERSION) throw new Error(`The journal has format ${version}, newer than ${FORMAT_VERSION}`);
    return tables;
  } catch (error) {
    void env.close();
    throw error;
  }
}

/**
 * Prefix of the names that this journal gives to items in the trash of its root: a secret, so that items in a foreign
 * repository never count.
 * @param known the key, where the tables are made anew
 */
export function trashKeyOf({ env, meta }: Tables, known?: string): string {
  return env.transactionSync(() => {
    const present = meta.get(TRASH_KEY);
    if (present !== undefined) return present.toString("latin1");
    const made = known ?? randomBytes(16).toString("hex");
    meta.putSync(TRASH_KEY, Buffer.from(made));
    return made;
  });
}

/** Makes changes that do not stay. */
export function giveUp(env: Tables["env"], changes: () => void): void {
  env.transactionSync(() => {
    changes();
    return ABORT;
  });
}

/** Totals over all entries, or those of one actor. */
export interface Totals {
  readonly entries: number;
  /** Bytes of kept content, without what is kept apart. */
  readonly bytes: number;
}

export const totalsOf = ({ meta }: Tables): Totals => decodeTotals(meta.get(TOTALS));

export function sharesOf({ meta }: Tables): Map<string, Totals> {
  const start = Buffer.from(SHARE);
  const rows = meta.getRange({ start, end: Buffer.concat([start, Buffer.of(0xff)]) });
  return new Map([...rows].map(({ key, value }) => [key.toString().slice(SHARE.length), decodeTotals(value)]));
}

/** Adds to the totals of all and of an actor. Only inside a transaction. */
export function addTotals({ meta }: Tables, { entries, bytes }: Totals, actor: string): void {
  for (const name of [TOTALS, Buffer.from(SHARE + bounded(actor))]) {
    const before = decodeTotals(meta.get(name));
    const row = Buffer.alloc(16);
    row.writeDoubleLE(Math.max(0, before.entries + entries), 0);
    row.writeDoubleLE(Math.max(0, before.bytes + bytes), 8);
    if (name !== TOTALS && before.entries + entries <= 0) meta.removeSync(name);
    else meta.putSync(name, row);
  }
}

const decodeTotals = (row: Buffer | undefined): Totals =>
  row === undefined ? { entries: 0, bytes: 0 } : { entries: row.readDoubleLE(0), bytes: row.readDoubleLE(8) };

export const key = (id: string): Buffer => Buffer.from(id, "latin1");

/** Key of one entry in an index; without an id the start of all entries of the text. */
export const indexKey = (by: Indexed, text: string, id = ""): Buffer => Buffer.from(`${by}${bounded(text)}\0${id}`);

/** Keys of everything below a path lie between these; where it is very long, those of other paths may too. */
export function keysBelow(path: string): { readonly start: Buffer; readonly end: Buffer } {
  const [start, end] = isLong(path, 1) ? [startOf(path) + CUT, startOf(path) + AFTER_CUT] : [`${path}/`, `${path}0`];
  return { start: Buffer.from(`p${start}`), end: Buffer.from(`p${end}`) };
}

export const idIn = (indexRow: Buffer): string => indexRow.toString("latin1", indexRow.lastIndexOf(0) + 1);

const bounded = (text: string): string =>
  isLong(text) ? `${startOf(text)}${CUT}${createHash("sha256").update(text).digest("hex")}` : text;

const isLong = (text: string, more = 0): boolean => Buffer.byteLength(text) + more > LONGEST_TEXT;

const startOf = (text: string): string => Buffer.from(text).toString("utf8", 0, LONGEST_TEXT);

/** A value as JSON behind its checksum. */
export function encode(value: unknown): Buffer {
  const json = Buffer.from(JSON.stringify(value));
  const row = Buffer.allocUnsafe(CHECK_BYTES + json.length);
  row.writeUInt32LE(crc32(json), 0);
  json.copy(row, CHECK_BYTES);
  return row;
}

/** `damaged`: it is not what was written. */
export function decode<T>(row: Buffer): T | "damaged" {
  const json = row.subarray(CHECK_BYTES);
  if (row.length < CHECK_BYTES || row.readUInt32LE(0) !== crc32(json)) return "damaged";
  return JSON.parse(json.toString()) as T;
}
