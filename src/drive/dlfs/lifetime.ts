// Deletion and creation of drives, in a form that merges like any other change.

import type { Value } from "../cad3/value.js";
import { driveError } from "../error.js";
import { DELETED_MARK } from "./name.js";
import { dir, directoryOf, fileNode, laterTime, type Node, type Utime, viewOf } from "./node.js";
import { checkStamp, entryAt } from "./tree-path.js";

/** The time of a deletion or creation. */
export interface DriveMoment {
  /** Current time of the clock. */
  readonly at: Utime;
}

/**
 * Mark of a deleted drive: an empty file. It merges like every other node: a later change elsewhere brings that
 * copy of the drive back whole, an earlier one stays hidden.
 *
 * @param root of the drive
 * @throws NOT_FOUND if it is already deleted; FUTURE_TIME, BAD_FORMAT, MISSING_CELL
 */
export function deleteDrive(root: Value, { at }: DriveMoment): Node {
  if (isDeletedDrive(root)) throw driveError("NOT_FOUND", "The drive is deleted already");
  return fileNode(new Uint8Array(), timeAfter(root, at));
}

/**
 * The root of a new drive, or of one recreated under the name of a deleted drive.
 *
 * @param previous root under that name; null if none
 * @throws EXISTS if the previous drive is not deleted; FUTURE_TIME, BAD_FORMAT, MISSING_CELL
 */
export function createDrive(previous: Value, { at }: DriveMoment): Node {
  if (previous === null) return dir([], at);
  if (!isDeletedDrive(previous)) throw driveError("EXISTS", "The drive exists already");
  return dir([], timeAfter(previous, at));
}

/** Whether a root is that of a deleted drive. @throws BAD_FORMAT if it is no root, MISSING_CELL */
export function isDeletedDrive(root: Value): boolean {
  const view = viewOf(root);
  if (view.kind === "file" && view.metadata === null && view.data instanceof Uint8Array && view.data.length === 0)
    return true;
  const directory = directoryOf(root);
  // Earlier versions kept a tombstone in the root. It counts until something in the drive is later.
  const mark = entryAt(directory, DELETED_MARK);
  return mark?.kind === "tombstone" && mark.utime >= directory.utime;
}

const timeAfter = (root: Value, at: Utime): bigint => checkStamp(laterTime(BigInt(at), viewOf(root).utime + 1n));
