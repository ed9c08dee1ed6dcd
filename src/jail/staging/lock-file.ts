// Lock files: one process at a time decides on and makes a conditional change in a root.

import type { Io } from "../../core/io.js";
import { isDead, NO_BOOT_ID, type ProcessIdentity, parseIdentity } from "../../process/identity.js";
import { below, type Handles, identity, type Pinned, READ, release, statBelow } from "../handles.js";
import { closeNow, quietly, type Sys, succeeds } from "../sys.js";
import type { LockHolder } from "./lock-holder.js";

/**
 * A directory in which content is prepared before a rename puts it in place, or removed after a rename took it away.
 */
export interface Stage {
  readonly directory: Pinned;
  /** Prefix of all names in it. */
  readonly prefix: string;
  release(): void;
}

/** Name of the lock file, after the prefix of its stage. */
export const LOCK_NAME = "lock";
/** Age (ms) after which a lock of another container is stale: twice the maximum deadline of a call. */
const FOREIGN_STALE_MS = 120_000;
/**
 * The same of a lock that no process of this system holds, where one of the two has no id of its run: of a machine that shares
 * the folder, or brought along by a repository. A holder looks whether it still has it before it changes anything.
 */
const STRANGE_STALE_MS = 10_000;
/**
 * Age (ms) after which a lock without a readable holder is stale. A holder writes its name immediately after creating
 * it.
 */
const NAMELESS_STALE_MS = 2_000;
const LONGEST_TEXT = 256;
const QUICK_ATTEMPTS = 8;
const LONGEST_PAUSE_MS = 10;

export interface LockPlace {
  readonly sys: Sys;
  readonly handles: Handles;
  readonly stage: Stage;
  readonly holder: LockHolder;
  newName(): string;
}

/** The lock of a root across processes, held while a process checks and makes a change. */
export interface LockFile {
  /** A process that died or hung held it before. */
  readonly isTakenOver: boolean;
  /** Whether no other process has removed it as stale. */
  isHeld(): Io<boolean>;
  /** Removes the lock file and releases its stage. Never fails. */
  release(): Io<void>;
}

const pathIn = ({ directory, prefix }: Stage): string => below(directory, `${prefix}${LOCK_NAME}`);

/**
 * @param text identifies the process, as read by {@link parseIdentity}
 * @throws system errors; EEXIST if the lock is held
 */
export function* createLock(place: LockPlace, text: string, isTakenOver: boolean): Io<LockFile> {
  const { sys, stage, holder } = place;
  const path = pathIn(stage);
  // Kept open so that the inode number cannot be reused.
  const inode = yield* holder.lock(stage, path, text);
  const isHeld = function* (): Io<boolean> {
    const now = yield* statBelow(sys, stage.directory, `${stage.prefix}${LOCK_NAME}`);
    return now?.identity === inode.identity;
  };
  const release = function* (): Io<void> {
    try {
      if (yield* quietly(isHeld())) yield* quietly(sys.unlink(path));
    } finally {
      yield* quietly(inode.close());
      stage.release();
    }
  };
  return { isTakenOver, isHeld, release };
}

/**
 * Moves away a lock file that is stale or not a regular file. If two processes find the same stale lock, the second may
 * move a new one; it is then moved back.
 * @returns the name in the stage that it was moved to
 */
export function* takeStaleLock(place: LockPlace, own: ProcessIdentity): Io<string | undefined> {
  const { sys, handles, stage } = place;
  const path = pathIn(stage);
  const found = yield* handles.pin(stage.directory, `${stage.prefix}${LOCK_NAME}`);
  if (found === undefined) return undefined;
  try {
    if (!(yield* isStale(place, found, own))) return undefined;
    const name = place.newName();
    if (!(yield* succeeds(sys.rename(path, below(stage.directory, name))))) return undefined;
    const taken = yield* statBelow(sys, stage.directory, name);
    if (taken === undefined) return undefined;
    if (taken.identity === identity(found)) return name;
    yield* quietly(sys.rename(below(stage.directory, name), path));
    return undefined;
  } finally {
    release(found);
  }
}

function* isStale(place: LockPlace, lock: Pinned, own: ProcessIdentity): Io<boolean> {
  // Not created by a venue: lock files are regular and never reached through a link.
  if (!lock.stat.isFile()) return true;
  const text = yield* textOf(place, lock);
  const age = Date.now() - lock.stat.changedMs;
  if (text === undefined) return age > FOREIGN_STALE_MS;
  const holder = parseIdentity(text);
  if (holder === undefined) return age > NAMELESS_STALE_MS;
  if (isDead(holder, own)) return true;
  if (holder.boot !== own.boot) return age > STRANGE_STALE_MS;
  // Without such an id a number that is in use again says nothing of who held it.
  return (holder.namespace !== own.namespace || own.boot === NO_BOOT_ID) && age > FOREIGN_STALE_MS;
}

/** `undefined` if it may not be read. */
function* textOf({ sys, handles }: LockPlace, lock: Pinned): Io<string | undefined> {
  const fd = yield* quietly(handles.reopen(lock, READ));
  if (fd === undefined) return undefined;
  try {
    const buffer = Buffer.alloc(LONGEST_TEXT);
    return buffer.toString("latin1", 0, yield* sys.read(fd, buffer, 0, 0));
  } finally {
    closeNow(fd);
  }
}

/** Before another attempt. The lock is usually held for a fraction of a millisecond. */
export const pause = (attempt: number): Promise<void> =>
  new Promise((resolve) => {
    if (attempt < QUICK_ATTEMPTS) setImmediate(resolve);
    else setTimeout(resolve, Math.random() * Math.min(attempt, LONGEST_PAUSE_MS));
  });
