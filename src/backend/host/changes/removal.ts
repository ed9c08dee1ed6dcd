// Takes entries of the host out of their directory: into the trash, out of sight to be emptied, or at once.

import { countText } from "../../../core/call/progress.js";
import { ioError, notEmpty, otherDevice } from "../../../core/errors/texts.js";
import { type Io, isPending, runIo } from "../../../core/io.js";
import type { NotUndoable } from "../../../core/ports/changes/journal.js";
import { below, type Pinned, withPinned } from "../../../jail/handles.js";
import { finishWithReserve } from "../../../jail/reserve.js";
import type { Stage } from "../../../jail/staging/lock-file.js";
import { renameDirectory } from "../../../jail/staging/rename.js";
import { errnoOf, quietly } from "../../../jail/sys.js";
import { isUnguarded } from "../../path-policy.js";
import { commitKept, type Keeping, keepsNothing, noteChange } from "../history/note.js";
import { type Doomed, type Hidden, moveToTrash, type TrashedEntry } from "../history/to-trash.js";
import type { Change } from "../target.js";
import { requireAllAllowed } from "../tree-policy.js";
import { removalOf } from "./report.js";
import type { Taken } from "./step.js";

/** Takes an entry of a change alone away, and notes how it is kept. */
export function* takeAlone(change: Change, doomed: Doomed): Io<Taken> {
  const { object, name, options } = doomed;
  const path = below(change.walk.directory, name);
  const note = (why?: NotUndoable): Keeping | undefined =>
    noteChange(change, removalOf(change, name, object.stat), why && { kept: keepsNothing(why) });
  const isTree = object.stat.isDirectory();
  if (isTree && !options.recursive) {
    const keeping = note();
    yield* commitKept(removeDirectory(change, object, path), keeping);
    return { keeping };
  }
  let keeping: Keeping | undefined;
  const binned = yield* toTrash(change, doomed, () => {
    keeping = note("not_kept");
    return keeping;
  });
  if (binned === "removed") return { reason: "not_kept", keeping };
  if (typeof binned !== "string") {
    if (isTree) yield* commitKept(recheckHidden(change, binned, name), binned.keeping);
    binned.stage.release();
    return { isTrashed: true, keeping: binned.keeping };
  }
  keeping = note(binned);
  if (!isTree) {
    yield* commitKept(change.jail.sys.unlink(path), keeping);
    return { reason: binned, keeping };
  }
  const hidden = yield* commitKept(hide(change, object, path), keeping);
  if (hidden !== undefined) yield* commitKept(recheckHidden(change, hidden, name), keeping);
  return { reason: binned, hidden, keeping };
}

/** Moves an entry into the trash. An empty directory of another user that cannot be moved is removed: it holds nothing to keep. */
function* toTrash(
  change: Change,
  doomed: Doomed,
  note: () => Keeping | undefined,
): Io<TrashedEntry | NotUndoable | "removed"> {
  try {
    return yield* moveToTrash(change, doomed);
  } catch (error) {
    const code = errnoOf(error);
    const isTree = doomed.object.stat.isDirectory() && change.rules.keepsDeleted !== true;
    if (!isTree || (code !== "EACCES" && code !== "EPERM")) throw error;
    yield* commitKept(removeIfEmpty(change, below(change.walk.directory, doomed.name), error), note());
    return "removed";
  }
}

function* removeDirectory(change: Change, directory: Pinned, path: string): Io<void> {
  const { sys, staging } = change.jail;
  try {
    yield* sys.rmdir(path);
  } catch (error) {
    if (!isNotEmpty(error)) throw error;
    // The directory may contain only invisible staging files of dead processes.
    if (!(yield* staging.sweepIn(staging.beside(directory)))) throw notEmpty(change.access.place);
    try {
      yield* sys.rmdir(path);
    } catch (again) {
      throw isNotEmpty(again) ? notEmpty(change.access.place) : again;
    }
  }
}

const RACES = 5;

/**
 * Moves a tree out of sight with one rename.
 * @returns `undefined` if it has already been removed
 */
