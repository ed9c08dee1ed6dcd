// Opens whole paths with one `openat2` call where the kernel and the native library allow it: the shortcut of a walk without links.

import { isReservedName } from "../../path/grammar.js";
import { identity, NO_FOLLOW_PATH, type Pinned, type PinnedRoot, ProcHandles, release } from "../handles.js";
import { isNativeLoaded, nativeLibrary } from "../native/library.js";
import { statOfOpen } from "../stat.js";
import { closeNow, type Sys } from "../sys.js";
import type { WalkRoot } from "./walk-options.js";

/** The number of `openat2`, equal on all supported architectures. */
const SYS_OPENAT2 = 437;
/** Set by Node on its own descriptors; without it, child processes would inherit this one. */
const O_CLOEXEC = 0x80000;
const RESOLVE_NO_MAGICLINKS = 0x02;
const RESOLVE_NO_SYMLINKS = 0x04;
const RESOLVE_BENEATH = 0x08;
const EAGAIN = 11;
/** Retries while the kernel reports EAGAIN because of concurrent renames. */
const MAX_TRIES = 128;
/** Walks after which loading the native library pays off, unless it has been loaded for something else. */
export const WALKS_BEFORE_LOADING = 1000;

/**
 * Opens a path below a directory as an `O_PATH` handle, through no link.
 * @returns a descriptor, or a negative errno
 */
export type OpenBeneath = (directory: number, path: string) => number;

interface BeneathOptions {
  readonly after: number;
  readonly load?: typeof loadOpenBeneath;
  readonly isLoaded?: () => boolean;
}

/**
 * The handle walk, with a single `openat2` call for paths without links. Whatever that call does not find is walked, so
 * the results are those of the walk. Not for roots whose calls use the thread pool.
 */
export class BeneathHandles extends ProcHandles {
  readonly #load: () => OpenBeneath | undefined;
  readonly #isLoaded: () => boolean;
  #top: Pinned | undefined;
  #walksLeft: number;
  #open: OpenBeneath | undefined;
  #tried = false;

  /**
   * @param options `after`: number of calls served by the walk first; for tests, `load`: loads the native call, if
   * available, `isLoaded`: whether that costs nothing
   */
  constructor(sys: Sys, { after, load = loadOpenBeneath, isLoaded = isNativeLoaded }: BeneathOptions) {
    super(sys);
    this.#walksLeft = after;
    this.#load = load;
    this.#isLoaded = isLoaded;
  }

  override openRoot(realPath: string): PinnedRoot {
    const top = super.openRoot(realPath);
    this.#top = top;
    return top;
  }

  /** The engine that serves this root, or will after its first calls. */
  override get engine(): "openat2" | "handle walk" {
    this.#try();
    return this.#open === undefined ? "handle walk" : "openat2";
  }

  reach(top: Pinned, names: readonly string[]): Pinned | undefined {
    if (!this.#tried) {
      if (this.#walksLeft-- > 0 && !this.#isLoaded()) return undefined;
      this.#try();
    }
    if (this.#open === undefined) return undefined;
    const path = names.join("/");
    // The native call would end the path there. The path grammar admits no NUL.
    if (path.includes("\0")) return undefined;
    const fd = this.#open(top.fd, path);
    return fd < 0 ? undefined : this.pinned(fd);
  }

  #try(): void {
    if (this.#tried || this.#top === undefined) return;
    this.#tried = true;
    const open = this.#load();
    if (open !== undefined && isTrustworthy(open, this.#top)) this.#open = open;
  }
}

/** Whether the kernel supports `openat2` and honours its flags (a system call filter may refuse or fake it). */
function isTrustworthy(open: OpenBeneath, top: Pinned): boolean {
  const [above, self] = [open(top.fd, ".."), open(top.fd, ".")];
  try {
    if (above >= 0 || self < 0) return false;
    return statOfOpen(self).identity === identity(top);
  } finally {
    for (const fd of [above, self]) if (fd >= 0) closeNow(fd);
  }
}

/** @returns `undefined` if the native library is not installed or not usable */
function loadOpenBeneath(): OpenBeneath | undefined {
  const library = nativeLibrary();
  if (library === undefined) return undefined;
  const call = library.declare<[number, number, string, Buffer, number]>("int, const char *, const void *, size_t");
  const how = openHow();
  const isDisturbed = () => library.errno() === EAGAIN;
  return (directory, path) => retryDisturbed(() => call(SYS_OPENAT2, directory, path, how, how.length), isDisturbed);
}

/**
 * Repeats a call that concurrent renames disturbed, a bounded number of times.
 * @returns the last result
 */
export function retryDisturbed(call: () => number, isDisturbed: () => boolean): number {
  for (let tries = 1; ; tries++) {
    const fd = call();
    if (fd >= 0 || tries === MAX_TRIES || !isDisturbed()) return fd;
  }
}

/** `struct open_how`: flags, mode and resolve, 64 bits each. */
function openHow(): Buffer {
  const how = Buffer.alloc(24);
  how.writeUInt32LE(NO_FOLLOW_PATH | O_CLOEXEC, 0);
  how.writeUInt32LE(RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS, 16);
  return how;
}

/**
 * Finds the object at the end of `names` without walking, if no link is involved and nothing is in doubt.
 * @returns `undefined`: the names must be walked; this discloses nothing
 */
export function findDirectly(root: WalkRoot, names: readonly string[], takesLink: boolean): Pinned | undefined {
  const { handles, top, crossDevice, foldsCase } = root;
  if (handles.reach === undefined || foldsCase || names.length === 0) return undefined;
  if (names.some((name, index) => isReservedName(name, index > 0))) return undefined;
  const object = handles.reach(top, names);
  if (object === undefined) return undefined;
  let isFound = false;
  try {
    const { stat } = object;
    isFound = (crossDevice || stat.device === top.stat.device) && (takesLink || !stat.isSymbolicLink());
  } finally {
    if (!isFound) release(object);
  }
  return isFound ? object : undefined;
}
