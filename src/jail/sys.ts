// The system calls used on the content of a root, synchronous or in the thread pool.

import fs, { type Dir, type Dirent } from "node:fs";
import { type Awaitable, type Io, wait } from "../core/io.js";
import { isLinux } from "../core/system.js";
import type { NativeSource, OpenDirectory } from "./native/calls.js";
import { type DirectoryEntry, fromDirent } from "./native/entries.js";
import { type NameOptions, pool, pooledStat } from "./pool.js";
import { releaseReserved } from "./reserve.js";
import { type Stat, statOfName, statOfOpen } from "./stat.js";

/** Entries of a large directory fetched per call. */
const PIECE = 256;

/** Runs a system call and returns `undefined` if it fails. */
export function* quietly<T>(call: Io<T>): Io<T | undefined> {
  try {
    return yield* call;
  } catch (error) {
    if (errnoOf(error) === undefined) throw error;
    return undefined;
  }
}

/** Runs a system call and returns whether it succeeded. */
export function* succeeds(call: Io<void>): Io<boolean> {
  try {
    yield* call;
    return true;
  } catch (error) {
    if (errnoOf(error) === undefined) throw error;
    return false;
  }
}

/** Bodies above this size (bytes) use the thread pool even on a local disk: other calls are served meanwhile. */
const LARGE_BYTES = 262_144;
const OPEN_RETRIES = 5;

/** The errno name, if `error` comes from a failed system call. */
export function errnoOf(error: unknown): string | undefined {
  // By shape: an error of another realm is not an instance of this realm's Error.
  if (typeof error !== "object" || error === null || !("code" in error) || !("syscall" in error)) return undefined;
  return typeof error.code === "string" ? error.code : undefined;
}

/** Whether a system call failed for lack of descriptors, in this process or the system. */
export const isExhaustion = (error: unknown): boolean => /^E[MN]FILE$/.test(errnoOf(error) ?? "");

/** Whether an open may soon succeed. EAGAIN: another process has claimed the file, for less than a moment. */
const isPassing = (error: unknown): boolean => isExhaustion(error) || errnoOf(error) === "EAGAIN";

function* retryOpen<T>(open: () => Awaitable<T>): Io<T> {
  for (let attempt = 1; ; ) {
    try {
      return yield* wait(open());
    } catch (error) {
      if (!isPassing(error)) throw error;
      if (isExhaustion(error) && releaseReserved()) continue;
      if (attempt > OPEN_RETRIES) throw error;
      const pauseMs = 10 * attempt++;
      yield new Promise((resolve) => setTimeout(resolve, pauseMs));
    }
  }
}

/**
 * The system calls of one root: all synchronous, or all in the thread pool (network file systems). They fail with the
 * system's errors, which contain paths and must not leave the jail and the backend.
 */
export class Sys {
  readonly #pool: boolean;
  /** Calls on descriptors by koffi; the other calls here answer the rest. */
  readonly native: NativeSource | undefined;

  /** @param native absent: all calls are those of Node */
  constructor(usePool: boolean, native?: NativeSource) {
    this.#pool = usePool;
    this.native = usePool ? undefined : native;
  }

  /** Whether every call uses the thread pool. */
  get pooled(): boolean {
    return this.#pool;
  }

