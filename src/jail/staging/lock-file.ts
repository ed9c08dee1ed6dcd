import type { Identity } from "../../core/identity.js";
import type { Io } from "../../core/io.js";
import { below, CREATE, type Handles, identity, type Pinned, READ, release } from "../handles.js";
import { closeNow, errnoOf, quietly, type Sys, succeeds } from "../sys.js";
import { isDead, type ProcessIdentity, parseIdentity } from "./process-identity.js";

/** Where something is prepared before one rename puts it in place, or where it is removed after one rename took it away. */
export interface Stage {
  readonly directory: Pinned;
  /** What names in it start with. */
  readonly prefix: string;
  release(): void;
}

/** After the prefix of its stage. */
const LOCK_NAME = "lock";
/** Twice the longest deadline: no call that holds a lock this old can still be running. */
const FOREIGN_STALE_MS = 120_000;
/** A holder names itself at once; one that was killed in that moment never does. */
const NAMELESS_STALE_MS = 2_000;
const LONGEST_TEXT = 256;

/** Where a lock file stands. */
export interface LockPlace {
  readonly sys: Sys;
  readonly handles: Handles;
  readonly stage: Stage;
  /** A name in the stage that nobody has. */
  newName(): string;
}

/** What a process holds while it decides on a change and makes it, apart from every other process on the root. */
export interface LockFile {
  /** Whether nobody has taken it for that of a dead process. */
  isHeld(): Io<boolean>;
  /** Gives it back, with its stage. Never fails. */
  release(): Io<void>;
}

const pathIn = ({ directory, prefix }: Stage): string => below(directory, `${prefix}${LOCK_NAME}`);

/** @param text names the process, as {@link parseIdentity} reads it @throws system errors; EEXIST when there is one */
export function* createLock({ sys, stage }: LockPlace, text: string): Io<LockFile> {
  const path = pathIn(stage);
  // Others have to see whose it is, whoever they run as.
  const fd = yield* sys.open(path, CREATE, 0o644);
  try {
    yield* sys.writeAll(fd, Buffer.from(text));
    return new HeldLock(sys, { stage, path, fd, identity: (yield* sys.fstat(fd)).identity });
  } catch (error) {
    yield* quietly(sys.close(fd));
    yield* quietly(sys.unlink(path));
    throw error;
  }
}

interface MadeLock {
  readonly stage: Stage;
  readonly path: string;
  /** Stays open, so that no other file can get the inode number. */
  readonly fd: number;
  readonly identity: Identity;
}

class HeldLock implements LockFile {
  readonly #sys: Sys;
  readonly #made: MadeLock;

  constructor(sys: Sys, made: MadeLock) {
    this.#sys = sys;
    this.#made = made;
  }

  *isHeld(): Io<boolean> {
    const { path, identity: own } = this.#made;
    const now = yield* this.#sys.lstat(path);
    return now?.identity === own;
  }

  *release(): Io<void> {
    const { stage, path, fd } = this.#made;
    try {
      if (yield* quietly(this.isHeld())) yield* quietly(this.#sys.unlink(path));
    } finally {
      yield* quietly(this.#sys.close(fd));
      stage.release();
    }
  }
}

/**
 * Moves away the lock of a process that is dead, or what only looks like a lock. Two that find the same one stale may
 * both come to this, the second when the lock is a new one already: then it goes back to its place.
 * @returns the name in the stage to which it has been moved
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
    const taken = yield* handles.pin(stage.directory, name);
    if (taken === undefined) return undefined;
    const isSame = identity(taken) === identity(found);
    release(taken);
    if (isSame) return name;
    yield* quietly(sys.rename(below(stage.directory, name), path));
    return undefined;
  } finally {
    release(found);
  }
}

function* isStale(place: LockPlace, lock: Pinned, own: ProcessIdentity): Io<boolean> {
  // Nobody of ours made it: a lock is a file, and is never reached through a link.
  if (!lock.stat.isFile()) return true;
  const text = yield* textOf(place, lock);
  const age = Date.now() - lock.stat.changedMs;
  if (text === undefined) return age > FOREIGN_STALE_MS;
  const holder = parseIdentity(text);
  if (holder === undefined) return age > NAMELESS_STALE_MS;
  if (isDead(holder, own)) return true;
  return holder.namespace !== own.namespace && age > FOREIGN_STALE_MS;
}

/** `undefined` when it may not be read. */
function* textOf({ sys, handles }: LockPlace, lock: Pinned): Io<string | undefined> {
  let fd: number;
  try {
    fd = yield* handles.reopen(lock, READ);
  } catch (error) {
    if (errnoOf(error) === undefined) throw error;
    return undefined;
  }
  try {
    const buffer = Buffer.alloc(LONGEST_TEXT);
    return buffer.toString("latin1", 0, yield* sys.read(fd, buffer, 0, 0));
  } finally {
    closeNow(fd);
  }
}
