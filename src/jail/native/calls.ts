// Opens, stats, renames and lists relative to a directory handle, at a fraction of what Node's calls through /proc cost; copies in
// the kernel.

import fs from "node:fs";
import { constants } from "node:os";
import { basename, dirname } from "node:path";
import { fileURLToPath } from "node:url";
import { attempt } from "../../core/io.js";
import { type Stat, statOfOpen } from "../stat.js";
import { type DirectoryEntry, parseEntries } from "./entries.js";
import { type Library, nativeLibrary, systemError } from "./library.js";
import { type EntryFacts, parseFacts, parseStat, STAT_BYTES } from "./statx.js";

/** System calls whose numbers depend on the architecture. */
const X64 = { openat: 257, renameat: 264, statx: 332, getdents64: 217, copy_file_range: 326 };
const ARM64 = { openat: 56, renameat: 38, statx: 291, getdents64: 61, copy_file_range: 285 };
type Numbers = typeof X64;
const NUMBERS: Readonly<Record<string, Numbers>> = { x64: X64, arm64: ARM64 };
/** Equal on all supported architectures. */
const FACCESSAT2 = 439;
const { O_RDONLY, O_DIRECTORY = 0, O_NOFOLLOW = 0, O_NONBLOCK = 0 } = fs.constants;
/** See `jail/handles.ts`. */
const O_PATH = 0x200000;
/** Set by Node on its own descriptors; without it, child processes would inherit this one. */
const O_CLOEXEC = 0x80000;
const { ENOENT } = constants.errno;
const AT_SYMLINK_NOFOLLOW = 0x100;
const AT_EMPTY_PATH = 0x1000;
/** STATX_BASIC_STATS and STATX_BTIME. */
const ALL_FIELDS = 0xfff;
/** Bytes of entries fetched per call: up to some thousand names. */
const PIECE_BYTES = 65_536;
/** Calls after which loading koffi (some 7 ms) pays off. */
const CALLS_BEFORE_LOADING = 1000;

/** A directory by its descriptor, as `Pinned`. */
export interface OpenDirectory {
  readonly fd: number;
  /** Whether the descriptor itself reads the entries, from the first one. `true` once. */
  takeReading?(): boolean;
}

/** A directory being read; close it. */
export interface DirectoryReading {
  /** The next entries; none at the end. @throws system errors */
  next(): DirectoryEntry[];
  close(): void;
}

/**
 * Calls relative to a directory's descriptor. They answer `undefined` for whatever they cannot do or find: the caller
 * asks Node then, whose answer counts. So there is one set of errors, and only `find` says that a name is missing.
 */
export interface NativeCalls {
  open(directory: number, name: string | Buffer, flags: number): number | undefined;
  /** Stats one name without following links. */
  stat(directory: number, name: string | Buffer): Stat | undefined;
  /** The entry of one name as lists show it, without following links. */
  look(directory: number, name: string | Buffer): EntryFacts | undefined;
  /** Like `stat`, and tells a name that does not exist (ENOENT) from what cannot be found out. */
  find(directory: number, name: string | Buffer): Stat | "missing" | undefined;
  /** Opens for reading what a path handle stands for. */
  reopen(handle: number): number | undefined;
  /** Renames a name of one directory to a name of another, and replaces what has that name. */
  rename(directory: number, name: string, to: number, toName: string): true | undefined;
  statOpen(fd: number): Stat | undefined;
  /** `true`: this process may write what a descriptor stands for. */
  mayWrite(fd: number): true | undefined;
  /** Reads a directory: by its own descriptor where that can, so that none is opened. @param asParts see {@link parseEntries} */
  read(directory: OpenDirectory, asParts?: boolean): DirectoryReading | undefined;
  /**
   * Copies bytes of one open file to the position of another, in the kernel and the thread pool.
   * @returns how many; below 1: none could be copied this way
   */
  copy(from: { readonly fd: number; readonly at: number }, to: number, bytes: number): Promise<number>;
}

/** Loads the calls once they have been asked for often enough. */
export class NativeSource {
  /** Shared by the whole process. */
  static readonly shared = new NativeSource(CALLS_BEFORE_LOADING);
  #left: number;
  readonly #load: () => NativeCalls | undefined;
  #calls: NativeCalls | undefined;
  #isTried = false;

  /** @param load for tests: loads the calls, if available */
  constructor(after: number, load: () => NativeCalls | undefined = loadCalls) {
    this.#left = after;
    this.#load = load;
  }

  /** The calls, where they are available and loaded by now. */
  get calls(): NativeCalls | undefined {
    return this.#isTried || this.#left-- > 0 ? this.#calls : this.load();
  }

