// Handles: how a walk pins directories and files so that later system calls reach the same object.

import fs from "node:fs";
import type { Identity } from "../core/identity.js";
import type { Io } from "../core/io.js";
import { isWindows } from "../core/system.js";
import type { NativeSource } from "./native/calls.js";
import { type Stat, statOfOpen } from "./stat.js";
import { closeNow, errnoOf, type Sys } from "./sys.js";

/**
 * Linux `O_PATH` on x64 and arm64: a handle to the object itself, without opening it for I/O. Not in Node's constants.
 */
const O_PATH = 0x200000;
const { O_NOFOLLOW = 0, O_DIRECTORY = 0, O_RDONLY, O_NONBLOCK = 0 } = fs.constants;
/** Pins an object, and a link instead of its target. */
export const NO_FOLLOW_PATH = O_PATH | O_NOFOLLOW;

/** An object reached by a walk. On Linux it remains the same object when its name is changed or replaced. */
export interface Pinned {
  /** -1 where the platform has no path handles. */
  readonly fd: number;
  /** Path by which system calls reach this very object. */
  readonly path: string;
  readonly stat: Stat;
  /** Closes the handle in place of `closeNow`; for objects whose last name is gone. */
  closeLate?: (fd: number) => void;
  /** Whether `fd` reads the entries of this directory, from the first one; `true` once. */
  takeReading?(): boolean;
  /** Takes the stored name in place of the one it was asked by, which the system does not tell: for what is known by its path. */
  respell?(directory: Pinned, name: string): void;
}

/** The pinned directory of a root. Held while the root is open, so its `stat` can be outdated. */
export interface PinnedRoot extends Pinned {
  stat: Stat;
}

export function* renew(sys: Sys, root: PinnedRoot): Io<void> {
  const stat = root.fd >= 0 ? yield* sys.fstat(root.fd) : yield* sys.lstat(root.path);
  if (stat?.isDirectory() === true) root.stat = stat;
}

/**
 * The path of `name` in a pinned directory, for a system call. `name` is one component without slashes.
 * @throws EINVAL where Windows would take a name for a path: what a foreign file system lists there is not trusted
 */
export function below(directory: Pick<Pinned, "path">, name: string): string {
  if (isWindows() && /[\\/]/.test(name)) throw notAName();
  return `${directory.path}/${name}`;
}

/** Stats a name in a pinned directory without following a link; `undefined` if it does not exist. */
export function* statBelow(sys: Sys, directory: Pinned, name: string): Io<Stat | undefined> {
  const found = sys.native?.calls?.find(directory.fd, name);
  if (found === "missing") return undefined;
  return found ?? (yield* sys.lstat(below(directory, name)));
}

export interface NameIn {
  readonly directory: Pinned;
  readonly name: string;
}

/** Renames an entry, and replaces what has the new name. @throws system errors */
export function* renameBelow(sys: Sys, from: NameIn, to: NameIn): Io<void> {
  if (sys.native?.calls?.rename(from.directory.fd, from.name, to.directory.fd, to.name) === true) return;
  yield* sys.rename(below(from.directory, from.name), below(to.directory, to.name));
}

/** Like {@link below}, for names that need not be UTF-8. */
export function entryPath(directory: Pick<Pinned, "path">, name: string | Uint8Array): string | Buffer {
  if (typeof name === "string") return below(directory, name);
  if (isWindows() && (name.includes(SLASH) || name.includes(BACKSLASH))) throw notAName();
  return Buffer.concat([Buffer.from(`${directory.path}/`), name]);
}

const SLASH = 0x2f;
const BACKSLASH = 0x5c;
const notAName = (): Error => Object.assign(new Error("not a name"), { code: "EINVAL", syscall: "open" });

/** Identity (device and inode) of an object, used as a lock key. */
export const identity = (object: Pinned): Identity => object.stat.identity;

export function release(object: Pinned): void {
  if (object.fd < 0) return;
  if (object.closeLate === undefined) closeNow(object.fd);
  else object.closeLate(object.fd);
}

