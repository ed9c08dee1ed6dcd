// Writes rows of the journal, with the indexes and totals that belong to them. Only inside a transaction.

import type { EntryNote } from "../core/ports/changes/journal.js";
import type { Kept } from "../core/ports/changes/journal-writer.js";
import { type EntryRow, indexesOf, type KeptRow } from "./rows.js";
import { addTotals, decode, encode, indexKey, key, type Tables } from "./tables.js";

/** Larger values have pages of their own. */
const SHARED_BYTES = 2_048;
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
export function putKept({ kept, index }: Tables, { id, actor }: EntryRow, row: KeptRow): void {
  kept.putSync(key(id), encode(row));
  index.putSync(contentKey(row, id, actor), NOTHING);
}

const contentKey = ({ apart }: KeptRow, id: string, actor: string): Buffer =>
  apart === true ? indexKey("k", "", id) : indexKey("o", actor, id);

/** Puts the size of kept content once it is known. */
export function resizeKept(tables: Tables, { id, actor }: EntryRow, old: KeptRow, next: KeptRow): void {
  tables.kept.putSync(key(id), encode(next));
  addTotals(tables, { entries: 0, bytes: countedBytes(next) - countedBytes(old) }, actor);
}

/** Replaces what is noted on an entry, if it is still there. */
export function noteOn({ entries }: Tables, id: string, note: EntryNote): void {
  const row = rowIn<EntryRow>(entries, id);
  if (row !== undefined) entries.putSync(key(id), encode(withNote(row, note)));
}

export const withNote = ({ undoneBy: _, ...rest }: EntryRow, note: EntryNote): EntryRow => ({ ...rest, ...note });

/** Removes what is kept of an entry, and with `isEntry` the entry too. */
export function removeOne(tables: Tables, id: string, isEntry: boolean): void {
  const { entries, index, kept, images } = tables;
  const [row, entry] = [rowIn<KeptRow>(kept, id), rowIn<EntryRow>(entries, id)];
  // Of an entry that cannot be read nobody knows whose it is.
  const actor = entry?.actor ?? "";
  if (row !== undefined) index.removeSync(contentKey(row, id, actor));
  kept.removeSync(key(id));
  removeImage(images, id);
  const isGone = isEntry && entries.doesExist(key(id));
  if (isGone && entry !== undefined) {
    for (const [by, text] of indexesOf(entry)) index.removeSync(indexKey(by, text, id));
  }
  if (isGone) entries.removeSync(key(id));
  const bytes = countedBytes(row);
  if (bytes > 0 || isGone) addTotals(tables, { entries: isGone ? -1 : 0, bytes: -bytes }, actor);
}

/** On a page with others it would stay until that is written anew: so it is overwritten first. */
function removeImage(images: Tables["images"], id: string): void {
  const length = images.get(key(id))?.length ?? 0;
  if (length > 0 && length <= SHARED_BYTES) images.putSync(key(id), Buffer.alloc(length));
  images.removeSync(key(id));
}

function rowIn<T>(table: Tables["entries"], id: string): T | undefined {
  const found = table.get(key(id));
  const row = found === undefined ? "damaged" : decode<T>(found);
  return row === "damaged" ? undefined : row;
}