  /** The calls, for something that takes longer than loading them. */
  load(): NativeCalls | undefined {
    if (this.#isTried) return this.#calls;
    this.#isTried = true;
    this.#calls = this.#load();
    return this.#calls;
  }
}

/** @returns `undefined` where the calls cannot be made or trusted */
function loadCalls(): NativeCalls | undefined {
  const [library, numbers] = [nativeLibrary(), NUMBERS[process.arch]];
  if (library === undefined || numbers === undefined) return undefined;
  const descriptors = ownDescriptors();
  const calls = descriptors === undefined ? undefined : callsOf(library, numbers, descriptors);
  return calls !== undefined && isTrustworthy(calls) ? calls : undefined;
}

let descriptors: number | undefined;

/**
 * The directory of the descriptors of this process, kept open: a name below it costs less than the whole path.
 * `undefined` without procfs.
 */
function ownDescriptors(): number | undefined {
  descriptors ??= attempt(() => fs.openSync("/proc/self/fd", O_PATH | O_DIRECTORY));
  return descriptors;
}

function callsOf(library: Library, numbers: Numbers, own: number): NativeCalls {
  const openat = library.declare<[number, number, string, number, number]>("int, const char *, int, int");
  const statx = library.declare<[number, number, string, number, number, Uint8Array]>(
    "int, const char *, int, unsigned int, void *",
  );
  const renameat = library.declare<[number, number, string, number, string]>("int, const char *, int, const char *");
  const copyRange = library.declareAsync<[number, number, BigInt64Array, number, null, number, number]>(
    "int, void *, int, void *, size_t, unsigned int",
  );
  const access = library.declare<[number, number, string, number, number]>("int, const char *, int, int");
  const getdents = library.declare<[number, number, Uint8Array, number]>("int, void *, size_t");
  const stat = new Uint32Array(STAT_BYTES / 4);
  const statBytes = new Uint8Array(stat.buffer);
  const entries = Buffer.alloc(PIECE_BYTES);

  const statName = (directory: number, name: string): boolean =>
    statx(numbers.statx, directory, name, AT_SYMLINK_NOFOLLOW, ALL_FIELDS, statBytes) === 0;
  const open = (directory: number, name: string, flags: number): number | undefined => {
    const fd = openat(numbers.openat, directory, name, flags | O_CLOEXEC, 0);
    return fd < 0 ? undefined : fd;
  };
  const openAgain = (directory: number): number | undefined =>
    directory < 0 ? undefined : open(directory, ".", O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
  // The native call would end a name at NUL, and takes a name below no directory for one of the current directory.
  const isSafe = (directory: number, name: string | Buffer): name is string =>
    directory >= 0 && typeof name === "string" && !name.includes("\0");
  return {
    open: (directory, name, flags) => (isSafe(directory, name) ? open(directory, name, flags) : undefined),
    stat: (directory, name) => (isSafe(directory, name) && statName(directory, name) ? parseStat(stat) : undefined),
    look: (directory, name) => (isSafe(directory, name) && statName(directory, name) ? parseFacts(stat) : undefined),
    find: (directory, name) => {
      if (!isSafe(directory, name)) return undefined;
      if (statName(directory, name)) return parseStat(stat);
      return library.errno() === ENOENT ? "missing" : undefined;
    },
    reopen: (handle) => open(own, String(handle), O_RDONLY | O_NONBLOCK),
    rename: (directory, name, to, toName) =>
      isSafe(directory, name) && isSafe(to, toName) && renameat(numbers.renameat, directory, name, to, toName) === 0
        ? true
        : undefined,
    statOpen: (fd) =>
      statx(numbers.statx, fd, "", AT_EMPTY_PATH, ALL_FIELDS, statBytes) === 0 ? parseStat(stat) : undefined,
    mayWrite: (fd) =>
      fd >= 0 && access(FACCESSAT2, fd, "", fs.constants.W_OK, AT_EMPTY_PATH) === 0 ? true : undefined,
    read: (directory, asParts = false) => {
      const isOwn = directory.takeReading?.() === true;
      const fd = isOwn ? directory.fd : openAgain(directory.fd);
      if (fd === undefined) return undefined;
      return {
        next: () => {
          for (;;) {
            const count = getdents(numbers.getdents64, fd, entries, entries.length);
            if (count < 0) throw systemError(library.errno(), "scandir");
            const found = parseEntries(entries, count, asParts);
            // A piece may hold nothing but "." and "..".
            if (count === 0 || found.length > 0) return found;
          }
        },
        close: () => {
          if (!isOwn) fs.closeSync(fd);
        },
      };
    },
    copy: ({ fd, at }, to, bytes) =>
      copyRange(numbers.copy_file_range, fd, BigInt64Array.of(BigInt(at)), to, null, bytes, 0),
  };
}

/** Compares with Node's calls on the directory of this very file: a system call filter may refuse or fake a call. */
function isTrustworthy(calls: NativeCalls): boolean {
  const own = fileURLToPath(import.meta.url);
  let directory = -1;
  let file: number | undefined;
  let again: number | undefined;
  let reading: DirectoryReading | undefined;
  try {
    directory = fs.openSync(dirname(own), O_RDONLY | O_DIRECTORY);
    const { dev, ino, size, mtimeMs } = fs.lstatSync(own);
    const seen = calls.stat(directory, basename(own));
    file = calls.open(directory, basename(own), O_RDONLY | O_NOFOLLOW);
    reading = calls.read({ fd: directory });
    const missing = `${basename(own)}.missing`;
    if (calls.find(directory, missing) !== "missing") return false;
    if (calls.rename(directory, missing, directory, `${missing}-too`) !== undefined) return false;
    if (seen === undefined || file === undefined || reading === undefined) return false;
    if (seen.identity !== `${dev}:${ino}` || statOfOpen(file).identity !== seen.identity) return false;
    if (calls.statOpen(file)?.identity !== seen.identity) return false;
    again = calls.reopen(file);
    if (again === undefined || statOfOpen(again).identity !== seen.identity) return false;
    if (seen.size !== size || seen.modifiedMs !== Math.floor(mtimeMs)) return false;
    return reading.next().length > 0;
  } catch {
    return false;
  } finally {
    reading?.close();
    for (const fd of [directory, file ?? -1, again ?? -1]) if (fd >= 0) fs.closeSync(fd);
  }
}
