import fs from "node:fs";
import type { Identity } from "../core/identity.js";
import type { Io } from "../core/io.js";
import { type Stat, statOfName, statOfOpen } from "./stat.js";
import { closeNow, errnoOf, type Sys } from "./sys.js";

/** `O_PATH` of Linux on x64 and arm64: a handle to the object itself, without opening it for I/O. Node has no name for it. */
const O_PATH = 0x200000;
const { O_NOFOLLOW = 0, O_DIRECTORY = 0, O_RDONLY, O_NONBLOCK = 0 } = fs.constants;
/** Pins an object, the link itself if it is one. */
export const NO_FOLLOW_PATH = O_PATH | O_NOFOLLOW;

/** An object that a walk has arrived at. On Linux it stays the same object whatever happens to its name. */
export interface Pinned {
  /** -1 where the platform has no path handles. */
  readonly fd: number;
  /** What to give to a system call to mean this very object. */
  readonly path: string;
  readonly stat: Stat;
}

/** A root: held for as long as it is open, so what was seen of it grows old. */
export interface PinnedRoot extends Pinned {
  stat: Stat;
}

/** Looks at a root again, because somebody asks for the root itself. */
export function* renew(sys: Sys, root: PinnedRoot): Io<void> {
  const stat = root.fd >= 0 ? yield* sys.fstat(root.fd) : yield* sys.lstat(root.path);
  if (stat?.isDirectory() === true) root.stat = stat;
}

/** The path of `name` directly below a pinned directory. The name is one component and never holds a slash. */
export const below = (directory: Pinned, name: string): string => `${directory.path}/${name}`;

/** The same for an entry whose name may not be UTF-8. */
export const entryPath = (directory: Pinned, name: string | Buffer): string | Buffer =>
  typeof name === "string" ? below(directory, name) : Buffer.concat([Buffer.from(`${directory.path}/`), name]);

/** Identity of an object, for the queues of writers. */
export const identity = (object: Pinned): Identity => object.stat.identity;

export function release(object: Pinned): void {
  if (object.fd >= 0) closeNow(object.fd);
}

/** A path handle of Linux. What it points to is asked only when somebody needs to know: most directories are only passed. */
class ProcHandle implements Pinned {
  readonly fd: number;
  readonly path: string;
  #stat: Stat | undefined;

  constructor(fd: number, path: string, stat?: Stat) {
    this.fd = fd;
    this.path = path;
    this.#stat = stat;
  }

  get stat(): Stat {
    this.#stat ??= statOfOpen(this.fd);
    return this.#stat;
  }
}

/** How paths are walked; only `real-path check` can be raced. */
export type EngineName = "openat2" | "handle walk" | "real-path check";

/** How a step of a walk is done on this platform. */
export interface Handles {
  readonly engine: EngineName;
  /** Opens the root itself. @param realPath canonical, absolute */
  openRoot(realPath: string): PinnedRoot;
  /** The directory `name` in `parent`, not through a link. */
  enter(parent: Pinned, name: string | Buffer): Io<Pinned | "missing" | "not a directory">;
  /** The object `name` in `parent`, the link itself if it is one. */
  pin(parent: Pinned, name: string | Buffer): Io<Pinned | undefined>;
  /** Opens a pinned regular file or directory for I/O. */
  reopen(object: Pinned, flags: number): Io<number>;
  /**
   * The object that the names lead to below the root, if all but the last are directories and no link is among those.
   * `undefined` says nothing: the names must be walked then.
   */
  reach?(top: Pinned, names: readonly string[]): Pinned | undefined;
}

/**
 * Handles through `/proc/self/fd`. Opening `/proc/self/fd/<directory>/<name>` with no-follow is `openat`: the magic link
 * jumps to the pinned inode, so no rename or link above or beside it can lead the call elsewhere.
 */
export class ProcHandles implements Handles {
  readonly #sys: Sys;
  /** Directory of this process's descriptors. By its number it takes the system one link less than `/proc/self`. */
  readonly #descriptors: string;

  constructor(sys: Sys) {
    this.#sys = sys;
    const own = fs.readlinkSync("/proc/self");
    // They differ where procfs shows another pid namespace; then the number means somebody else.
    this.#descriptors = own === String(process.pid) ? `/proc/${own}/fd/` : "/proc/self/fd/";
  }

  get engine(): EngineName {
    return "handle walk";
  }

