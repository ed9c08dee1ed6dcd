// Deletion and creation of drives, in a form that merges like any other change.

import type { IndexKey } from "../cad3/maps/index-key.js";
import { type CadIndex, index } from "../cad3/maps/index-map.js";
import type { Value } from "../cad3/value.js";
import { driveError } from "../error.js";
import { DELETED_MARK } from "./name.js";
import {
  type Directory,
  dir,
  directoryNode,
  directoryOf,
  laterTime,
  type Node,
  tombstone,
  type Utime,
  viewOf,
} from "./node.js";
import { checkStamp } from "./tree-path.js";

/** The time of a deletion or creation. */
export interface DriveMoment {
  /** Current time of the clock. */
  readonly at: Utime;
}

/**
 * Marks a drive as deleted. The mark merges like every other change: a later change elsewhere restores the drive with
 * that change alone, an earlier one stays hidden.
 *
 * @param root of the drive
 * @throws NOT_FOUND if it is already deleted; FUTURE_TIME, BAD_FORMAT, MISSING_CELL
 */
export function deleteDrive(root: Value, { at }: DriveMoment): Node {
  const directory = directoryOf(root);
  if (isMarked(directory)) throw driveError("NOT_FOUND", "The drive is deleted already");
  const stamp = stampOfAll(directory, at);
  return directoryNode(buryEntries(directory, stamp).with(DELETED_MARK, tombstone(stamp)), stamp);
}

/**
 * The root of a new drive, or of one recreated under the name of a deleted drive.
 *
 * @param previous root under that name; null if none
 * @throws EXISTS if the previous drive is not deleted; FUTURE_TIME, BAD_FORMAT, MISSING_CELL
 */
export function createDrive(previous: Value, { at }: DriveMoment): Node {
  if (previous === null) return dir([], at);
  const directory = directoryOf(previous);
  if (!isMarked(directory)) throw driveError("EXISTS", "The drive exists already");
  const stamp = stampOfAll(directory, at);
  return directoryNode(buryEntries(directory, stamp), stamp);
}

/** Whether a root is that of a deleted drive, with no later changes in it. @throws BAD_FORMAT, MISSING_CELL */
export const isDeletedDrive = (root: Value): boolean => isMarked(directoryOf(root));

function isMarked({ entries, utime }: Directory): boolean {
  const value = entries.get(DELETED_MARK);
  const mark = value === undefined ? undefined : viewOf(value);
  return mark?.kind === "tombstone" && mark.utime >= utime;
}

/** A time later than the root and all its direct entries. */
function stampOfAll({ entries, utime }: Directory, at: Utime): bigint {
  let latest = utime;
  for (const [, node] of entries) latest = laterTime(latest, viewOf(node).utime);
  return checkStamp(laterTime(BigInt(at), latest + 1n));
}

/**
 * The entries with every live one replaced by a tombstone, so that entries merged in from before the deletion are
 * deleted too.
 */
function buryEntries({ entries }: Directory, stamp: bigint): CadIndex {
  const grave = tombstone(stamp);
  return index(
    Array.from(entries, ([key, node]): [IndexKey, Value] => [key, viewOf(node).kind === "tombstone" ? node : grave]),
  );
}
