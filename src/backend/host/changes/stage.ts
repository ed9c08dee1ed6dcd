// Stages new content of a file and installs it by one rename.

import type { Sha256 } from "../../../core/etag.js";
import { type Io, runIo } from "../../../core/io.js";
import type { Addition, EntryChange, EntryState } from "../../../core/ports/changes/change.js";
import { below, type Pinned, READ_NEW, release, renameBelow } from "../../../jail/handles.js";
import type { Jail } from "../../../jail/jail.js";
import { finishWithReserve } from "../../../jail/reserve.js";
import type { StagedFile } from "../../../jail/staging/staging.js";
import { inodeOf, type Stat } from "../../../jail/stat.js";
import { closeNow, errnoOf, quietly, succeeds } from "../../../jail/sys.js";
import type { Guard } from "../guard.js";
import { keepReplaced } from "../history/keep.js";
import { commitKept } from "../history/note.js";
import { copyBytes } from "../open.js";
import { reserve, withReservation } from "../quota.js";
import { type Change, flushDirectory, isForOwner, type Target } from "../target.js";
import { isReported, plannedState, realPath, report, stateAfter, stateOf } from "./report.js";

const PERMISSION_BITS = 0o777;
const ALL_BITS = 0o7777;
const SET_GID = 0o2000;
/** Size from which freeing a replaced file may take longer than handing its handle to the thread pool. */
const LARGE_BYTES = 32_768;

/**
 * Runs `work` with a staged file, which is removed afterwards unless installed.
 * @param old the file to be replaced: whoever may not read it must not be able to read the staged content
 */
export function* withStagedFile<T>(change: Change, old: Pinned | undefined, work: (file: StagedFile) => Io<T>): Io<T> {
  const { jail } = change;
  const mode = old === undefined ? undefined : old.stat.mode & PERMISSION_BITS;
  const file = yield* jail.staging.create(change.walk.directory, mode);
  try {
    return yield* finishWithReserve(work(file));
  } catch (error) {
    yield* quietly(jail.sys.unlink(file.path));
    jail.trackBackground(runIo(jail.staging.sweep()));
    throw error;
  } finally {
    if (file.fd >= 0) {
      closeNow(file.fd);
      yield* quietly(jail.sys.unlink(file.path));
    }
    file.stage.release();
  }
}

/** Target of a staged file. */
export interface Installed {
  readonly name: string;
  readonly old: Pinned | undefined;
  readonly guard: Guard;
  /** Of the staged content. */
  readonly sha256: Sha256;
  /** Present if the content is that of the old file with something added. */
  readonly addition?: Addition;
  /** Permission bits. Absent: those of the old file, or of a new one. */
  readonly mode?: number | undefined;
}

/** Gives the staged file the permissions of the file it replaces, and its name. The commit of every write. */
export function* install(change: Change, file: StagedFile, target: Installed): Io<void> {
  const { sys } = change.jail;
  const { directory } = change.walk;
  const { fd } = file;
  const prepared = yield* setRights(change, fd, target);
  const isNeeded = isReported(change) || change.rules.usage !== undefined;
  const placed = isNeeded ? (prepared ?? (yield* sys.fstat(fd))) : undefined;
  file.fd = -1;
  // Network file systems report a full disk only at this point.
  yield* sys.close(fd);
  const added = { bytes: placed?.size ?? 0, files: 1 };
  const put = withReservation(reserve(change, added, target.old), putNow(change, file, target));
  const { old } = target;
  let isOldLinked = false;
  if (placed !== undefined && isReported(change)) isOldLinked = yield* commitReported(change, put, { placed, target });
  else yield* put;
  if (old !== undefined && !isOldLinked && old.stat.size > LARGE_BYTES) old.closeLate = change.jail.closeReplaced;
  yield* flushDirectory(change, directory);
}

/** Keeps what is replaced, commits, and tells of it. @returns whether the old file has got another name */
function* commitReported(
  change: Change,
  commit: Io<void>,
  { placed, target }: { readonly placed: Stat; readonly target: Installed },
): Io<boolean> {
  const { name, old, sha256, addition } = target;
  const known = { path: realPath(change, name), before: old === undefined ? null : stateOf(old.stat) };
  const made = (after: EntryState): EntryChange => ({
    action: old === undefined ? "created" : "modified",
    kind: "file",
    path: known.path,
    before: known.before,
    after,
    ...(addition === undefined ? {} : { addition }),
  });
  const planned = (): EntryChange => made(plannedState(placed, sha256));
  const replaced = { old: addition === undefined ? old : undefined, name, inode: inodeOf(placed) };
  const keeping = yield* keepReplaced(change, replaced, planned);
  yield* commitKept(commit, keeping);
  yield* report(change, made(yield* stateAfter(change, name, { placed, sha256 })), keeping);
  return keeping?.isLinked === true;
}