function* hide(change: Change, directory: Pinned, path: string): Io<Hidden | undefined> {
  const { jail, walk, access } = change;
  if (!jail.crossDevice && directory.stat.device !== jail.top.stat.device) throw otherDevice(access.place);
  for (let attempt = 1; ; attempt++) {
    const stage = yield* jail.staging.open(walk.directory);
    try {
      return yield* moveTo(change, path, stage);
    } catch (error) {
      stage.release();
      // The staging directory was removed by another process as it ended; the tree itself still exists.
      const vanished = errnoOf(error) === "ENOENT" && (yield* jail.sys.lstat(path)) !== undefined;
      if (vanished && attempt < RACES) continue;
      if (vanished) return yield* moveTo(change, path, jail.staging.beside(walk.directory));
      return yield* hideBeside(change, { directory, path, error });
    }
  }
}

/** A tree that cannot be moved to the staging directory may still be renamed in place, or emptied there. */
function* hideBeside(
  change: Change,
  failed: { directory: Pinned; path: string; error: unknown },
): Io<Hidden | undefined> {
  const { path, directory, error } = failed;
  const { jail, walk } = change;
  const code = errnoOf(error);
  const refused = code === "EACCES" || code === "EPERM";
  if (!refused && code !== "EXDEV") throw error;
  // The owner can make the directory writable, others cannot; but an empty directory can always be removed.
  if (refused && directory.stat.uid !== process.geteuid?.()) return yield* removeIfEmpty(change, path, error);
  try {
    return yield* moveTo(change, path, jail.staging.beside(walk.directory));
  } catch (again) {
    if (errnoOf(again) !== "EXDEV") throw again;
  }
  // A layered file system cannot move it at all, so it is removed entry by entry.
  yield* requireAllAllowed(change, directory);
  yield* jail.staging.purge(jail.staging.beside(walk.directory), path.slice(walk.directory.path.length + 1));
  if ((yield* jail.sys.lstat(path)) !== undefined) throw ioError(change.access.place, "EXDEV");
  return undefined;
}

/** @throws `reason` if it is not empty */
function* removeIfEmpty(change: Change, path: string, reason: unknown): Io<undefined> {
  try {
    yield* change.jail.sys.rmdir(path);
  } catch (error) {
    throw isNotEmpty(error) ? reason : error;
  }
}

function* moveTo(change: Change, path: string, stage: Stage): Io<Hidden> {
  const name = change.jail.staging.newName(stage);
  yield* change.jail.sys.rename(path, below(stage.directory, name));
  return { stage, name };
}

const isNotEmpty = (error: unknown): boolean => errnoOf(error) === "ENOTEMPTY" || errnoOf(error) === "EEXIST";

/**
 * Checks a hidden tree, which is no longer reachable by path: entries added by another process after the first check
 * must not be removed with it. If there are denied ones, the tree is put back.
 * @throws DENIED_BY_POLICY, PERMISSION_DENIED
 */
function* recheckHidden(change: Change, hidden: Hidden, name: string): Io<void> {
  const { jail, access } = change;
  if (isUnguarded(access)) return;
  yield* withPinned(jail.handles.enter(hidden.stage.directory, hidden.name), function* (directory) {
    try {
      yield* requireAllAllowed(change, directory);
    } catch (error) {
      yield* finishWithReserve(putBack(change, hidden, name));
      throw errnoOf(error) === "ENOENT" ? ioError(access.place, "ESTALE") : error;
    }
  });
}

/** Restores a hidden tree under its name, or beside it if the name has been taken. */
function* putBack({ jail, walk }: Change, { stage, name: hiddenName }: Hidden, name: string): Io<void> {
  const from = below(stage.directory, hiddenName);
  try {
    for (let attempt = 0; attempt <= RACES; attempt++) {
      const free = attempt === 0 ? name : `${name}.restored-${attempt}`;
      if ((yield* quietly(renameDirectory(jail.sys, from, below(walk.directory, free)))) === true) return;
    }
  } finally {
    stage.release();
  }
}

/** Empties a hidden tree; may outlast the caller's deadline. */
export function* purge(change: Change, hidden: Hidden): Io<void> {
  const { jail, walk, access } = change;
  const work = runIo(purgeAndRelease(change, hidden));
  if (!isPending(work)) return;
  jail.trackBackground(work);
  // A stage beside the target uses the walk's own handle, which must outlive the purge.
  yield hidden.stage.directory === walk.directory ? work : access.scope.patience(work);
}

function* purgeAndRelease(change: Change, { stage, name }: Hidden): Io<void> {
  try {
    const { report } = change.access.scope;
    const progress = (entries: number): void =>
      report?.(entries, undefined, () => `${countText(entries, "entry", "entries")} deleted`);
    yield* change.jail.staging.purge(stage, name, report && progress);
  } finally {
    stage.release();
  }
}