  openRoot(realPath: string): PinnedRoot {
    const fd = fs.openSync(realPath, O_PATH | O_NOFOLLOW | O_DIRECTORY);
    return { fd, path: `${this.#descriptors}${fd}`, stat: statOfOpen(fd) };
  }

  /** Takes over a path handle. */
  pinned(fd: number): Pinned {
    return new ProcHandle(fd, `${this.#descriptors}${fd}`);
  }

  *enter(parent: Pinned, name: string | Buffer): Io<Pinned | "missing" | "not a directory"> {
    try {
      return yield* this.#open(parent, name, O_PATH | O_NOFOLLOW | O_DIRECTORY);
    } catch (error) {
      const code = errnoOf(error);
      if (code === "ENOENT") return "missing";
      if (code === "ENOTDIR" || code === "ELOOP") return "not a directory";
      throw error;
    }
  }

  *pin(parent: Pinned, name: string | Buffer): Io<Pinned | undefined> {
    try {
      return yield* this.#open(parent, name, NO_FOLLOW_PATH);
    } catch (error) {
      if (errnoOf(error) === "ENOENT") return undefined;
      throw error;
    }
  }

  reopen(object: Pinned, flags: number): Io<number> {
    return this.#sys.open(object.path, flags | O_NONBLOCK);
  }

  *#open(parent: Pinned, name: string | Buffer, flags: number): Io<Pinned> {
    const fd = yield* this.#sys.open(entryPath(parent, name), flags);
    if (!this.#sys.pooled) return this.pinned(fd);
    try {
      return new ProcHandle(fd, `${this.#descriptors}${fd}`, yield* this.#sys.fstat(fd));
    } catch (error) {
      closeNow(fd);
      throw error;
    }
  }
}

/**
 * Plain paths, each component looked at without following links: the real-path check for platforms without procfs.
 * Every link is resolved and judged as on Linux, but a link that is swapped in between the look and the use is followed.
 */
export class PathHandles implements Handles {
  readonly engine = "real-path check";
  readonly #sys: Sys;

  constructor(sys: Sys) {
    this.#sys = sys;
  }

  openRoot(realPath: string): PinnedRoot {
    const stat = statOfName(realPath);
    if (stat === undefined) throw Object.assign(new Error("gone meanwhile"), { code: "ENOENT", syscall: "lstat" });
    return { fd: -1, path: realPath, stat };
  }

  *enter(parent: Pinned, name: string | Buffer): Io<Pinned | "missing" | "not a directory"> {
    const path = entryPath(parent, name);
    const stat = yield* this.#sys.lstat(path);
    if (stat === undefined) return "missing";
    // A name that is not UTF-8 has no path text to go on with.
    return stat.isDirectory() && typeof path === "string" ? { fd: -1, path, stat } : "not a directory";
  }

  *pin(parent: Pinned, name: string | Buffer): Io<Pinned | undefined> {
    const path = entryPath(parent, name);
    const stat = yield* this.#sys.lstat(path);
    // A name that is not UTF-8 has no path text to go on with.
    return stat === undefined || typeof path !== "string" ? undefined : { fd: -1, path, stat };
  }

  *reopen(object: Pinned, flags: number): Io<number> {
    const fd = yield* this.#sys.open(object.path, flags | O_NOFOLLOW | O_NONBLOCK);
    try {
      const now = yield* this.#sys.fstat(fd);
      if (now.identity === identity(object)) return fd;
    } catch (error) {
      closeNow(fd);
      throw error;
    }
    closeNow(fd);
    throw Object.assign(new Error("replaced while it was opened"), { code: "ESTALE", syscall: "open" });
  }
}

export const READ = O_RDONLY;
export const READ_DIRECTORY = O_RDONLY | O_DIRECTORY;
/** Reads what was made by {@link CREATE}, not what somebody may have put in its place. */
export const READ_NEW = O_RDONLY | O_NOFOLLOW | O_NONBLOCK;
export const APPEND = fs.constants.O_WRONLY | fs.constants.O_APPEND;
/** Makes a new file and nothing else: fails on anything that has the name, links too. */
export const CREATE = fs.constants.O_WRONLY | fs.constants.O_CREAT | fs.constants.O_EXCL | O_NOFOLLOW;
export const CREATE_APPEND = CREATE | fs.constants.O_APPEND;