function* putNow(change: Change, file: StagedFile, target: Installed): Io<void> {
  yield* target.guard();
  change.access.scope.commit();
  try {
    const staged = { directory: file.stage.directory, name: file.name };
    yield* renameBelow(change.jail.sys, staged, { directory: change.walk.directory, name: target.name });
  } catch (error) {
    if (errnoOf(error) !== "EXDEV") throw error;
    yield* installCopy(change, file, target);
  }
}

/** Like {@link install} for a target that the staged file cannot be renamed to. */
function* installCopy(change: Change, file: StagedFile, target: Installed): Io<void> {
  const { sys } = change.jail;
  yield* withCopyBeside(change, file.path, function* (path) {
    yield* target.guard();
    yield* sys.rename(path, below(change.walk.directory, target.name));
  });
  yield* quietly(sys.unlink(file.path));
}

/**
 * Runs `install` with a copy of a staged file beside its target, with the same rights: the staging directory turned out
 * to be on another mount than the target in spite of equal device numbers (bind mount, quota project).
 *
 * @param staged its path; it stays
 * @param install gives the copy its name; if it fails the copy is removed
 */
export function* withCopyBeside(change: Change, staged: string, install: (path: string) => Io<void>): Io<void> {
  const { sys, staging } = change.jail;
  const copy = yield* staging.createIn(staging.beside(change.walk.directory), 0o600);
  try {
    const source = yield* sys.open(staged, READ_NEW);
    try {
      yield* copyBytes(sys, { from: source, to: copy.fd });
      yield* keepRights(change, copy.fd, yield* sys.fstat(source));
    } finally {
      closeNow(source);
    }
    if (change.rules.durable) yield* sys.fsync(copy.fd);
    const { fd } = copy;
    copy.fd = -1;
    yield* sys.close(fd);
    yield* install(copy.path);
  } catch (error) {
    yield* quietly(sys.unlink(copy.path));
    throw error;
  } finally {
    if (copy.fd >= 0) closeNow(copy.fd);
  }
}

/**
 * The permissions of the file it replaces, else those of a new one in its directory.
 * @returns its stat, where that is known
 */
export function* applyRights(change: Change, fd: number, old: Pinned | undefined): Io<Stat | undefined> {
  if (old !== undefined) return yield* keepRights(change, fd, old.stat);
  yield* inheritRights(change, fd);
  return undefined;
}

function* setRights(change: Change, fd: number, { old, mode }: Installed): Io<Stat | undefined> {
  const prepared = yield* applyRights(change, fd, old);
  if (mode === undefined || (prepared !== undefined && (prepared.mode & ALL_BITS) === mode)) return prepared;
  yield* change.jail.sys.fchmod(fd, mode);
  return undefined;
}

/** Most files have the right owner and mode from the start; setting them again would write the inode twice. */
function* keepRights(change: Change, fd: number, { uid, gid, mode }: Stat): Io<Stat | undefined> {
  const { sys } = change.jail;
  const made = yield* sys.fstat(fd);
  const isOwned = made.gid === gid && (made.uid === uid || process.geteuid?.() !== 0);
  const sameGroup = isOwned || (yield* succeeds(sys.fchown(fd, process.geteuid?.() === 0 ? uid : -1, gid)));
  // Members of the new group were "others" before; they get no more rights than that.
  const rights = sameGroup ? mode & PERMISSION_BITS : (mode & 0o707) | ((mode & 0o007) << 3);
  if (isOwned && (made.mode & ALL_BITS) === rights) return made;
  yield* sys.fchmod(fd, rights);
  return undefined;
}

/** New entries belong to the owner of the root; a set-group-id directory passes on its group. */
export function* inheritRights(change: Change, fd: number): Io<void> {
  const { stat } = change.walk.directory;
  yield* giveToOwner(change.jail, fd);
  if ((stat.mode & SET_GID) !== 0) yield* quietly(change.jail.sys.fchown(fd, -1, stat.gid));
}

/**
 * Gives ownership to the owner of the root, so that it, and commands that run as it, can use what this process creates
 * as root.
 */
export function* giveToOwner(jail: Jail, fd: number): Io<void> {
  const { uid, gid } = jail.top.stat;
  if (isForOwner(jail)) yield* quietly(jail.sys.fchown(fd, uid, gid));
}

/** Looks up the name again if it may have changed since the walk. */
export function* withCurrentEntry<T>(
  change: Change,
  at: { target: Target; stale: boolean },
  work: (old: Pinned | undefined) => Io<T>,
): Io<T> {
  if (!at.stale && at.target.parents.length === 0) return yield* work(at.target.old);
  const now = yield* change.jail.handles.pin(change.walk.directory, at.target.name);
  try {
    return yield* work(now);
  } finally {
    if (now !== undefined) release(now);
  }
}