/** Runs work with a descriptor, and closes that. */
export function* withOpen<T>(opening: Io<number>, work: (fd: number) => Io<T>): Io<T> {
  const fd = yield* opening;
  try {
    return yield* work(fd);
  } finally {
    closeNow(fd);
  }
}

/** Runs work with an object, and releases that. @param pinning by {@link Handles} @returns `undefined`: there is none */
export function* withPinned<T>(
  pinning: Io<Pinned | string | undefined>,
  work: (object: Pinned) => Io<T>,
): Io<T | undefined> {
  const object = yield* pinning;
  if (object === undefined || typeof object === "string") return undefined;
  try {
    return yield* work(object);
  } finally {
    release(object);
  }
}

/** Goes down by names, through no link. @returns the last directory, `top` itself for no names; `undefined`: it is not there */
export function* enterBelow(
  { handles }: { readonly handles: Handles },
  top: Pinned,
  names: readonly (string | Buffer)[],
): Io<Pinned | undefined> {
  let at = top;
  for (const name of names) {
    let next: Pinned | string = "missing";
    try {
      next = yield* handles.enter(at, name);
    } finally {
      if (at !== top) release(at);
    }
    if (typeof next === "string") return undefined;
    at = next;
  }
  return at;
}

interface HandleOptions {
  readonly native?: NativeSource | undefined;
  readonly stat?: Stat;
  /** A directory that was opened for reading. */
  readonly isUnread?: boolean;
}

/** An `O_PATH` handle on Linux, or one to a directory that reads it too. Its stat is read on demand, since most directories are only passed through. */
class ProcHandle implements Pinned {
  readonly fd: number;
  readonly path: string;
  closeLate?: (fd: number) => void;
  readonly #native: NativeSource | undefined;
  #stat: Stat | undefined;
  #isUnread: boolean;

  constructor(fd: number, path: string, { native, stat, isUnread = false }: HandleOptions = {}) {
    this.fd = fd;
    this.path = path;
    this.#native = native;
    this.#stat = stat;
    this.#isUnread = isUnread;
  }

  takeReading(): boolean {
    const isUnread = this.#isUnread;
    this.#isUnread = false;
    return isUnread;
  }

  get stat(): Stat {
    this.#stat ??= this.#native?.calls?.statOpen(this.fd) ?? statOfOpen(this.fd);
    return this.#stat;
  }
}

/** How paths are walked. Only `real-path check` is subject to races. */
export type EngineName = "openat2" | "handle walk" | "real-path check";

/** Steps of a walk on this platform. */
export interface Handles {
  readonly engine: EngineName;
  /**
   * Pins the root itself.
   * @param realPath canonical, absolute
   */
  openRoot(realPath: string): PinnedRoot;
  /** Pins the directory `name` in `parent`; links are not followed. */
  enter(parent: Pinned, name: string | Buffer): Io<Pinned | "missing" | "not a directory">;
  /**
   * Like {@link enter}, without waiting, for a directory whose entries are read next: its handle does both. `undefined` says
   * nothing about it: enter it then.
   */
  enterToRead?(parent: Pinned, name: string | Buffer): Pinned | undefined;
  /** Pins the entry `name` in `parent`, a link itself included. */
  pin(parent: Pinned, name: string | Buffer): Io<Pinned | undefined>;
  /** Opens a pinned regular file or directory for I/O. */
  reopen(object: Pinned, flags: number): Io<number>;
  /**
   * Pins the object at the end of `names` in one step, if all but the last are directories and none is a link.
   * `undefined` says nothing about it: walk the names then.
   */
  reach?(top: Pinned, names: readonly string[]): Pinned | undefined;
}

/**
 * Handles through `/proc/self/fd`. Opening `/proc/self/fd/<directory>/<name>` without following links acts like
 * `openat`: the magic link leads to the pinned inode, so no rename or link above or beside it can redirect the call.
 */
