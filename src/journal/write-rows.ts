// Writes rows of the journal, with the indexes and totals that belong to them. Only inside a transaction.

import type { EntryNote } from "../core/ports/changes/journal.js";
import type { Kept } from "../core/ports/changes/journal-writer.js";
import { type EntryRow, indexesOf, type KeptRow } from "./rows.js";
import { addTotals, decode, encode, indexKey, key, type Tables } from "./tables.js";

const NOTHING = Buffer.alloc(0);

/** Bytes that count against the quota. */
export const countedBytes = (kept: KeptRow | undefined): number =>
  kept === undefined || kept.apart === true ? 0 : kept.size;

export function keptRowOf(kept: Kept | undefined, apart: boolean): KeptRow | undefined {
  if (kept === undefined || kept.in === "nothing") return undefined;
  const flag = apart ? { apart } : {};
  if (kept.in === "value") return { in: "value", size: kept.bytes.length, ...flag };
  return { in: "trash", size: kept.size, ...(kept.version === undefined ? {} : { version: kept.version }), ...flag };
}

/** Puts an entry, and lets its indexes lead to it. */
export function putEntry({ entries, index }: Tables, row: EntryRow): void {
  entries.putSync(key(row.id), encode(row));
  for (const [by, text] of indexesOf(row)) index.putSync(indexKey(by, text, row.id), NOTHING);
}

/** Puts where the content of an entry is. */
export function putKept({ kept, index }: Tables, id: string, row: KeptRow): void {
  kept.putSync(key(id), encode(row));
  if (row.apart === true) index.putSync(apartKey(id), NOTHING);
}

const apartKey = (id: string): Buffer => indexKey("k", "", id);

/** Replaces what is noted on an entry, if it is still there. */
export function noteOn({ entries }: Tables, id: string, note: EntryNote): void {
  const found = entries.get(key(id));
  const row = found === undefined ? "damaged" : decode<EntryRow>(found);
  if (row !== "damaged") entries.putSync(key(id), encode(withNote(row, note)));
}

export const withNote = ({ undoneBy: _, ...rest }: EntryRow, note: EntryNote): EntryRow => ({ ...rest, ...note });

/** Removes what is kept of an entry, and with `isEntry` the entry too. */
export function removeOne(tables: Tables, id: string, isEntry: boolean): void {
  const { entries, index, kept, images } = tables;
  const old = kept.get(key(id));
  const row = old === undefined ? "damaged" : decode<KeptRow>(old);
  const bytes = row === "damaged" ? 0 : -countedBytes(row);
  kept.removeSync(key(id));
  if (row !== "damaged" && row.apart === true) index.removeSync(apartKey(id));
  images.removeSync(key(id));
  const entry = isEntry ? entries.get(key(id)) : undefined;
  if (entry !== undefined) {
    const decoded = decode<EntryRow>(entry);
    if (decoded !== "damaged") {
      for (const [by, text] of indexesOf(decoded)) index.removeSync(indexKey(by, text, id));
    }
    entries.removeSync(key(id));
  }
  if (bytes !== 0 || entry !== undefined) addTotals(tables, { entries: entry === undefined ? 0 : -1, bytes });
}
