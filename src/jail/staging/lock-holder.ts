// The file that names this process in the staging directory. A lock file is a second name of it: a link takes a fraction
// of the time of a new file.

import type { Identity } from "../../core/identity.js";
import { type Awaitable, type Io, runIo } from "../../core/io.js";
import { type ProcessIdentity, parseIdentity } from "../../process/identity.js";
import { below, CREATE, type Pinned, release } from "../handles.js";
import { errnoOf, quietly, type Sys } from "../sys.js";

/** Begins the name of such a file, before the identity of its process. */
const HOLDER_KIND = "holder-";
/**
 * Age (ms) from which a new file is made. Others may take away a lock that is older than two minutes, and recognise it
 * by its inode: no later lock has the same.
 */
const MAX_AGE_MS = 30_000;
/** Locks that follow each other within this time (ms) are links; after it the file is removed. */
const IDLE_MS = 1000;

/** The inode of a lock file. */
export interface LockInode {
  readonly identity: Identity;
  /** Lets go of it once the lock file is gone. */
  close(): Io<void>;
}

interface HolderFile {
  readonly name: string;
  /** Kept open so that the inode number cannot be reused. */
  readonly fd: number;
  readonly identity: Identity;
  readonly madeMs: number;
}

/** The process that made a file of the staging directory, by its name. */
export const ownerOf = (name: string): ProcessIdentity | undefined =>
  parseIdentity(name.startsWith(HOLDER_KIND) ? name.slice(HOLDER_KIND.length) : name);

/** Where the lock file is made. */
interface LockStage {
  readonly directory: Pinned;
  readonly prefix: string;
}

interface HolderParts {
  /** Enters the staging directory, if it is there. */
  readonly enter: () => Io<Pinned | undefined>;
  /** Runs work that no call waits for. */
  readonly inBackground: (work: Awaitable<unknown>) => void;
}

/** Makes lock files, one at a time. */
export class LockHolder {
  readonly #sys: Sys;
  readonly #parts: HolderParts;
  #file: HolderFile | undefined;
  #canLink = true;
  #isUsed = false;
  #usedMs = Number.NEGATIVE_INFINITY;
  #timer: NodeJS.Timeout | undefined;

  constructor(sys: Sys, parts: HolderParts) {
    this.#sys = sys;
    this.#parts = parts;
  }

  /**
   * Makes a lock file.
   * @param text identifies the process
   * @throws system errors; EEXIST if the lock is held
   */
  *lock({ directory, prefix }: LockStage, path: string, text: string): Io<LockInode> {
    const isFrequent = this.#file !== undefined || performance.now() - this.#usedMs < IDLE_MS;
    // A directory of the user gets no file besides the lock.
    const linked = isFrequent && prefix === "" ? yield* this.#link(directory, path, text) : undefined;
    if (linked !== undefined) return { identity: linked, close: () => this.#close(undefined) };
    const { identity, fd } = yield* createFile(this.#sys, path, text);
    return { identity, close: () => this.#close(fd) };
  }

  *#link(stage: Pinned, path: string, text: string): Io<Identity | undefined> {
    if (!this.#canLink) return undefined;
    this.#isUsed = true;
    let linked: Identity | undefined;
    try {
      if (this.#file !== undefined && performance.now() - this.#file.madeMs > MAX_AGE_MS) yield* this.drop();
      linked = yield* this.#linkFile(stage, path, text);
    } finally {
      this.#isUsed = linked !== undefined;
    }
    return linked;
  }

  *#linkFile(stage: Pinned, path: string, text: string): Io<Identity | undefined> {
    for (;;) {
      const found = this.#file;
      const { name, identity } = found ?? (yield* this.#make(stage, text));
      try {
        yield* this.#sys.link(below(stage, name), path);
        return identity;
      } catch (error) {
        const code = errnoOf(error);
        if (code === undefined || code === "EEXIST") throw error;
        yield* this.drop();
        // The staging directory is another one by now.
        if (code === "ENOENT" && found !== undefined) continue;
        if (code === "ENOENT") throw error;
        this.#canLink = false;
        return undefined;
      }
    }
  }

  *#make(stage: Pinned, text: string): Io<HolderFile> {
    const name = `${HOLDER_KIND}${text}`;
    const made = yield* createFile(this.#sys, below(stage, name), text);
    this.#file = { ...made, name, madeMs: performance.now() };
    this.#watch();
    return this.#file;
  }

  *#close(fd: number | undefined): Io<void> {
    this.#isUsed = false;
    this.#usedMs = performance.now();
    if (fd !== undefined) yield* this.#sys.close(fd);
  }

  #watch(): void {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => {
      if (this.#isUsed || performance.now() - this.#usedMs < IDLE_MS) this.#watch();
      else this.#parts.inBackground(runIo(this.drop()));
    }, IDLE_MS);
    // The timer must not keep the process alive: a later start sweeps the rest.
    this.#timer.unref();
  }

  /** Removes the file behind the links. Never fails. */
  *drop(): Io<void> {
    clearTimeout(this.#timer);
    const file = this.#file;
    if (file === undefined) return;
    this.#file = undefined;
    const stage = yield* quietly(this.#parts.enter());
    if (stage !== undefined) {
      yield* quietly(this.#sys.unlink(below(stage, file.name)));
      release(stage);
    }
    yield* quietly(this.#sys.close(file.fd));
  }
}

/** Readable by processes of other users, which need to see who holds the lock. */
function* createFile(sys: Sys, path: string, text: string): Io<Pick<HolderFile, "fd" | "identity">> {
  const fd = yield* sys.open(path, CREATE, 0o644);
  try {
    yield* sys.writeAll(fd, Buffer.from(text));
    return { fd, identity: (yield* sys.fstat(fd)).identity };
  } catch (error) {
    yield* quietly(sys.close(fd));
    yield* quietly(sys.unlink(path));
    throw error;
  }
}
