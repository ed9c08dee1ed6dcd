// Reports the committed changes of a drive. The work of a change may run several times; what its last run noted counts.

import type { RelPath } from "../../core/call/path.js";
import type { Access } from "../../core/ports/backend.js";
import type { EntryChange, EntryState } from "../../core/ports/changes/change.js";
import type { DriveChange, DriveStat } from "../../drive/engine/engine.js";

/** What {@link reported} changes: a drive, or a tree within a change of it, whose reports are kept until that is made. */
export interface Reporting {
  change<R>(work: (tree: DriveChange) => Promise<R>): Promise<R>;
  readonly keepReport?: (access: Access, change: EntryChange) => void;
}

/** Changes a drive, then tells of the changes that the last run of `work` noted. */
export async function reported<T>(
  drive: Reporting,
  access: Access,
  work: (tree: DriveChange, note: (change: EntryChange) => void) => Promise<T>,
): Promise<T> {
  const noted: EntryChange[] = [];
  const done = await drive.change((tree) => {
    noted.length = 0;
    return work(tree, (change) => {
      noted.push(change);
    });
  });
  if (noted.length > 1) access.beginGroup?.();
  for (const change of noted) {
    if (drive.keepReport === undefined) access.changed?.(change);
    else drive.keepReport(access, change);
  }
  return done;
}

export const stateOf = ({ size, modified, type }: DriveStat, sha256?: string): EntryState => ({
  ...{ size: type === "file" ? size : 0, modified },
  ...(sha256 === undefined ? {} : { sha256 }),
});

/** The state of an entry that was written now. */
export const newState = (size: number, sha256?: string): EntryState =>
  stateOf({ type: "file", size, modified: Date.now() }, sha256);

/** Directories made for the path's segments from index `from` to `to` (exclusive). */
export function madeFor({ segments }: RelPath, { from, to }: { from: number; to: number }): Pick<EntryChange, "made"> {
  const made = [];
  for (let index = from; index < to; index++) made.push(segments.slice(0, index + 1));
  return made.length === 0 ? {} : { made };
}
