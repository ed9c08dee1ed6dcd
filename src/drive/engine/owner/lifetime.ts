// Creates and deletes whole drives.

import { escapeText } from "../../../core/errors/texts.js";
import type { DriveMaker } from "../../../core/ports/changes/change.js";
import type { Value } from "../../cad3/value.js";
import { isDeletedDrive } from "../../dlfs/lifetime.js";
import { isDriveName } from "../../dlfs/name.js";
import { driveError } from "../../error.js";
import { quotaExceeded } from "../fault.js";
import type { Draft, EngineParts, OwnerQueue } from "../owner-queue.js";
import { createdRoot, deletedRoot } from "./change-options.js";
import { REPEATABLE } from "./change-results.js";
import { createWholeChanges } from "./whole-changes.js";

/** @throws INVALID_PATH */
export function checkDrive(drive: string): void {
  if (!isDriveName(drive)) throw driveError("INVALID_PATH", `Invalid drive name '${escapeText(drive)}'`);
}

/** Whether a drive exists: neither deleted nor nil. Synchronous, to be run by the scope. */
export const isLive = (root: Value | undefined): root is NonNullable<Value> =>
  root !== undefined && root !== null && !isDeletedDrive(root);

export interface Owning {
  readonly queue: OwnerQueue;
  readonly parts: EngineParts;
  readonly maker: DriveMaker | undefined;
}

export async function createOne(drive: string, { queue, parts, maker }: Owning): Promise<boolean> {
  checkDrive(drive);
  const whole = createWholeChanges(maker);
  let created = false;
  await queue.change(drive, async (draft) => {
    const previous = draft.drives.get(drive) ?? null;
    created = false;
    if (await draft.scope.run(() => isLive(previous))) return REPEATABLE;
    const root = await createdRoot(previous ?? undefined, draft);
    putRoot(draft, drive, { root, maxDrives: parts.limits.maxDrives });
    created = true;
    await whole.note(draft, [{ drive, before: undefined, after: root }]);
    return REPEATABLE;
  });
  if (created) whole.tell();
  return created;
}

export async function deleteOne(drive: string, { queue, maker }: Owning): Promise<boolean> {
  checkDrive(drive);
  const whole = createWholeChanges(maker);
  let deleted = false;
  await queue.change(drive, async (draft) => {
    const previous = draft.drives.get(drive) ?? null;
    deleted = false;
    if (!(await draft.scope.run(() => isLive(previous)))) return REPEATABLE;
    draft.drives = draft.drives.with(drive, await deletedRoot(previous, draft));
    deleted = true;
    await whole.note(draft, [{ drive, before: previous, after: undefined }]);
    return REPEATABLE;
  });
  if (deleted) whole.tell();
  return deleted;
}

export function putRoot(draft: Draft, drive: string, { root, maxDrives }: { root: Value; maxDrives: number }): void {
  const used = draft.drives.size;
  if (draft.drives.get(drive) === undefined && used >= maxDrives) {
    throw quotaExceeded(drive, { used, limit: maxDrives, requested: 1, unit: "drives" });
  }
  draft.drives = draft.drives.with(drive, root);
}
