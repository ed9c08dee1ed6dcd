import { type Io, isPending, runIo } from "../core/io.js";
import { existsNotDirectory, notEmpty, otherDevice } from "../core/texts.js";
import { below, type Pinned, release } from "../jail/handles.js";
import { errnoOf } from "../jail/sys.js";
import { RESERVED_PREFIX } from "../path/grammar.js";
import {
  type Change,
  createParents,
  flushDirectory,
  locate,
  lockTarget,
  makeOne,
  type Reached,
} from "./host-target.js";

/** Makes a directory, and with `parents` those above it. */
export function* makeDirectory(
  change: Change,
  found: Reached,
  options: { parents: boolean },
): Io<{ created: boolean }> {
  const target = locate(change, found, options);
  if (target.old !== undefined) {
    if (!target.old.stat.isDirectory()) throw existsNotDirectory(change.access.place);
    return { created: false };
  }
  const lock = yield* lockTarget(change, target.name);
  try {
    change.access.scope.commit();
    yield* createParents(change, target.parents);
    if (yield* makeOne(change, target.name)) return { created: true };
    const other = yield* change.jail.handles.enter(change.walk.directory, target.name);
    if (typeof other === "string") throw existsNotDirectory(change.access.place);
    release(other);
    return { created: false };
  } finally {
    lock.release();
  }
}

/** Removes an entry itself: a link, not its target; a directory as a whole, gone for everyone at once. */
export function* removeEntry(
  change: Change,
  found: Reached,
  options: { recursive: boolean },
): Io<{ existed: boolean }> {
  if (found.state !== "found") return { existed: false };
  const { object, real } = found;
  const name = real.at(-1) ?? "";
  const isDirectory = object.stat.isDirectory();
  const lock = yield* lockTarget(change, name, isDirectory ? object : undefined);
  try {
    change.access.scope.commit();
    if (!isDirectory) yield* change.jail.sys.unlink(below(change.walk.directory, name));
    else if (options.recursive) yield* removeTree(change, object, name);
    else yield* removeDirectory(change, object, name);
    yield* flushDirectory(change, change.walk.directory);
    return { existed: true };
  } catch (error) {
    if (errnoOf(error) === "ENOENT") return { existed: false };
    throw error;
  } finally {
    lock.release();
  }
}

function* removeDirectory(change: Change, directory: Pinned, name: string): Io<void> {
  const path = below(change.walk.directory, name);
  try {
    yield* change.jail.sys.rmdir(path);
  } catch (error) {
    if (!isNotEmpty(error)) throw error;
    // It may hold nothing but what a dead process was preparing in it, which nobody can see.
    const stage = { directory, prefix: RESERVED_PREFIX, release: () => {} };
    if (!(yield* change.jail.staging.sweepIn(stage))) throw notEmpty(change.access.place);
    yield* again(change, path);
  }
}

function* again(change: Change, path: string): Io<void> {
  try {
    yield* change.jail.sys.rmdir(path);
  } catch (error) {
    throw isNotEmpty(error) ? notEmpty(change.access.place) : error;
  }
}

/** One rename takes the tree out of everybody's sight; emptying it may take longer than the caller wants to wait. */
function* removeTree(change: Change, directory: Pinned, name: string): Io<void> {
  const { jail, walk, access } = change;
  const path = below(walk.directory, name);
  if (!jail.crossDevice && directory.stat.dev !== jail.top.stat.dev) throw otherDevice(access.place);
  const stage = yield* jail.staging.open(walk.directory);
  const staged = jail.staging.newPath(stage);
  try {
    yield* jail.sys.rename(path, staged);
  } catch (error) {
    stage.release();
    const code = errnoOf(error);
    // A directory that may not be written cannot be moved, but if it is empty it can be removed.
    if (code === "EACCES" || code === "EPERM") return yield* again(change, path);
    throw error;
  }
  const purge = runIo(jail.staging.purge(stage, staged.slice(stage.directory.path.length + 1)));
  const done = isPending(purge) ? purge.finally(() => stage.release()) : stage.release();
  if (done === undefined) return;
  jail.inBackground(done);
  // A stage beside the target lives on the walk's own handle, which must outlive the purge.
  yield stage.directory === walk.directory ? done : access.scope.patience(done);
}

const isNotEmpty = (error: unknown): boolean => errnoOf(error) === "ENOTEMPTY" || errnoOf(error) === "EEXIST";
