// Removes entries of the host.

import { countText } from "../../../core/call/progress.js";
import { ioError, isADirectory, notAFile, notEmpty, symlinkEscape } from "../../../core/errors/texts.js";
import { type Io, isPending, runIo } from "../../../core/io.js";
import type { Removed, RemoveOptions } from "../../../core/ports/backend.js";
import type { NotUndoable } from "../../../core/ports/changes/journal.js";
import { below, type Pinned, release } from "../../../jail/handles.js";
import { finishWithReserve } from "../../../jail/reserve.js";
import { renameDirectory } from "../../../jail/staging/rename.js";
import type { Stat } from "../../../jail/stat.js";
import { errnoOf, quietly } from "../../../jail/sys.js";
import { isUnguarded } from "../../path-policy.js";
import { checkExpected, type Guard, runExclusively } from "../guard.js";
import { requireNoOtherRoot } from "../history/nested.js";
import { commitKept, type Keeping, keepsNothing, noteChange } from "../history/note.js";
import { type DeletedObject, moveToTrash, type TrashedEntry } from "../history/to-trash.js";
import { freedBy, freeTree } from "../quota.js";
import { type Change, flushDirectory, lockTarget, type Reached } from "../target.js";
import { requireAllAllowed } from "../tree-policy.js";
import { hide, isNotEmpty, removeIfEmpty } from "./hide.js";
import type { Hidden } from "./replace.js";
import { isReported, removalOf, report } from "./report.js";

/** The entry removed under a name. */
interface Taken {
  readonly stat: Stat;
  /** Present for a tree that has yet to be emptied. */
  readonly hidden?: Hidden | undefined;
  /** Present for what lies in the trash. */
  readonly binned?: TrashedEntry;
  /** Why it does not. */
  readonly reason?: NotUndoable | undefined;
  /** Absent: the root has no journal. */
  readonly keeping: Keeping | undefined;
}

const RACES = 5;

/** Removes an entry itself: a link rather than its target; a directory tree atomically. */
export function* removeEntry(change: Change, found: Reached, options: RemoveOptions): Io<Removed> {
  const { expected } = options;
  if (found.state !== "found") {
    yield* checkExpected(change, undefined, expected);
    return { existed: false };
  }
  change.walk.settle();
  const { object, real } = found;
  const name = real.at(-1) ?? "";
  const turn = yield* lockTarget(change, name, object.stat.isDirectory() ? object : undefined);
  let hidden: Hidden | undefined;
  let answer: Removed = { existed: true };
  try {
    if (options.recursive && expected === undefined) {
      yield* requireAllAllowed(change, object);
      yield* requireNoOtherRoot(change, object);
    }
    if (expected === undefined) change.access.scope.commit();
    const removed = yield* runExclusively(change, expected !== undefined, (guard) =>
      removeName(change, { name, object, stale: turn.stale, ...options, guard }),
    );
    yield* recheckTaken(change, removed, name);
    hidden = removed.hidden;
    answer = yield* reportRemoval(change, name, removed);
    yield* flushDirectory(change, change.walk.directory);
  } catch (error) {
    // The removal is complete for callers, even if flushing fails.
    if (hidden !== undefined) yield* purge(change, hidden);
    if (errnoOf(error) === "ENOENT") return { existed: false };
    throw error;
  } finally {
    turn.release();
  }
  if (hidden !== undefined) yield* purge(change, hidden);
  return answer;
}

/** Tells of a removal. @returns its answer */
function* reportRemoval(change: Change, name: string, { stat, binned, reason, keeping }: Taken): Io<Removed> {
  if (isReported(change)) yield* report(change, binned?.planned ?? removalOf(change, name, stat), keeping);
  if (binned !== undefined && stat.isDirectory()) yield* quietly(freeTree(change, binned.stage.directory, binned.name));
  binned?.stage.release();
  if (binned !== undefined) return { existed: true, trashed: true, id: binned.keeping.id };
  return reason === undefined || reason === "off" ? { existed: true } : { existed: true, trashed: false, reason };
}

