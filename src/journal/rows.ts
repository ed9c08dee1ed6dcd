// Rows of the journal: how an entry is stored, which indexes lead to it, and what is kept of it.

import { inodeInVersion } from "../core/identity.js";
import type { ChangeRecord } from "../core/ports/changes/change.js";
import type { JournalEntry, KeptState, NotUndoable } from "../core/ports/changes/journal.js";
import type { IdentifiedRecord, Kept, Planned } from "../core/ports/changes/journal-writer.js";
import type { OpenFile } from "../core/ports/open-file.js";
import type { Indexed } from "./tables.js";

/** An entry as it is stored. */
export interface EntryRow extends IdentifiedRecord {
  /** Why it cannot be undone; absent: what is needed was kept, or nothing is. */
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
  /** It was given up on purpose rather than for lack of room. */
  readonly purged?: true;
}

/** An entry that was noted before its change. */
export interface PendingRow extends Omit<Planned, "kept"> {
  readonly id: string;
  /** Where the content is that was there before; a value follows its note. */
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

export const pathText = (segments: readonly string[]): string => segments.join("/");

/** The indexes of an entry. */
export function* indexesOf({ path, from, fromRoot, actor, via, group }: ChangeRecord): Generator<[Indexed, string]> {
  yield ["p", pathText(path)];
  if (from !== undefined && fromRoot === undefined) yield ["p", pathText(from)];
  yield ["a", actor];
  yield ["v", via];
  if (group !== undefined) yield ["g", group];
}

/**
 * What has become of content in the trash, where others can alter it or put something in its place.
 * @param state of what lies there now
 */
export function lossOf(
  entry: JournalEntry,
  { version }: KeptRow,
  state: KeptState | undefined,
): NotUndoable | undefined {
  if (state === undefined) return "pruned";
  if (entry.action !== "deleted") return version === undefined || version === state.version ? undefined : "altered";
  // What a program has written to a deleted file since comes back with it.
  const isSame = version === undefined || inodeInVersion(version) === inodeInVersion(state.version ?? "");
  return isSame && state.kind === entry.kind ? undefined : "altered";
}

/** A kept value as an open file. */
export function fileOf(bytes: Buffer, { before }: JournalEntry): OpenFile {
  return {
    ...{ size: bytes.length, modified: before?.modified ?? 0 },
    read: (offset, length) => Buffer.from(bytes.subarray(offset, offset + length)),
    close() {},
  };
}
