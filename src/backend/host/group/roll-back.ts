// Undoes the steps of a group from their records: after a failure, and after a crash.

import type { Io } from "../../../core/io.js";
import { isOneEntry } from "../../../jail/directory.js";
import { below, identity, type Pinned, READ, release, statBelow } from "../../../jail/handles.js";
import type { Jail } from "../../../jail/jail.js";
import { flushDirectories } from "../../../jail/staging/flush.js";
import { TRASH } from "../../../jail/staging/folder.js";
import { renameNoReplace, whileMovable } from "../../../jail/staging/rename.js";
import { inodeOf } from "../../../jail/stat.js";
import { closeNow, quietly } from "../../../jail/sys.js";
import { hashOpen } from "../open.js";
import { findBelow, type Image, type RealPath, type StepRecord } from "./intent.js";

/** The directory of a path, open. */
export interface Opened {
  readonly directory: Pinned;
  close(): void;
}

/** The parts of the root that a roll-back needs. */
export interface RollBackGround {
  readonly jail: Jail;
  readonly durable: boolean;
  /** The folder of the intent, and the staging directory. */
  readonly folder: Pinned;
  readonly stage: Pinned;
  /** Opens the directory of a path, following no link; `undefined` if it is not there, or the path is refused. */
  directoryOf(path: RealPath): Io<Opened | undefined>;
}

/**
 * Undoes the steps that were done, the last one first. Only entries that are still as the group left them are put back.
 * @returns paths that were left as they are, since others have changed them meanwhile or they could not be reached
 * @throws system errors; calling it again goes on
 */
export function* rollBack(ground: RollBackGround, steps: readonly StepRecord[]): Io<RealPath[]> {
  const left: RealPath[] = [];
  for (const { put, taken, moved, made } of steps.toReversed()) {
    if (put !== undefined && !(yield* withPlace(ground, put.path, (place) => undoPut(place, put)))) left.push(put.path);
    if (taken !== undefined && !(yield* withPlace(ground, taken.path, (place) => undoTake(place, taken))))
      left.push(taken.path);
    if (moved !== undefined && !(yield* withPlace(ground, moved.to, (place) => undoMove(place, moved))))
      left.push(moved.to);
    for (const path of (made ?? []).toReversed()) yield* withPlace(ground, path, undoMake);
  }
  return left;
}

/** A name in an open directory. */
interface Place {
  readonly ground: RollBackGround;
  readonly directory: Pinned;
  readonly path: string;
  /** The entry that has the name now. */
  readonly now: Pinned | undefined;
}

/** Runs `work` at a place; if the directory is gone, without an entry. @returns whether the step is undone */
function* withPlace(ground: RollBackGround, path: RealPath, work: (place: Place) => Io<boolean>): Io<boolean> {
  const opened = yield* ground.directoryOf(path);
  if (opened === undefined) return yield* work({ ground, directory: ground.folder, path: "", now: undefined });
  const { directory } = opened;
  try {
    const name = path.at(-1) ?? "";
    const now = yield* ground.jail.handles.pin(directory, name);
    try {
      const isDone = yield* work({ ground, directory, path: below(directory, name), now });
      if (ground.durable) yield* flushDirectories(ground.jail, [directory]);
      return isDone;
    } finally {
      if (now !== undefined) release(now);
    }
  } finally {
    opened.close();
  }
}

function* undoPut({ ground, path, now }: Place, put: NonNullable<StepRecord["put"]>): Io<boolean> {
  const { sys } = ground.jail;
  if (now === undefined || !(yield* isImage(ground.jail, now, put.after))) {
    // Still staged: it never got its name.
    return (yield* sys.lstat(below(ground.folder, put.staged))) !== undefined;
  }
  if (put.before === undefined) yield* sys.unlink(path);
  else yield* sys.rename(below(ground.folder, put.before), path);
  return true;
}

