// Renames: gives a prepared entry a name that is free, and moves directories that their owner could not.

import type { Io } from "../../core/io.js";
import { isWindows } from "../../core/system.js";
import { CREATE, type Handles, type NameIn, type Pinned, release, renameBelow } from "../handles.js";
import { finishWithReserve } from "../reserve.js";
import { closeNow, errnoOf, quietly, type Sys } from "../sys.js";

/** Errors that mean that a file cannot have another hard link, here or at all. Windows says the last two of FAT and exFAT. */
export const NO_LINKS: ReadonlySet<string> = new Set([
  ...["EPERM", "EMLINK", "ENOSYS", "ENOTSUP", "EOPNOTSUPP", "EISDIR", "UNKNOWN"],
]);

export interface PreparedEntry {
  readonly path: string;
  readonly isDirectory: boolean;
}

/** Like {@link PreparedEntry}, for names that need not be UTF-8. */
interface NamedEntry extends Omit<PreparedEntry, "path"> {
  readonly path: string | Buffer;
}

/** Gives an entry a name that is free. @returns `false` if it is taken */
export const renameNoReplace = (sys: Sys, { path, isDirectory }: NamedEntry, to: string): Io<boolean> =>
  isDirectory ? renameDirectory(sys, path, to) : linkFile(sys, path, to);

/** @returns `false` if the name is taken. For a moment the file has both names. */
function* linkFile(sys: Sys, from: string | Buffer, to: string): Io<boolean> {
  try {
    yield* sys.link(from, to);
  } catch (error) {
    const code = errnoOf(error) ?? "";
    if (code === "EEXIST") return false;
    if (!NO_LINKS.has(code)) throw error;
    return yield* renameOverEmpty(sys, from, to);
  }
  try {
    yield* sys.unlink(from);
  } catch (error) {
    yield* quietly(sys.unlink(to));
    throw error;
  }
  return true;
}

/**
 * Where hard links are not supported, and for directories on Windows, whose rename replaces any file and no directory: creates an
 * empty file, which nobody else has, and replaces it.
 */
function* renameOverEmpty(sys: Sys, from: string | Buffer, to: string): Io<boolean> {
  const create = function* () {
    closeNow(yield* sys.open(to, CREATE, 0o600));
  };
  return yield* replaceNew({ sys, from, to }, create(), () => sys.unlink(to));
}

/** Like {@link renameOverEmpty} for directories: rename replaces an empty directory, and no other. */
export function* renameDirectory(sys: Sys, from: string | Buffer, to: string): Io<boolean> {
  if (isWindows()) return yield* renameOverEmpty(sys, from, to);
  return yield* replaceNew({ sys, from, to }, sys.mkdir(to, 0o700), () => sys.rmdir(to));
}

/**
 * Renames onto an entry newly created by `create`.
 * @returns `false` if the name was taken
 */
function* replaceNew(
  { sys, from, to }: { readonly sys: Sys; readonly from: string | Buffer; readonly to: string },
  create: Io<unknown>,
  remove: () => Io<unknown>,
): Io<boolean> {
  try {
    yield* create;
  } catch (error) {
    if (errnoOf(error) === "EEXIST") return false;
    throw error;
  }
  try {
    yield* sys.rename(from, to);
  } catch (error) {
    yield* quietly(remove());
    throw error;
  }
  return true;
}

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
