// The jail of one root: see {@link Jail}.

import { statSync } from "node:fs";
import { statfs } from "node:fs/promises";
import type { RelPath } from "../core/call/path.js";
import { aborted } from "../core/errors/texts.js";
import { type Awaitable, attempt, type Io, isPending, runIo } from "../core/io.js";
import { settleWithin } from "../core/turns.js";
import { realHostPath } from "../process/host-path.js";
import { handlesFor, sysFor } from "./engines.js";
import { Folding } from "./folding.js";
import { type EngineName, type Handles, identity, type Pinned, type PinnedRoot, release } from "./handles.js";
import { isNetworkFileSystem, othersMayReplace, unfitAsRoot } from "./mounts.js";
import { pool } from "./pool.js";
import { joinReserve, leaveReserve } from "./reserve.js";
import type { Locks } from "./staging/locks.js";
import { Staging } from "./staging/staging.js";
import { statOfName } from "./stat.js";
import { closeNow, type Sys } from "./sys.js";
import { Walk } from "./walk/walk.js";
import type { WalkOptions, WalkRoot } from "./walk/walk-options.js";

/** Time (ms) that {@link Jail.close} waits for calls whose callers already have an answer. */
const CLOSE_PATIENCE_MS = 5000;
/** Handles of replaced files that the thread pool closes at one time; further ones are closed at once. */
const MAX_CLOSING = 32;

export interface JailOptions {
  /** Host directory, absolute. */
  readonly path: string;
  readonly readOnly: boolean;
  readonly crossDevice: boolean;
  /** Where small system calls run; `auto` chooses by file system. */
  readonly io: "auto" | "sync" | "pool";
  /**
   * Undoes what dead processes left half done. Runs before anything else, and again when one is found to have died.
   * @param isLocked the lock file of the root is held
   */
  readonly recover?: ((jail: Jail, isLocked: boolean) => Io<void>) | undefined;
  /** For tests: another engine than the best available, or that engine from the first call on. */
  readonly engine?: EngineName;
}

/**
 * Confines every operation to one root.
 *
 * Guaranteed on Linux with procfs: no operation reads, creates, changes, removes or reveals anything outside the root,
 * whatever names, links and concurrent renames the tree holds. Every path is walked a component at a time by directory
 * handles, or opened by the kernel in a way that follows no link, so what was checked is what is used.
 *
 * Not guaranteed: hard links made by someone with rights outside; mounts made inside by an administrator (directories
 * on another device are refused unless `crossDevice`, mounts of the same file system are not noticed); a directory
 * moved out of the root by someone entitled to while one call holds it. Elsewhere (macOS, Windows, Linux without
 * procfs) links are resolved and judged the same way, but one that is swapped during a call may be followed: no content of what it leads
 * to is read or changed where the system tells where an open file is (`native/where.ts`), its name and stat may be told.
 */
export class Jail implements WalkRoot {
  readonly sys: Sys;
  readonly handles: Handles;
  readonly top: PinnedRoot;
  readonly realPath: string;
  readonly crossDevice: boolean;
  readonly staging: Staging;
  readonly locks: Locks;
  /** Warnings for the operator about this root; they contain host paths. */
  readonly warnings: readonly string[];
  readonly #options: JailOptions;
  readonly #folding: Folding;
  readonly #background = new Set<Promise<unknown>>();
  #recovering: Promise<unknown> | undefined;
  #walks = 0;
  /** Handles that {@link closeReplaced} has given to the thread pool. */
  #closingLate = 0;
  #closing: Promise<void> | undefined;
  #onIdle: () => void = () => {};
  readonly #onWalkClosed = () => {
    if (--this.#walks === 0) this.#onIdle();
  };

  /** @throws Error whose message completes "Root 'x' …" if the directory cannot be a root */
  constructor(options: JailOptions, locks: Locks) {
    this.#options = options;
    this.realPath = canonicalDirectory(options.path);
    const unfit = unfitAsRoot(this.realPath);
    if (unfit !== undefined) throw new Error(`cannot be a root: ${unfit}: ${options.path}`);
    const usePool = options.io === "pool" || (options.io === "auto" && isNetworkFileSystem(this.realPath));
    this.sys = sysFor(options.engine, usePool, this.realPath);
    this.handles = handlesFor(options.engine, this.sys);
    this.warnings = othersMayReplace(this.realPath, ownUid())
      ? [`others may write to a directory above ${this.realPath}, and so replace it before the next start`]
      : [];
    this.top = this.handles.openRoot(this.realPath);
    try {
      this.#folding = new Folding(this.top, this.realPath, !options.readOnly);
    } catch (error) {
      release(this.top);
      throw error;
    }
    joinReserve();
    this.crossDevice = options.crossDevice;
    this.locks = locks;
    this.staging = new Staging(this, (work) => this.trackBackground(work));
    if (!options.readOnly) this.#recovering = this.#start(runIo(this.#tidy()));
  }

