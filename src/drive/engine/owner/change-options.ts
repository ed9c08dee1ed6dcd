// What one change of a drive begins with, and what it notes.

import type { NotUndoable } from "../../../core/ports/changes/journal.js";
import type { Value } from "../../cad3/value.js";
import { createDrive, deleteDrive } from "../../dlfs/lifetime.js";
import { directoryOf } from "../../dlfs/node.js";
import type { CellScope } from "../cells.js";
import type { PutCell } from "../content/blob-writer.js";
import { loadIndex } from "../content/tree-read.js";
import type { DriveLimits } from "../drives.js";
import type { LogNote, LogTicket } from "../log/entry.js";

export interface ChangeOptions {
  readonly drive: string;
  /** Clock time in ms since the epoch. */
  readonly at: number;
  readonly scope: CellScope;
  readonly put: PutCell;
  readonly limits: DriveLimits;
  /** The value in the map of drives under this name; nil if none. */
  readonly previous: Value;
  /** Whether that value is the root of a deleted drive. */
  readonly isDeleted: boolean;
}

/** A noted change, with the roots before and after it. */
export interface Moment {
  readonly note: LogNote;
  readonly before: Value | undefined;
  readonly after: Value | undefined;
  readonly reason: NotUndoable | undefined;
  readonly ticket: LogTicket;
}

/** A tree after one step of a change. */
export interface Edited<T> {
  readonly root: Value;
  readonly result: T;
  /** Bytes of files after the step minus before; NaN: not known. */
  readonly added: number;
}

type Ground = Pick<ChangeOptions, "scope" | "at">;

/** The root of a drive that does not exist. @param deleted root of a deleted drive; `undefined`: there was none */
export async function createdRoot(deleted: Value | undefined, { scope, at }: Ground): Promise<Value> {
  if (deleted === undefined) return createDrive(null, { at });
  await loadRoot(deleted, scope);
  return scope.run(() => createDrive(deleted, { at }));
}

export async function deletedRoot(root: Value, { scope, at }: Ground): Promise<Value> {
  await loadRoot(root, scope);
  return scope.run(() => deleteDrive(root, { at }));
}

/** Loads everything directly below a root, for traversal. */
async function loadRoot(root: Value, scope: CellScope): Promise<void> {
  const { entries } = await scope.run(() => directoryOf(root));
  await loadIndex(entries, scope);
}
