import { createRequire } from "node:module";
import { isMainThread } from "node:worker_threads";
import { identity, NO_FOLLOW_PATH, type Pinned, type PinnedRoot, ProcHandles } from "../handles.js";
import { statOfOpen } from "../stat.js";
import { closeNow, type Sys } from "../sys.js";

/** The same number on every processor that has a name here. */
const SYS_OPENAT2 = 437;
const PROCESSORS = new Set(["x64", "arm64"]);
/** Node sets it on what it opens itself; without it, processes started from here would inherit the descriptor. */
const O_CLOEXEC = 0x80000;
const RESOLVE_NO_MAGICLINKS = 0x02;
const RESOLVE_NO_SYMLINKS = 0x04;
const RESOLVE_BENEATH = 0x08;
const EAGAIN = 11;
/** The kernel gives up where a rename may have disturbed it. */
const MOST_TRIES = 128;
/** By then a process has lost about as much time as the native library takes to load. */
export const WALKS_BEFORE_LOADING = 1000;

/** Opens what `path` names below a directory, as a path handle, through no link at all. @returns a descriptor, or less than 0 */
export type OpenBeneath = (directory: number, path: string) => number;

/**
 * The handle walk, and for paths that hold no link one system call instead: `openat2`. Whatever it does not find at once,
 * for whatever reason, is walked, so the answers are those of the walk. Not for roots whose calls go through the thread pool.
 */
export class BeneathHandles extends ProcHandles {
  readonly #load: () => OpenBeneath | undefined;
  #top: Pinned | undefined;
  #walksLeft: number;
  #open: OpenBeneath | undefined;
  #tried = false;

  /** @param options `after`: how many calls the walk serves first; `load`, for tests: what opens, if there is anything */
  constructor(sys: Sys, { after, load = loadOpenBeneath }: { after: number; load?: typeof loadOpenBeneath }) {
    super(sys);
    this.#walksLeft = after;
    this.#load = load;
  }

  override openRoot(realPath: string): PinnedRoot {
    const top = super.openRoot(realPath);
    this.#top = top;
    return top;
  }

  /** What serves this root, or will after its first calls. */
  override get engine(): "openat2" | "handle walk" {
    this.#try();
    return this.#open === undefined ? "handle walk" : "openat2";
  }

  reach(top: Pinned, names: readonly string[]): Pinned | undefined {
    if (!this.#tried) {
      if (this.#walksLeft-- > 0) return undefined;
      this.#try();
    }
    if (this.#open === undefined) return undefined;
    const path = names.join("/");
    // The native call would end the name there; the path grammar lets none through.
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

/** Whether the kernel knows the call and heeds what it is told, rather than refuses (a filter) or something else answers. */
function isTrustworthy(open: OpenBeneath, top: Pinned): boolean {
  const [above, self] = [open(top.fd, ".."), open(top.fd, ".")];
  try {
    if (above >= 0 || self < 0) return false;
    return statOfOpen(self).identity === identity(top);
  } finally {
    for (const fd of [above, self]) if (fd >= 0) closeNow(fd);
  }
}

/** @returns `undefined` where the native library is not installed or cannot be used */
function loadOpenBeneath(): OpenBeneath | undefined {
  // In a worker Node complains of every descriptor that it closes and has not opened.
  if (process.platform !== "linux" || !PROCESSORS.has(process.arch) || !isMainThread) return undefined;
  try {
    const koffi: typeof import("koffi") = createRequire(import.meta.url)("koffi");
    const call: (number: number, directory: number, path: string, how: Buffer, size: number) => number = koffi
      .load(null)
      .func("long syscall(long, int, const char *, const void *, size_t)");
    const how = openHow();
    const isDisturbed = () => koffi.errno() === EAGAIN;
    return (directory, path) => undisturbed(() => call(SYS_OPENAT2, directory, path, how, how.length), isDisturbed);
  } catch {
    return undefined;
  }
}

/** Asks again while a rename elsewhere has disturbed the kernel, but not for ever. @returns the last answer */
export function undisturbed(call: () => number, isDisturbed: () => boolean): number {
  for (let tries = 1; ; tries++) {
    const fd = call();
    if (fd >= 0 || tries === MOST_TRIES || !isDisturbed()) return fd;
  }
}

/** `struct open_how`: flags, mode and resolution, each of 64 bits. */
function openHow(): Buffer {
  const how = Buffer.alloc(24);
  how.writeUInt32LE(NO_FOLLOW_PATH | O_CLOEXEC, 0);
  how.writeUInt32LE(RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS, 16);
  return how;
}
