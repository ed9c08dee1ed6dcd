// Rows of the journal: how an entry is stored and written, which indexes lead to it, and what is kept of it.

import { inodeInVersion } from "../core/identity.js";
import type { ChangeRecord } from "../core/ports/changes/change.js";
import type { EntryNote, JournalEntry, KeptState, NotUndoable } from "../core/ports/changes/journal.js";
import type { IdentifiedRecord, Kept, Planned } from "../core/ports/changes/journal-writer.js";
import type { OpenFile } from "../core/ports/open-file.js";
import { foldName } from "../path/grammar.js";
import { addTotals, decode, encode, type Indexed, indexKey, key, type Tables } from "./tables.js";

export interface EntryRow extends IdentifiedRecord {
  /** Why it cannot be undone; absent: the content needed was kept, or none is needed. */
  readonly reason?: NotUndoable;
  /** The content before the change has a row in `kept`; without that row it was given up. */
  readonly isKept?: true;
  readonly undoneBy?: string;
}

/** Where the content before a change is. */
export interface KeptRow {
  readonly in: "value" | "trash";
  /** Bytes; of a tree 0 until it was measured. */
  readonly size: number;
  readonly version?: string;
  /** Most of the quota by itself: kept for a day, and not counted. */
  readonly apart?: true;
  /** The content was purged on purpose rather than for lack of room. */
  readonly purged?: true;
}

/** An entry that was noted before its change. */
export interface PendingRow extends Omit<Planned, "kept"> {
  readonly id: string;
  /** Where the content from before the change is kept; a value follows its note. */
  readonly kept?: Kept["in"] | undefined;
  /** Why nothing is kept. */
  readonly reason?: NotUndoable | undefined;
}

/** The stored form of a change. @param other a reason why it cannot be undone, whatever was kept */
export function rowOf(
  record: IdentifiedRecord,
  mode: "metadata" | "on",
  kept: Kept | undefined,
  other?: NotUndoable,
): EntryRow {
  const reason = reasonOf(record, mode, kept) ?? other;
  const isKept = kept !== undefined && kept.in !== "nothing" && mode !== "metadata";
  if (reason === undefined && !isKept) return record;
  return Object.assign({}, record, reason === undefined ? {} : { reason }, isKept ? { isKept } : {});
}

function reasonOf(
  { action, kind, before, addition }: ChangeRecord,
  mode: "metadata" | "on",
  kept: Kept | undefined,
): NotUndoable | undefined {
  if (mode === "metadata") return "off";
  if (kept?.in === "nothing") return kept.reason;
  if (kind === "other") return "not_kept";
  const needsContent = action === "deleted" || (before !== null && addition === undefined);
  return needsContent && kept === undefined ? "not_kept" : undefined;
}

/** The entry as it is shown. @param kept its row, if it is still there */
export function entryOf({ isKept, reason, ...row }: EntryRow, kept: KeptRow | undefined): JournalEntry {
  const lost = isKept === true && kept === undefined ? ("pruned" as const) : undefined;
  const why = reason ?? lost;
  return { ...row, undoable: why === undefined, ...(why === undefined ? {} : { reason: why }) };
}

/** Key of a path in the index: folded, so that it finds every spelling; the reader compares the paths too. */
export const pathText = (segments: readonly string[]): string => foldName(segments.join("/"));

/** The indexes of an entry. */
export function* indexesOf({ path, from, fromRoot, actor, via, group }: ChangeRecord): Generator<[Indexed, string]> {
  yield ["p", pathText(path)];
  if (from !== undefined && fromRoot === undefined) yield ["p", pathText(from)];
  yield ["a", actor];
  yield ["v", via];
  if (group !== undefined) yield ["g", group];
}

/**
 * Why content in the trash cannot be restored, where others altered it or put something in its place.
 * @param state of what lies there now
 */
export function lossOf(
  entry: JournalEntry,
  { version }: KeptRow,
  state: KeptState | undefined,
): NotUndoable | undefined {
  if (state === undefined) return "pruned";
  if (entry.action !== "deleted") return version === undefined || version === state.version ? undefined : "altered";
  // A deleted file comes back with the bytes that a program has written to it since.
  const isSame = version === undefined || inodeInVersion(version) === inodeInVersion(state.version ?? "");
  return isSame && state.kind === entry.kind ? undefined : "altered";
}

export function fileOf(bytes: Buffer, { before }: JournalEntry): OpenFile {
  return {
    ...{ size: bytes.length, modified: before?.modified ?? 0 },
    read: (offset, length) => Buffer.from(bytes.subarray(offset, offset + length)),
    close() {},
  };
}

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

/** Replaces the note on an entry, if the entry is still there. */
export function noteOn({ entries }: Tables, id: string, note: EntryNote): void {
  const row = rowIn<EntryRow>(entries, id);
  if (row !== undefined) entries.putSync(key(id), encode(withNote(row, note)));
}

export const withNote = ({ undoneBy: _, ...rest }: EntryRow, note: EntryNote): EntryRow => ({ ...rest, ...note });

/** Removes the kept content of an entry, and with `isEntry` the entry too. */
export function removeOne(tables: Tables, id: string, isEntry: boolean): void {
  const { entries, index, kept, images } = tables;
  const [row, entry] = [rowIn<KeptRow>(kept, id), rowIn<EntryRow>(entries, id)];
  // The actor of an unreadable entry is unknown.
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