/** Removes the entry under the name now, which may differ from what the walk found. */
function* removeName(
  change: Change,
  target: RemoveOptions & { name: string; object: Pinned; stale: boolean; guard: Guard },
): Io<Taken> {
  const { jail, walk } = change;
  const { expected } = target;
  const path = below(walk.directory, target.name);
  for (let attempt = 1; ; attempt++) {
    const isOld = target.stale || attempt > 1 || expected !== undefined;
    const now = isOld ? yield* jail.handles.pin(walk.directory, target.name) : target.object;
    if (now === undefined) {
      yield* checkExpected(change, undefined, expected);
      throw goneError();
    }
    try {
      // A link may have been put there since the walk.
      if (now.stat.isSymbolicLink() && change.access.links === "refuse") throw symlinkEscape(change.access.place);
      if (expected !== undefined) {
        requireFile(change, now);
        yield* checkExpected(change, now, expected);
        yield* target.guard();
        change.access.scope.commit();
      }
      if (now.stat.isDirectory() && change.access.rules?.removesFilesOnly === true) {
        throw isADirectory(change.access.place);
      }
      return yield* take(change, { ...target, object: now, path });
    } catch (error) {
      const turned = errnoOf(error) === "EISDIR" || errnoOf(error) === "ENOTDIR";
      if (!turned || attempt === RACES) throw error;
    } finally {
      if (now !== target.object) release(now);
    }
  }
}

/** Takes an entry out of its directory: into the trash, out of sight to be emptied, or at once. */
function* take(change: Change, target: RemoveOptions & DeletedObject & { readonly path: string }): Io<Taken> {
  const { object, path, recursive } = target;
  const { stat } = object;
  const note = (why?: NotUndoable): Keeping | undefined =>
    noteChange(change, removalOf(change, target.name, stat), why && { kept: keepsNothing(why) });
  if (stat.isDirectory() && !recursive) {
    const keeping = note();
    yield* commitKept(removeDirectory(change, object, path), keeping);
    return { stat, keeping };
  }
  const isTree = stat.isDirectory();
  let keeping: Keeping | undefined;
  const binned = yield* toTrash(change, target, () => {
    keeping = note("not_kept");
    return keeping;
  });
  if (binned === "removed") return { stat, reason: "not_kept", keeping };
  if (typeof binned !== "string") {
    change.rules.usage?.free(freedBy(stat));
    return { stat, binned, keeping: binned.keeping };
  }
  keeping = note(binned);
  if (isTree) return { stat, hidden: yield* commitKept(hide(change, object, path), keeping), reason: binned, keeping };
  yield* commitKept(change.jail.sys.unlink(path), keeping);
  change.rules.usage?.free(freedBy(stat));
  return { stat, reason: binned, keeping };
}

/** An empty directory of somebody else, which cannot be moved, holds nothing to keep. */
function* toTrash(
  change: Change,
  target: RemoveOptions & DeletedObject & { readonly path: string },
  note: () => Keeping | undefined,
): Io<TrashedEntry | NotUndoable | "removed"> {
  try {
    return yield* moveToTrash(change, target, target);
  } catch (error) {
    const code = errnoOf(error);
    const isTree = target.object.stat.isDirectory() && change.rules.keepsDeleted !== true;
    if (!isTree || (code !== "EACCES" && code !== "EPERM")) throw error;
    yield* commitKept(removeIfEmpty(change, target.path, error), note());
    return "removed";
  }
}

/** Content preconditions apply to files only, not to links. */
function requireFile({ access }: Change, object: Pinned): void {
  if (object.stat.isDirectory()) throw isADirectory(access.place);
  if (!object.stat.isFile()) throw notAFile(access.place);
}

const goneError = (): Error => Object.assign(new Error("gone meanwhile"), { code: "ENOENT", syscall: "unlink" });

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

function* recheckTaken(change: Change, { stat, hidden, binned, keeping }: Taken, name: string): Io<void> {
  const tree = binned ?? hidden;
  if (tree === undefined || !stat.isDirectory()) return;
  try {
    yield* recheckHidden(change, tree, name);
  } catch (error) {
    if (keeping !== undefined) yield* keeping.undo();
    throw error;
  }
}

/**
 * Checks a hidden tree, which is no longer reachable by path: entries added by another process after the first check
 * must not be removed with it. If there are denied ones, the tree is put back.
 * @throws DENIED_BY_POLICY, PERMISSION_DENIED
 */
function* recheckHidden(change: Change, hidden: Hidden, name: string): Io<void> {
  const { jail, access } = change;
  if (isUnguarded(access)) return;
  const directory = yield* jail.handles.enter(hidden.stage.directory, hidden.name);
  if (typeof directory === "string") return;
  try {
    yield* requireAllAllowed(change, directory);
  } catch (error) {
    yield* finishWithReserve(putBack(change, hidden, name));
    throw errnoOf(error) === "ENOENT" ? ioError(access.place, "ESTALE") : error;
  } finally {
    release(directory);
  }
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
    yield* quietly(freeTree(change, stage.directory, name));
    const { report } = change.access.scope;
    const progress = (entries: number): void =>
      report?.(entries, undefined, () => `${countText(entries, "entry", "entries")} deleted`);
    yield* change.jail.staging.purge(stage, name, report && progress);
  } finally {
    stage.release();
  }
}
