// Kept content: as a file, and what has become of it in the trash, where others can alter it or put something in its place.

import { inodeInVersion } from "../core/identity.js";
import type { JournalEntry, KeptState, NotUndoable } from "../core/ports/changes/journal.js";
import type { OpenFile } from "../core/ports/open-file.js";
import type { KeptRow } from "./rows.js";

/** @param state of what lies there now */
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
