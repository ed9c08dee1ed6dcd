// Permissions and owners of new entries.

import type { Io } from "../../../core/io.js";
import type { Pinned } from "../../../jail/handles.js";
import type { Jail } from "../../../jail/jail.js";
import type { Stat } from "../../../jail/stat.js";
import { quietly, succeeds } from "../../../jail/sys.js";
import { type Change, isForOwner } from "../target.js";

export const PERMISSION_BITS = 0o777;
const ALL_BITS = 0o7777;
const SET_GID = 0o2000;

/** Permissions that are asked for besides those that a file has by its place. */
export interface Rights {
  /** Permission bits. */
  readonly mode: number | undefined;
  /** Whoever may read it may run it, or nobody may. */
  readonly executable: boolean | undefined;
}

/** @param old the file that it replaces @returns the stat of the new file, where that is known */
export function* setRights(change: Change, fd: number, old: Pinned | undefined, wanted: Rights): Io<Stat | undefined> {
  const { sys } = change.jail;
  const { mode, executable } = wanted;
  const prepared = yield* applyRights(change, fd, old);
  if (executable === undefined) {
    if (mode === undefined || (prepared !== undefined && (prepared.mode & ALL_BITS) === mode)) return prepared;
    yield* sys.fchmod(fd, mode);
    return undefined;
  }
  const now = mode ?? (yield* sys.fstat(fd)).mode & PERMISSION_BITS;
  yield* sys.fchmod(fd, executable ? now | ((now & 0o444) >> 2) : now & 0o666);
  return undefined;
}

/**
 * The permissions of the file it replaces, else those of a new one in its directory.
 * @returns its stat, where that is known
 */
function* applyRights(change: Change, fd: number, old: Pinned | undefined): Io<Stat | undefined> {
  if (old !== undefined) return yield* keepRights(change, fd, old.stat);
  yield* inheritRights(change, fd);
  return undefined;
}

/** Most files have the right owner and mode from the start; setting them again would write the inode twice. */
export function* keepRights(change: Change, fd: number, { uid, gid, mode }: Stat): Io<Stat | undefined> {
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
