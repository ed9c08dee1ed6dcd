// Reports the committed changes of a drive. The work of a change may run several times; what its last run noted counts.

import type { RelPath } from "../../core/call/path.js";
import type { Access } from "../../core/ports/backend.js";
import type { EntryChange, EntryState } from "../../core/ports/changes/change.js";
import type { NotUndoable } from "../../core/ports/changes/journal.js";
import type { DriveChange, DriveMoment, DriveStat, LogTicket } from "../../drive/engine/engine.js";

/** A change that was noted, with the steps that it lies between. */
export interface Noted {
  readonly change: EntryChange;
  readonly since: DriveMoment;
  readonly until: DriveMoment;
  /** Why nothing of what was there is kept. */
  reason?: NotUndoable | undefined;
  /** Absent where nobody keeps records of the call. */
  ticket?: LogTicket | undefined;
}

/** What {@link withReports} changes: a drive, or a tree within a change of it, whose reports are kept until that is made. */
export interface Reporting {
  change<R>(work: (tree: DriveChange) => Promise<R>): Promise<R>;
  readonly keepReport?: (access: Access, noted: Noted) => void;
}

export type Note = (change: EntryChange) => Noted;

/** Changes a drive, logs the changes that the last run of `work` noted, and tells of them once they are committed. */
export async function withReports<T>(
  drive: Reporting,
  access: Access,
  work: (tree: DriveChange, note: Note) => Promise<T>,
): Promise<T> {
  const all: Noted[] = [];
  const done = await drive.change(async (tree) => {
    all.length = 0;
    let since = tree.moment();
    const result = await work(tree, (change) => {
      const noted: Noted = { change, since, until: tree.moment() };
      since = noted.until;
      all.push(noted);
      return noted;
    });
    if (drive.keepReport === undefined) {
      if (all.length > 1) access.beginGroup?.();
      for (const noted of all) addNote(tree, access, noted);
    }
    return result;
  });
  access.scope.settle();
  for (const noted of all) {
    if (drive.keepReport === undefined) report(access, noted);
    else drive.keepReport(access, noted);
  }
  return done;
}

/** Adds a change to the log of the swap that makes it. `Object.assign`: two spreads of objects take ten times as long. */
export function addNote(tree: DriveChange, { origin }: Access, noted: Noted): void {
  const { change, since, until, reason } = noted;
  noted.ticket = origin && tree.note(Object.assign({}, origin, change), since, until, reason);
}

export function report(access: Access, { change, ticket }: Noted): void {
  const id = ticket?.id;
  access.changed?.(id === undefined ? change : { ...change, id });
}

export function stateOf({ size: bytes, modified, type }: DriveStat, sha256?: string): EntryState {
  const size = type === "file" ? bytes : 0;
  return sha256 === undefined ? { size, modified } : { size, modified, sha256 };
}

/** The state of an entry that was written now. */
export const newState = (size: number, sha256?: string): EntryState =>
  stateOf({ type: "file", size, modified: Date.now() }, sha256);

/** Directories made for the path's segments from index `from` to `to` (exclusive). */
export function madeDirectories(
  { segments }: RelPath,
  { from, to }: { from: number; to: number },
): Pick<EntryChange, "made"> {
  const made = [];
  for (let index = from; index < to; index++) made.push(segments.slice(0, index + 1));
  return made.length === 0 ? {} : { made };
}