  get foldsCase(): boolean {
    return this.#folding.isOn;
  }

  /** Whether a directory below the root folds of itself is seen by `foldsCase` from then on. */
  detectFolding(directory: Pinned, asked: { readonly name: string; readonly mayMake: boolean }): Io<void> {
    const mayMake = asked.mayMake && !this.readOnly;
    return this.#folding.lookAt(this.sys, directory, { name: asked.name, mayMake });
  }

  /** The recovery that every call waits for; `undefined`: none. */
  get recovering(): Promise<unknown> | undefined {
    return this.#recovering;
  }

  #start(work: Awaitable<unknown>): Promise<unknown> | undefined {
    if (!isPending(work)) return undefined;
    this.trackBackground(work);
    const done = (): void => {
      this.#recovering = undefined;
    };
    return work.then(done, done);
  }

  /** Leftovers are swept only when nothing of them is needed any more. */
  *#tidy(): Io<void> {
    yield* this.recover(false);
    yield* this.staging.sweep();
  }

  /** Undoes what dead processes left half done. @param isLocked the lock file of the root is held */
  *recover(isLocked: boolean): Io<void> {
    const { recover } = this.#options;
    if (recover !== undefined) yield* recover(this, isLocked);
  }

  get readOnly(): boolean {
    return this.#options.readOnly;
  }

  get isClosing(): boolean {
    return this.#closing !== undefined;
  }

  get engine(): EngineName {
    return this.handles.engine;
  }

  /** @throws ABORTED once the jail is closed */
  walk(path: RelPath, options: WalkOptions): Walk {
    if (this.#closing !== undefined) throw aborted();
    this.#walks++;
    return new Walk(this, path, options, { since: this.locks.turn, onClose: this.#onWalkClosed });
  }

  /**
   * A jail for a directory that was created where this jail's directory was deleted, if it is acceptable as it would be
   * at a start. Users who could not replace the root before must not be able to now: no link is followed, no other user
   * may change the directories above, and in a shared directory such as `/tmp` the new owner must be the old one, root
   * or this process's user.
   * @returns `undefined` if there is none, without a reason
   */
  replacement(): Jail | undefined {
    const { realPath } = this;
    try {
      if (realHostPath(realPath) !== realPath || othersMayReplace(realPath, ownUid())) return undefined;
      const made = statOfName(realPath);
      if (made === undefined || made.identity === identity(this.top)) return undefined;
      if (![0, ownUid(), this.top.stat.uid].includes(made.uid)) return undefined;
      return new Jail({ ...this.#options, path: realPath }, this.locks);
    } catch {
      return undefined;
    }
  }

  /** Disk usage of the root's file system in bytes; `freeBytes` is what this process may still use. */
  async usage(): Promise<{ sizeBytes: number; freeBytes: number }> {
    const { bsize, blocks, bavail } = await statfs(this.realPath);
    return { sizeBytes: blocks * bsize, freeBytes: bavail * bsize };
  }

  /** Closes the last handle of a large replaced file in the thread pool: freeing its content may hold the loop. */
  readonly closeReplaced = (fd: number): void => {
    if (this.#closingLate >= MAX_CLOSING) closeNow(fd);
    else this.trackBackground(this.#closeLate(fd));
  };

  async #closeLate(fd: number): Promise<void> {
    this.#closingLate++;
    await pool.close(fd).finally(() => {
      this.#closingLate--;
    });
  }

  /** Makes {@link close} wait for this work. The next sweep does what failed. */
  trackBackground(work: Awaitable<unknown>): void {
    if (!isPending(work)) return;
    const done = work.then(
      () => {},
      () => {},
    );
    this.#background.add(done);
    void done.finally(() => this.#background.delete(done));
  }

  /**
   * Refuses new walks and waits a bounded time for current ones, since one may hang on content that never arrives.
   * Handles stay open until the last walk ends, so that their descriptor numbers are not reused.
   */
  close(): Promise<void> {
    this.#closing ??= settleWithin(
      this.#idle().then(() => this.#end()),
      CLOSE_PATIENCE_MS,
    );
    return this.#closing;
  }

  async #idle(): Promise<void> {
    if (this.#walks === 0) return;
    await new Promise<void>((resolve) => {
      this.#onIdle = resolve;
    });
  }

  async #end(): Promise<void> {
    await Promise.all(this.#background);
    if (!this.#options.readOnly) await runIo(this.staging.removeIfEmpty());
    release(this.top);
    leaveReserve();
  }
}

const ownUid = (): number => process.geteuid?.() ?? 0;

function canonicalDirectory(path: string): string {
  const real = attempt(() => realHostPath(path));
  if (real === undefined) throw new Error(`does not exist or cannot be reached: ${path}`);
  if (!statSync(real).isDirectory()) throw new Error(`is not a directory: ${path}`);
  return real;
}
