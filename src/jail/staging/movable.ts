// Moves directories that their owner could not: without write permission a directory stays below its parent.

import type { Io } from "../../core/io.js";
import { type Handles, type NameIn, type Pinned, release, renameBelow } from "../handles.js";
import { finishWithReserve } from "../reserve.js";
import { errnoOf, quietly, type Sys } from "../sys.js";

const WRITE = 0o200;
const ALL_BITS = 0o7777;

/**
 * Runs work that moves an entry elsewhere. A directory of this user without write permission has it meanwhile, by its handle;
 * others, and those that are known by their path alone, stay as they are.
 */
export function* whileMovable<T>(sys: Sys, { fd, path, stat }: Pinned, work: Io<T>): Io<T> {
  const mode = stat.mode & ALL_BITS;
  const isStuck = stat.isDirectory() && (mode & WRITE) === 0 && fd >= 0 && stat.uid === process.geteuid?.();
  if (!isStuck) return yield* work;
  yield* sys.chmod(path, mode | WRITE);
  try {
    return yield* work;
  } finally {
    yield* quietly(finishWithReserve(sys.chmod(path, mode)));
  }
}

/** Renames an entry into another directory, and replaces what has the new name. @throws system errors */
export function* moveBelow(
  { sys, handles }: { readonly sys: Sys; readonly handles: Handles },
  from: NameIn,
  to: NameIn,
): Io<void> {
  try {
    return yield* renameBelow(sys, from, to);
  } catch (error) {
    if (errnoOf(error) !== "EACCES") throw error;
    const directory = yield* quietly(handles.enter(from.directory, from.name));
    if (directory === undefined || typeof directory === "string") throw error;
    try {
      return yield* whileMovable(sys, directory, renameBelow(sys, from, to));
    } finally {
      release(directory);
    }
  }
}