function* undoTake({ ground, path, now }: Place, taken: NonNullable<StepRecord["taken"]>): Io<boolean> {
  const { jail, folder, stage } = ground;
  const [top, names] = taken.isBinned === true ? [stage, [TRASH, taken.kept]] : [folder, [taken.kept]];
  const kept = yield* findBelow(jail, top, names);
  if (kept === undefined) return true;
  try {
    if (path === "" || now !== undefined) return false;
    const ready = { path: below(kept.directory, taken.kept), isDirectory: kept.object.stat.isDirectory() };
    return yield* whileMovable(jail.sys, kept.object, renameNoReplace(jail.sys, ready, path));
  } finally {
    kept.close();
  }
}

function* undoMove(place: Place, moved: NonNullable<StepRecord["moved"]>): Io<boolean> {
  const { ground, path, now } = place;
  const { jail, folder } = ground;
  const isMoved = now !== undefined && (yield* isImage(jail, now, moved.what));
  if (isMoved && !(yield* moveBack(place, moved))) return false;
  if (!isMoved && !(yield* isStillThere(ground, moved))) return false;
  if (moved.before === undefined || path === "") return true;
  const before = below(folder, moved.before);
  if ((yield* jail.sys.lstat(path)) === undefined && (yield* jail.sys.lstat(before)) !== undefined) {
    return yield* renameNoReplace(jail.sys, { path: before, isDirectory: false }, path);
  }
  return true;
}

function* moveBack({ ground, directory, path, now }: Place, moved: NonNullable<StepRecord["moved"]>): Io<boolean> {
  const { sys, handles } = ground.jail;
  const origin = yield* originOf(ground, moved);
  if (origin === undefined || now === undefined) return false;
  try {
    const name = moved.from.at(-1) ?? "";
    const target = below(origin.directory, name);
    const other = yield* handles.pin(origin.directory, name);
    const ready = { path, isDirectory: now.stat.isDirectory() };
    if (other === undefined) return yield* whileMovable(sys, now, renameNoReplace(sys, ready, target));
    const isSame = other.stat.identity === now.stat.identity;
    release(other);
    if (isSame && identity(directory) === identity(origin.directory)) {
      // Both may be spellings of one name: removing one would remove the file.
      const isOne = yield* isOneEntry(sys, directory, name, moved.to.at(-1) ?? "");
      if (isOne) {
        yield* sys.rename(path, target);
        return true;
      }
    }
    // The move was interrupted between giving the new name and removing the old one.
    if (isSame) yield* sys.unlink(path);
    return isSame;
  } finally {
    origin.close();
  }
}

function* isStillThere(ground: RollBackGround, moved: NonNullable<StepRecord["moved"]>): Io<boolean> {
  const origin = yield* originOf(ground, moved);
  if (origin === undefined) return false;
  try {
    const stat = yield* statBelow(ground.jail.sys, origin.directory, moved.from.at(-1) ?? "");
    return stat !== undefined && inodeOf(stat) === moved.what.inode;
  } finally {
    origin.close();
  }
}

function* originOf(ground: RollBackGround, { from, isKept }: NonNullable<StepRecord["moved"]>): Io<Opened | undefined> {
  if (isKept !== true) return yield* ground.directoryOf(from);
  const found = yield* findBelow(ground.jail, ground.stage, [...from.slice(0, -1), "."]);
  return found && { directory: found.object, close: () => found.close() };
}

/** Directories that are not empty have been used by others since, and stay. */
function* undoMake({ ground, path, now }: Place): Io<boolean> {
  if (path !== "" && now?.stat.isDirectory() === true) yield* quietly(ground.jail.sys.rmdir(path));
  return true;
}

/** Whether an entry is the recorded one, unchanged. */
function* isImage(jail: Jail, now: Pinned, image: Image): Io<boolean> {
  const { stat } = now;
  if (stat.type !== image.type) return false;
  if (image.type !== "file") return inodeOf(stat) === image.inode;
  if (stat.size !== image.size) return false;
  if (inodeOf(stat) === image.inode && stat.modifiedMs === image.modified) return true;
  return image.sha256 !== undefined && (yield* hashOf(jail, now)) === image.sha256;
}

function* hashOf(jail: Jail, file: Pinned): Io<string | undefined> {
  const fd = yield* quietly(jail.handles.reopen(file, READ));
  if (fd === undefined) return undefined;
  try {
    return yield* hashOpen(jail.sys, fd);
  } finally {
    closeNow(fd);
  }
}