  *open(path: string | Buffer, flags: number, mode = 0o666): Io<number> {
    if (this.#pool) return yield* retryOpen(() => pool.open(path, flags, mode));
    try {
      return fs.openSync(path, flags, mode);
    } catch (error) {
      if (!isPassing(error)) throw error;
    }
    return yield* retryOpen(() => fs.openSync(path, flags, mode));
  }

  /** Closes a descriptor that was written to; for others use {@link closeNow}. */
  *close(fd: number): Io<void> {
    if (this.#pool) yield pool.close(fd);
    else fs.closeSync(fd);
  }

  *fstat(fd: number): Io<Stat> {
    if (this.#pool) return (yield pooledStat((options) => pool.fstat(fd, options))) as Stat;
    return this.native?.calls?.statOpen(fd) ?? statOfOpen(fd);
  }

  /** `undefined` if the name does not exist. */
  *lstat(path: string | Buffer): Io<Stat | undefined> {
    if (!this.#pool) return statOfName(path);
    try {
      return (yield pooledStat((options) => pool.lstat(path, options))) as Stat;
    } catch (error) {
      if (errnoOf(error) === "ENOENT") return undefined;
      throw error;
    }
  }

  *readlink(path: string): Io<string> {
    return this.#pool ? ((yield pool.readlink(path)) as string) : fs.readlinkSync(path, "utf8");
  }

  /** The entries of a directory, all at once. */
  *names(directory: OpenDirectory & { readonly path: string }): Io<DirectoryEntry[]> {
    const found = this.namesNow(directory);
    if (found !== undefined) return found;
    const options: NameOptions = { withFileTypes: true, encoding: "latin1" };
    const entries = this.#pool
      ? yield* retryOpen(() => pool.names(directory.path, options))
      : yield* retryOpen(() => fs.readdirSync(directory.path, options as { withFileTypes: true }));
    return entries.map(fromDirent);
  }

  /** The same by a native call; `undefined` where it cannot be made. */
  namesNow(directory: OpenDirectory, asParts?: boolean): DirectoryEntry[] | undefined {
    const reading = this.native?.calls?.read(directory, asParts);
    if (reading === undefined) return undefined;
    try {
      const found = reading.next();
      for (let more = found; more.length > 0; ) {
        more = reading.next();
        for (const entry of more) found.push(entry);
      }
      return found;
    } catch (error) {
      if (errnoOf(error) === undefined) throw error;
      return undefined;
    } finally {
      reading.close();
    }
  }

  /** Opens a directory for {@link readPiece}; the caller closes it. */
  *openDirectory(path: string): Io<Dir> {
    const options = { encoding: "latin1", bufferSize: PIECE } as const;
    if (this.#pool) return yield* retryOpen(() => pool.opendir(path, options));
    return yield* retryOpen(() => fs.opendirSync(path, options));
  }

  /** The next entries of a directory; empty at its end. Names as in {@link names}. */
  *readPiece(directory: Dir): Io<DirectoryEntry[]> {
    const entries: DirectoryEntry[] = [];
    while (entries.length < PIECE) {
      const entry = this.#pool ? ((yield directory.read()) as Dirent | null) : directory.readSync();
      if (entry === null) break;
      entries.push(fromDirent(entry));
    }
    return entries;
  }

  /** Bytes read, 0 at the end of the file. */
  *read(fd: number, buffer: Buffer, at: number, position: number): Io<number> {
    const length = buffer.length - at;
    if (!this.#pool && length <= LARGE_BYTES) return fs.readSync(fd, buffer, at, length, position);
    return ((yield pool.read(fd, buffer, at, length, position)) as { bytesRead: number }).bytesRead;
  }

  /** @returns bytes written, possibly fewer than given */
  *write(fd: number, buffer: Uint8Array, at: number): Io<number> {
    const length = buffer.length - at;
    if (!this.#pool && length <= LARGE_BYTES) return fs.writeSync(fd, buffer, at, length);
    return ((yield pool.write(fd, buffer, at, length)) as { bytesWritten: number }).bytesWritten;
  }

  *writeAll(fd: number, bytes: Uint8Array): Io<void> {
    for (let done = 0; done < bytes.length; ) done += yield* this.write(fd, bytes, done);
  }

  *mkdir(path: string | Buffer, mode: number): Io<void> {
    if (this.#pool) yield pool.mkdir(path, mode);
    else fs.mkdirSync(path, mode);
  }

  *unlink(path: string | Buffer): Io<void> {
    if (this.#pool) yield pool.unlink(path);
    else fs.unlinkSync(path);
  }

  /** Always in the thread pool: freeing the content of a file may wait for the disk. */
  *unlinkLarge(path: string): Io<void> {
    yield pool.unlink(path);
  }

  *rmdir(path: string | Buffer): Io<void> {
    if (this.#pool) yield pool.rmdir(path);
    else fs.rmdirSync(path);
  }

  /** Always in the thread pool: removing a directory that held very many names is slow. */
  *rmdirLarge(path: string): Io<void> {
    yield pool.rmdir(path);
  }

  *rename(from: string | Buffer, to: string): Io<void> {
    if (this.#pool) yield pool.rename(from, to);
    else fs.renameSync(from, to);
  }

  /** Creates a hard link. Outside of Linux links get none: macOS would link to what they lead to, in the root or not. */
  *link(from: string | Buffer, to: string): Io<void> {
    const isLink = !isLinux() && (yield* this.lstat(from))?.isSymbolicLink() === true;
    if (isLink) throw Object.assign(new Error("a link has one name"), { code: "ENOTSUP", syscall: "link" });
    if (this.#pool) yield pool.link(from, to);
    else fs.linkSync(from, to);
  }

  *symlink(target: string, path: string): Io<void> {
    if (this.#pool) yield pool.symlink(target, path);
    else fs.symlinkSync(target, path);
  }

  /** Shares the blocks of one open file with another (reflink), or fails. Always in the thread pool. */
  *clone(from: number, to: number): Io<void> {
    const path = (fd: number): string => `/proc/self/fd/${fd}`;
    yield pool.copyFile(path(from), path(to), fs.constants.COPYFILE_FICLONE_FORCE);
  }

  /** Always in the thread pool: a flush can take arbitrarily long. */
  *fsync(fd: number): Io<void> {
    yield pool.fsync(fd);
  }

  *ftruncate(fd: number, size: number): Io<void> {
    if (this.#pool) yield pool.ftruncate(fd, size);
    else fs.ftruncateSync(fd, size);
  }

  *fchmod(fd: number, mode: number): Io<void> {
    if (this.#pool) yield pool.fchmod(fd, mode);
    else fs.fchmodSync(fd, mode);
  }

  *fchown(fd: number, uid: number, gid: number): Io<void> {
    if (this.#pool) yield pool.fchown(fd, uid, gid);
    else fs.fchownSync(fd, uid, gid);
  }

  *chmod(path: string, mode: number): Io<void> {
    if (this.#pool) yield pool.chmod(path, mode);
    else fs.chmodSync(path, mode);
  }

  *chown(path: string, uid: number, gid: number): Io<void> {
    if (this.#pool) yield pool.chown(path, uid, gid);
    else fs.chownSync(path, uid, gid);
  }

  /** Applies to a link itself. */
  *lchown(path: string | Buffer, uid: number, gid: number): Io<void> {
    if (this.#pool) yield pool.lchown(path, uid, gid);
    else fs.lchownSync(path, uid, gid);
  }

  mayWrite(object: { readonly fd: number; readonly path: string }): Io<boolean> {
    return succeeds(this.checkWrite(object));
  }

  /** @throws a system error unless this process may write a file */
  *checkWrite({ fd, path }: { readonly fd: number; readonly path: string }): Io<void> {
    if (this.native?.calls?.mayWrite(fd) === true) return;
    if (this.#pool) yield pool.access(path, fs.constants.W_OK);
    else fs.accessSync(path, fs.constants.W_OK);
  }
}

/** Closes a descriptor that was not written to; this does not block, even on a network file system. */
export function closeNow(fd: number): void {
  fs.closeSync(fd);
}
