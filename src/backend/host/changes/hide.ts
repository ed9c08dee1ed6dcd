// Moves trees that are about to be deleted out of sight.

import { ioError, otherDevice } from "../../../core/errors/texts.js";
import type { Io } from "../../../core/io.js";
import { below, type Pinned } from "../../../jail/handles.js";
import type { Stage } from "../../../jail/staging/lock-file.js";
import { errnoOf } from "../../../jail/sys.js";
import type { Change } from "../target.js";
import { requireAllAllowed } from "../tree-policy.js";
import type { Hidden } from "./replace.js";

const RACES = 5;

/**
 * Moves a tree out of sight with one rename.
 * @returns `undefined` if it has already been removed
 */
export function* hide(change: Change, directory: Pinned, path: string): Io<Hidden | undefined> {
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
export function* removeIfEmpty(change: Change, path: string, reason: unknown): Io<undefined> {
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

export const isNotEmpty = (error: unknown): boolean => errnoOf(error) === "ENOTEMPTY" || errnoOf(error) === "EEXIST";
