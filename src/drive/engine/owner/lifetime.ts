// Creates and deletes whole drives, and notes changes of them: one entry of the log for each drive.

import { escapeText } from "../../../core/errors/texts.js";
import type { DriveMaker, EntryChange, EntryState } from "../../../core/ports/changes/change.js";
import { cellOf } from "../../cad3/encoding/cell.js";
import { lazyRef } from "../../cad3/open.js";
import type { Value } from "../../cad3/value.js";
import { createDrive, deleteDrive, isDeletedDrive } from "../../dlfs/lifetime.js";
import { isDriveName, isNewDriveName } from "../../dlfs/name.js";
import { directoryOf } from "../../dlfs/node.js";
import { driveError } from "../../error.js";
import { quotaExceeded } from "../fault.js";
import type { LogTicket } from "../log/entry.js";
import type { Draft, EngineParts, OwnerQueue } from "../owner-queue.js";

/** @throws INVALID_PATH */
export function checkDrive(drive: string): void {
  if (!isDriveName(drive)) throw invalidName(drive, "1 to 128 bytes, without '/', '\\' and control characters");
}

const invalidName = (drive: string, rules: string): Error =>
  driveError("INVALID_PATH", `Invalid drive name '${escapeText(drive)}': ${rules}`);

/** Whether a drive exists: neither deleted nor nil. Synchronous, to be run by the scope. */
export const isLive = (root: Value | undefined): root is NonNullable<Value> =>
  root !== undefined && root !== null && !isDeletedDrive(root);

export interface Owning {
  readonly queue: OwnerQueue;
  readonly parts: EngineParts;
  readonly maker: DriveMaker | undefined;
}

/** @returns false if it exists */
export async function createOne(drive: string, { queue, parts, maker }: Owning): Promise<boolean> {
  checkDrive(drive);
  const noted = await queue.change(drive, async (draft) => {
    const previous = draft.drives.get(drive) ?? null;
    if (await draft.scope.run(() => isLive(previous))) return undefined;
    const root = await draft.scope.run(() => createDrive(previous, draft));
    putRoot(draft, drive, { root, maxDrives: parts.limits.maxDrives });
    return noteWholes(draft, maker, [{ drive, before: undefined, after: root }]);
  });
  tellWholes(maker, noted);
  return noted !== undefined;
}

/** @returns false if it does not exist */
export async function deleteOne(drive: string, { queue, maker }: Owning): Promise<boolean> {
  checkDrive(drive);
  const noted = await queue.change(drive, async (draft) => {
    const previous = draft.drives.get(drive) ?? null;
    if (!(await draft.scope.run(() => isLive(previous)))) return undefined;
    draft.drives = draft.drives.with(drive, await draft.scope.run(() => deleteDrive(previous, draft)));
    return noteWholes(draft, maker, [{ drive, before: previous, after: undefined }]);
  });
  tellWholes(maker, noted);
  return noted !== undefined;
}

/** @throws QUOTA_EXCEEDED, INVALID_PATH for a drive that there has never been */
export function putRoot(draft: Draft, drive: string, { root, maxDrives }: { root: Value; maxDrives: number }): void {
  const used = draft.drives.size;
  if (draft.drives.get(drive) === undefined) {
    if (!isNewDriveName(drive)) throw invalidName(drive, "a new one has no ':', and no white space at its ends");
    if (used >= maxDrives) throw quotaExceeded(drive, { used, limit: maxDrives, requested: 1, unit: "drives" });
  }
  draft.drives = draft.drives.with(drive, root);
}

/** A drive with its roots before and after a change; `undefined`: there is no drive. */
export interface WholeChange {
  readonly drive: string;
  readonly before: Value | undefined;
  readonly after: Value | undefined;
}

interface NotedWhole {
  readonly drive: string;
  readonly change: EntryChange;
  readonly ticket: LogTicket;
}

/** Notes changes of whole drives for the log. @param maker absent: they have no entries */
export async function noteWholes(
  { scope, notes }: Draft,
  maker: DriveMaker | undefined,
  changes: readonly WholeChange[],
): Promise<readonly NotedWhole[]> {
  if (maker === undefined) return [];
  if (changes.length > 1) maker.beginGroup();
  const stateOf = async (root: Value | undefined): Promise<EntryState | null> =>
    root === undefined ? null : { size: 0, modified: Number((await scope.run(() => directoryOf(root))).utime) };
  const held = (root: Value | undefined): Value | undefined => root && lazyRef(cellOf(root).ref, scope.source);
  const noted: NotedWhole[] = [];
  for (const { drive, before, after } of changes) {
    const change: EntryChange = {
      action: before === undefined ? "created" : after === undefined ? "deleted" : "modified",
      ...{ kind: "directory", path: [], before: await stateOf(before), after: await stateOf(after) },
    };
    const ticket: LogTicket = {};
    const note = { ...maker.originIn(drive), ...change };
    notes.push({ drive, note, before: held(before), after: held(after), kept: 0, ticket });
    noted.push({ drive, change, ticket });
  }
  return noted;
}

/** Tells of changes that are committed. */
export function tellWholes(maker: DriveMaker | undefined, noted: readonly NotedWhole[] = []): void {
  for (const { drive, change, ticket } of noted) {
    maker?.changed(drive, ticket.id === undefined ? change : { ...change, id: ticket.id });
  }
}