export class ProcHandles implements Handles {
  readonly #sys: Sys;
  /** This process's descriptor directory. `/proc/<pid>` saves resolving the link `/proc/self`. */
  readonly #descriptors: string;

  constructor(sys: Sys) {
    this.#sys = sys;
    const own = fs.readlinkSync("/proc/self");
    // The two differ if procfs shows another pid namespace, in which this pid belongs to another process.
    this.#descriptors = own === String(process.pid) ? `/proc/${own}/fd/` : "/proc/self/fd/";
  }

  get engine(): EngineName {
    return "handle walk";
  }

  openRoot(realPath: string): PinnedRoot {
    const fd = fs.openSync(realPath, O_PATH | O_NOFOLLOW | O_DIRECTORY);
    return { fd, path: `${this.#descriptors}${fd}`, stat: statOfOpen(fd) };
  }

  /** Takes ownership of an `O_PATH` descriptor. */
  pinned(fd: number): Pinned {
    return new ProcHandle(fd, `${this.#descriptors}${fd}`, { native: this.#sys.native });
  }

  *enter(parent: Pinned, name: string | Buffer): Io<Pinned | "missing" | "not a directory"> {
    try {
      return (yield* this.#open(parent, name, O_PATH | O_NOFOLLOW | O_DIRECTORY)) ?? "missing";
    } catch (error) {
      const code = errnoOf(error);
      if (code === "ENOENT") return "missing";
      if (code === "ENOTDIR" || code === "ELOOP") return "not a directory";
      throw error;
    }
  }

  enterToRead(parent: Pinned, name: string | Buffer): Pinned | undefined {
    const fd = this.#sys.native?.calls?.open(parent.fd, name, O_RDONLY | O_NOFOLLOW | O_DIRECTORY);
    if (fd === undefined) return undefined;
    return new ProcHandle(fd, `${this.#descriptors}${fd}`, { native: this.#sys.native, isUnread: true });
  }

  *pin(parent: Pinned, name: string | Buffer): Io<Pinned | undefined> {
    try {
      return yield* this.#open(parent, name, NO_FOLLOW_PATH);
    } catch (error) {
      if (errnoOf(error) === "ENOENT") return undefined;
      throw error;
    }
  }

  *reopen(object: Pinned, flags: number): Io<number> {
    const opened = flags === READ ? this.#sys.native?.calls?.reopen(object.fd) : undefined;
    return opened ?? (yield* this.#sys.open(object.path, flags | O_NONBLOCK));
  }

  *#open(parent: Pinned, name: string | Buffer, flags: number): Io<Pinned | undefined> {
    const calls = this.#sys.native?.calls;
    let fd = calls?.open(parent.fd, name, flags);
    if (fd === undefined) {
      // Most often there is no such name. An error costs Node more than a stat that says so.
      if (calls?.find(parent.fd, name) === "missing") return undefined;
      fd = yield* this.#sys.open(entryPath(parent, name), flags);
    }
    if (!this.#sys.pooled) return this.pinned(fd);
    try {
      return new ProcHandle(fd, `${this.#descriptors}${fd}`, { stat: yield* this.#sys.fstat(fd) });
    } catch (error) {
      closeNow(fd);
      throw error;
    }
  }
}

export const READ = O_RDONLY;
export const READ_DIRECTORY = O_RDONLY | O_DIRECTORY;
/** Opens a file made with {@link CREATE} for reading, never a link put in its place. */
export const READ_NEW = O_RDONLY | O_NOFOLLOW | O_NONBLOCK;
export const APPEND = fs.constants.O_WRONLY | fs.constants.O_APPEND;
/** Creates a new file; fails if the name exists, even as a link. */
export const CREATE = fs.constants.O_WRONLY | fs.constants.O_CREAT | fs.constants.O_EXCL | O_NOFOLLOW;
/** Opens a file made with {@link CREATE} for changes, never a link put in its place. */
export const WRITE_NEW = fs.constants.O_WRONLY | O_NOFOLLOW | O_NONBLOCK;
