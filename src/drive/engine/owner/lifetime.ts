// Creates and deletes whole drives.

import { escapeText } from "../../../core/errors/texts.js";
import type { Value } from "../../cad3/value.js";
import { createDrive, deleteDrive, isDeletedDrive } from "../../dlfs/lifetime.js";
import { isDriveName } from "../../dlfs/name.js";
import { directoryOf } from "../../dlfs/node.js";
import { driveError } from "../../error.js";
import { type CellScope, loadIndex } from "../cells.js";
import { quotaExceeded } from "../fault.js";
import { type Draft, type EngineParts, type OwnerQueue, REPEATABLE } from "../owner-queue.js";

/** @throws INVALID_PATH */
export function checkDrive(drive: string): void {
  if (!isDriveName(drive)) throw driveError("INVALID_PATH", `Invalid drive name '${escapeText(drive)}'`);
}

/** Whether a drive exists: neither deleted nor nil. Synchronous, to be run by the scope. */
export const isLive = (root: Value | undefined): root is NonNullable<Value> =>
  root !== undefined && root !== null && !isDeletedDrive(root);

export async function createOne(drive: string, queue: OwnerQueue, { limits }: EngineParts): Promise<boolean> {
  checkDrive(drive);
  let created = false;
  await queue.change(drive, async (draft) => {
    const previous = draft.drives.get(drive) ?? null;
    created = false;
    if (await draft.scope.run(() => isLive(previous))) return REPEATABLE;
    await loadRoot(previous, draft.scope);
    const root = await draft.scope.run(() => createDrive(previous, draft));
    putRoot(draft, drive, { root, maxDrives: limits.maxDrives });
    created = true;
    return REPEATABLE;
  });
  return created;
}

export async function deleteOne(drive: string, queue: OwnerQueue): Promise<boolean> {
  checkDrive(drive);
  let deleted = false;
  await queue.change(drive, async (draft) => {
    const previous = draft.drives.get(drive) ?? null;
    deleted = false;
    if (!(await draft.scope.run(() => isLive(previous)))) return REPEATABLE;
    await loadRoot(previous, draft.scope);
    draft.drives = draft.drives.with(drive, await draft.scope.run(() => deleteDrive(previous, draft)));
    deleted = true;
    return REPEATABLE;
  });
  return deleted;
}

/** Loads everything directly below a root, for traversal. */
async function loadRoot(root: Value, scope: CellScope): Promise<void> {
  if (root !== null) await loadIndex((await scope.run(() => directoryOf(root))).entries, scope);
}

export function putRoot(draft: Draft, drive: string, { root, maxDrives }: { root: Value; maxDrives: number }): void {
  const used = draft.drives.size;
  if (draft.drives.get(drive) === undefined && used >= maxDrives) {
    throw quotaExceeded(drive, { used, limit: maxDrives, requested: 1, unit: "drives" });
  }
  draft.drives = draft.drives.with(drive, root);
}
