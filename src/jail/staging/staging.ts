// The staging directory of a root: temporary files, lock files, removal, and sweeping what dead processes left.

import type { CallScope } from "../../core/call/scope.js";
import { type Awaitable, type Io, runIo } from "../../core/io.js";
import { RESERVED_NAME, RESERVED_PREFIX } from "../../path/grammar.js";
import {
  isDead,
  isElsewhere,
  newSerial,
  ownIdentity,
  type ProcessIdentity,
  parseIdentity,
  printIdentity,
} from "../../process/identity.js";
import { below, CREATE, type Pinned, release, statBelow } from "../handles.js";
import { finishWithReserve } from "../reserve.js";
import { errnoOf, quietly } from "../sys.js";
import type { WalkRoot } from "../walk/walk-options.js";
import { enterFolder, type FolderUse, HeldFolders, hideFromVersions, isOurs, removeStage, TRASH } from "./folder.js";
import { Leftovers } from "./leftovers.js";
import { createLock, LOCK_NAME, type LockFile, type LockPlace, pause, type Stage, takeStaleLock } from "./lock-file.js";
import { LockHolder, ownerOf } from "./lock-holder.js";
import { purge } from "./purge.js";

/** A file under construction. */
export interface StagedFile {
  /** -1 once closed. */
  fd: number;
  readonly name: string;
  readonly path: string;
  readonly stage: Stage;
}

/**
 * Errors on which staging falls back to the target's directory: the staging directory cannot be written or is not
 * genuine.
 */
const UNUSABLE = new Set(["EACCES", "EPERM", "EROFS", "ENOTDIR", "ELOOP"]);
/** Prefix of the names of folders with what is needed to undo a group of changes. */
export const INTENT_KIND = "patch";
const ATTEMPTS = 5;

/**
 * The staging directory `.venue-files/` of one root. Every use opens it without following links and checks its owner,
 * because anyone with write access to the root could have replaced it.
 */
export class Staging {
  readonly #root: WalkRoot;
  readonly #identity: ProcessIdentity = ownIdentity();
  readonly #leftovers: Leftovers;
  readonly #held = new HeldFolders();
  readonly #holder: LockHolder;

  /** @param inBackground runs work that no call waits for */
  constructor(root: WalkRoot, inBackground: (work: Awaitable<unknown>) => void) {
    this.#root = root;
    this.#leftovers = new Leftovers(() => inBackground(runIo(quietly(this.#retryPurge()))));
    this.#holder = new LockHolder(root.sys, { enter: () => this.#enter(false), inBackground });
  }

  /** A stage on the file system of `parent`: the staging directory, else `parent` itself with reserved names. */
  *open(parent: Pinned): Io<Stage> {
    const { top } = this.#root;
    const directory = parent.stat.device === top.stat.device ? yield* this.#enter(true) : undefined;
    return directory === undefined ? this.beside(parent) : { directory, prefix: "", release: () => release(directory) };
  }

  /** Like {@link open}, but a staging directory stays open for a while. @param isAnew the open one seems to be gone */
  *hold(parent: Pinned, isAnew = false): Io<Stage> {
    const isNear = parent.stat.device === this.#root.top.stat.device;
    const use = isNear ? yield* this.#held.use(RESERVED_NAME, () => this.#enter(true), isAnew) : undefined;
    return use === undefined ? this.beside(parent) : { directory: use.directory, prefix: "", release: use.release };
  }

  /** `parent` as a stage with reserved names. `parent` must stay pinned while the stage is used. */
  beside(parent: Pinned): Stage {
    return { directory: parent, prefix: RESERVED_PREFIX, release: () => {} };
  }

  /**
   * Creates an empty file in a stage.
   * @param mode permissions while it is prepared, subject to umask
   */
  *create(parent: Pinned, mode = 0o666): Io<StagedFile> {
    for (let attempt = 1; ; attempt++) {
      const stage = yield* this.hold(parent, attempt > 1);
      try {
        return yield* this.createIn(stage, mode);
      } catch (error) {
        stage.release();
        if (stage.directory === parent) throw error;
        const code = errnoOf(error) ?? "";
        // Another process removed the empty staging directory when it ended.
        if (code === "ENOENT" && attempt < ATTEMPTS) continue;
        // The staging directory may not be writable although the target's directory is.
        if (code !== "ENOENT" && !UNUSABLE.has(code)) throw error;
        return yield* this.createIn(this.beside(parent), mode);
      }
    }
  }

