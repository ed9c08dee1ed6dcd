// Topics of changes of files: one for each root of the host, one for each drive, whatever roots are on it.

import type { ChangeRecord } from "../core/ports/changes/change.js";
import type { RootFacts } from "../core/ports/operation.js";

/** Tree that a feed covers. A drive is one tree for all roots on it. */
export interface FeedPlace {
  readonly root: string;
  /** Present for drives. */
  readonly drive?: string | undefined;
  readonly owner?: string | undefined;
}

/** The drive behind a root, and the directory in it; `undefined`: there is no such root. */
export type DriveOf = (root: string) => Pick<RootFacts, "drive" | "subpath"> | undefined;

/** The topic of a change of a drive, and the change with paths of the drive. @returns `undefined`: it is no drive */
export function changeInDrive(
  record: ChangeRecord,
  placeOf: DriveOf,
): { readonly topic: string; readonly change: ChangeRecord } | undefined {
  const { root, scheme, driveOwner: owner } = record;
  const { drive, subpath = [] } = scheme === "dlfs" ? { drive: root } : (placeOf(root) ?? {});
  if (drive === undefined) return undefined;
  return { topic: topicOf({ root, drive, owner }), change: subpath.length === 0 ? record : inDrive(record, subpath) };
}

/** A change of a directory in a drive, with paths of the drive. */
const inDrive = (record: ChangeRecord, top: readonly string[]): ChangeRecord => ({
  ...record,
  path: [...top, ...record.path],
  ...(record.from === undefined || record.fromRoot !== undefined ? {} : { from: [...top, ...record.from] }),
});

/** Key in the log of events. */
export const topicOf = ({ root, drive, owner = "" }: FeedPlace): string =>
  drive === undefined ? `root ${root}` : `drive ${owner} ${drive}`;