  *createIn(stage: Stage, mode: number): Io<StagedFile> {
    const name = this.newName(stage);
    const path = below(stage.directory, name);
    return { fd: yield* this.#root.sys.open(path, CREATE, mode), name, path, stage };
  }

  /** An unused name in a stage. */
  newName = ({ prefix }: Stage): string => `${prefix}${this.#newText()}`;

  #newText = (): string => printIdentity(this.#identity, newSerial());

  /**
   * Waits for and takes the lock file of the root, or of `parent` where staging is not possible. `parent` must stay
   * pinned until release.
   * @throws TIMEOUT, ABORTED
   */
  *lock(parent: Pinned, scope: CallScope): Io<LockFile> {
    let isTakenOver = false;
    for (let attempt = 0; ; attempt++) {
      const stage = yield* this.hold(parent, attempt > 0);
      const lock: LockFile | "held" | "stale" = yield* this.#tryLock(parent, stage, isTakenOver);
      if (lock !== "held" && lock !== "stale") return lock;
      isTakenOver ||= lock === "stale";
      scope.checkpoint();
      yield pause(attempt);
      scope.checkpoint();
    }
  }

  /** `held`, or released just now; `stale`: it was, and has been removed. */
  *#tryLock(parent: Pinned, stage: Stage, isTakenOver: boolean): Io<LockFile | "held" | "stale"> {
    let lock: LockFile | undefined;
    try {
      lock = yield* createLock(this.#lockPlace(stage), this.#newText(), isTakenOver);
      return lock;
    } catch (error) {
      const code = errnoOf(error) ?? "";
      if (code === "EEXIST") return (yield* this.#removeStaleLock(stage)) ? "stale" : "held";
      // Another process removed the empty staging directory when it ended.
      if (stage.directory === parent || (code !== "ENOENT" && !UNUSABLE.has(code))) throw error;
      return code === "ENOENT" ? "held" : yield* this.#tryLock(parent, this.beside(parent), isTakenOver);
    } finally {
      if (lock === undefined) stage.release();
    }
  }

  /** @returns whether there was one */
  *#removeStaleLock(stage: Stage): Io<boolean> {
    const taken = yield* takeStaleLock(this.#lockPlace(stage), this.#identity);
    if (taken !== undefined) yield* this.purge(stage, taken);
    return taken !== undefined;
  }

  #lockPlace(stage: Stage): LockPlace {
    const { sys, handles } = this.#root;
    return { sys, handles, stage, holder: this.#holder, newName: () => this.newName(stage) };
  }

  /** Removes leftovers of dead processes from the staging directory. Never fails: what cannot be removed stays. */
  *sweep(): Io<void> {
    yield* this.#inStage((stage) => this.sweepIn(stage));
  }

  /** Runs `work` in the staging directory. @returns whether there is one */
  *#inStage(work: (stage: Stage) => Io<unknown>): Io<boolean> {
    const directory = yield* quietly(this.#enter(false));
    if (directory === undefined) return false;
    try {
      yield* work({ directory, prefix: "", release: () => {} });
      return true;
    } finally {
      release(directory);
    }
  }

  /**
   * Removes leftovers of dead processes from one stage.
   * @returns whether there were any
   */
  *sweepIn(stage: Stage): Io<boolean> {
    const entries = (yield* quietly(this.#root.sys.names(stage.directory))) ?? [];
    // The lock of a group tells other processes that it may be half done: it stays until that is undone.
    const hasIntent = entries.some(({ name }) => name.startsWith(`${stage.prefix}${INTENT_KIND}-`));
    let found = !hasIntent && (yield* quietly(this.#removeStaleLock(stage))) === true;
    for (const { name } of entries) {
      const left = name.startsWith(stage.prefix) ? ownerOf(name.slice(stage.prefix.length)) : undefined;
      if (left === undefined || !isDead(left, this.#identity)) continue;
      found = true;
      yield* this.purge(stage, name);
    }
    return found;
  }

  /** Whether the lock file of the root may be that of a dead process. Only one system call where there is none. */
  *isLocked(): Io<boolean> {
    const { sys, top } = this.#root;
    return (yield* quietly(statBelow(sys, top, `${RESERVED_NAME}/${LOCK_NAME}`))) !== undefined;
  }

  /**
   * Files in the staging directory named `<kind>-<process>` of processes not known to run; sweeps leave these alone.
   * `isSure`: the process is dead. The caller releases the stage.
   */
  *findLeftovers(kind: string): Io<{ stage: Stage; left: { name: string; isSure: boolean }[] } | undefined> {
    const directory = yield* this.#enter(false);
    if (directory === undefined) return undefined;
    const left: { name: string; isSure: boolean }[] = [];
    for (const { name } of (yield* quietly(this.#root.sys.names(directory))) ?? []) {
      const owner = name.startsWith(`${kind}-`) ? parseIdentity(name.slice(kind.length + 1)) : undefined;
      if (owner === undefined) continue;
      const isSure = isDead(owner, this.#identity);
      if (isSure || isElsewhere(owner, this.#identity)) left.push({ name, isSure });
    }
    return { stage: { directory, prefix: "", release: () => release(directory) }, left };
  }

  /** A private directory inside the staging directory. `undefined`: there is none, or it is not genuine. */
  *folder(name: string, create: boolean): Io<Pinned | undefined> {
    const stage = yield* this.#enter(create);
    if (stage === undefined) return undefined;
    try {
      return yield* enterFolder(this.#root, stage, { name, create });
    } catch (error) {
      const code = errnoOf(error);
      if (code === undefined || !(UNUSABLE.has(code) || code === "ENOENT")) throw error;
      return undefined;
    } finally {
      release(stage);
    }
  }

  /** Like {@link folder} with `create`, but it stays open for a while. @param isAnew the open one seems to be gone */
  heldFolder(name: string, isAnew = false): Io<FolderUse | undefined> {
    return this.#held.use(name, () => this.folder(name, true), isAnew);
  }

  /** Removes a folder made by {@link folder}, if it is empty. Never fails. */
  *removeFolder(name: string): Io<void> {
    this.#held.retire(name);
    yield* this.#inStage(({ directory }) => quietly(this.#root.sys.rmdir(below(directory, name))));
  }

  /** Removes the staging directory if it is empty. Never fails. Call it after all other work on it has ended. */
  *removeIfEmpty(): Io<void> {
    yield* quietly(this.#retryPurge());
    yield* this.removeFolder(TRASH);
    this.#held.retire(RESERVED_NAME);
    this.#leftovers.stop();
    yield* this.#holder.drop();
    yield* this.#inStage(({ directory }) => quietly(removeStage(this.#root, directory)));
  }

  /**
   * Removes one staged entry of any depth. Never fails: an entry that stays in the staging directory is retried later,
   * then left to a sweep, as is one beside a target.
   */
  *purge(stage: Stage, name: string, progress?: (entries: number) => void): Io<void> {
    const place = { directory: stage.directory, freeName: () => this.newName(stage) };
    const { sys, handles } = this.#root;
    const left = yield* finishWithReserve(purge({ sys, handles, progress }, place, name));
    if (stage.prefix === "") this.#leftovers.add(left);
  }

  *#retryPurge(): Io<void> {
    const names = this.#leftovers.take();
    if (names.length === 0) return;
    const purgeAll = function* (this: Staging, stage: Stage): Io<void> {
      for (const name of names) yield* this.purge(stage, name);
    };
    if (!(yield* this.#inStage(purgeAll.bind(this)))) this.#leftovers.add(names);
  }

  *#enter(create: boolean): Io<Pinned | undefined> {
    const stage = yield* this.#genuine(create);
    if (create && stage !== undefined) yield* quietly(hideFromVersions(this.#root.sys, stage));
    return stage;
  }

  *#genuine(create: boolean): Io<Pinned | undefined> {
    const { handles, top, sys } = this.#root;
    try {
      let directory = yield* handles.enter(top, RESERVED_NAME);
      if (directory === "missing" && create) {
        yield* sys.mkdir(below(top, RESERVED_NAME), 0o700);
        directory = yield* handles.enter(top, RESERVED_NAME);
      }
      if (typeof directory === "string") return undefined;
      if (isOurs(directory) && directory.stat.device === top.stat.device) return directory;
      release(directory);
      return undefined;
    } catch (error) {
      const code = errnoOf(error);
      if (code === "EEXIST") return yield* this.#genuine(false);
      if (code === undefined || !UNUSABLE.has(code)) throw error;
      return undefined;
    }
  }
}
