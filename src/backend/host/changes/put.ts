// Puts a prepared entry in place under its name, atomically and without overwriting what must stay.

import { randomBytes } from "node:crypto";
import { alreadyExists, invalidInput, notAFile } from "../../../core/errors/texts.js";
import type { Io } from "../../../core/io.js";
import type { PlaceOptions } from "../../../core/ports/backend.js";
import { exchange } from "../../../jail/exchange.js";
import { below, identity, type NameIn, type Pinned, release, renameBelow } from "../../../jail/handles.js";
import type { Jail } from "../../../jail/jail.js";
import { finishWithReserve } from "../../../jail/reserve.js";
import { type PreparedEntry, renameNoReplace } from "../../../jail/staging/rename.js";
import type { Stat } from "../../../jail/stat.js";
import { errnoOf, quietly, succeeds } from "../../../jail/sys.js";
import { expectationError } from "../../preconditions.js";
import { checkExpected, type Guard } from "../guard.js";
import type { Keeping } from "../history/note.js";
import { displace, type Hidden, requireDeletable } from "../history/to-trash.js";
import { type Change, checkFile, isForOwner } from "../target.js";
import { requireAllAllowed } from "../tree-policy.js";
import { removalOf, report } from "./report.js";
import type { Ground } from "./step.js";

/** The target of a prepared entry. */
export interface Placement extends PlaceOptions {
  readonly isFile: boolean;
}

/**
 * Checks an existing target against the options.
 * @throws CONFLICT, ALREADY_EXISTS, NOT_A_FILE, PERMISSION_DENIED
 */
export function* checkTarget(change: Change, old: Pinned | undefined, coming: Placement): Io<void> {
  const { access } = change;
  const { expected } = coming;
  if (old === undefined) return yield* checkExpected(change, old, expected);
  if (expected === "nothing") {
    if (old.stat.isFile()) yield* checkExpected(change, old, expected);
    throw expectationError(expected, undefined, access);
  }
  if (coming.overwrite && coming.replaces === true) return yield* checkReplaced(change, old, coming);
  if (!coming.overwrite || !coming.isFile || old.stat.isDirectory()) throw alreadyExists(access.place);
  if (!old.stat.isFile()) throw notAFile(access.place);
  yield* checkFile(change, old);
  yield* checkExpected(change, old, expected);
}

function* checkReplaced(change: Change, old: Pinned, { expected }: Placement): Io<void> {
  const { access } = change;
  access.require("crud/delete");
  if (expected === undefined) return;
  if (!old.stat.isFile()) throw alreadyExists(access.place);
  yield* checkExpected(change, old, expected);
}

/**
 * @param source identity (device and inode) of the source
 * @throws INVALID_INPUT if the target is the source or inside it
 */
export function refuseInside({ walk }: Change, source: string | undefined): void {
  if (source === undefined || !walk.identities().includes(source)) return;
  throw invalidInput("'to' lies inside 'path'", "/to", "a path outside of 'path'");
}

/** An entry that is about to get its name. */
interface Coming extends PreparedEntry {
  /** Its place, where it can be renamed by that. */
  readonly in?: NameIn;
}

/** The name that it gets. */
export interface Named {
  readonly name: string;
  readonly guard: Guard;
  readonly options: PlaceOptions;
  /** Puts it there where a rename cannot. Absent: EXDEV is thrown. */
  readonly ground?: Ground | undefined;
}

/**
 * Gives a prepared entry its name. This is the commit.
 * @throws ALREADY_EXISTS, CONFLICT; EXDEV: the name is on another mount than the entry
 */
export function* putInPlace(change: Change, coming: Coming, target: Named): Io<void> {
  yield* target.guard();
  change.access.scope.commit();
  try {
    if (yield* rename(change, coming, target)) return;
  } catch (error) {
    const code = errnoOf(error);
    // A directory was created under the name meanwhile; a step alone begins anew.
    const beginsAnew = code === "EISDIR" && target.ground?.isGroup === false;
    if ((code === "EISDIR" || code === "ENOTEMPTY") && !beginsAnew) throw alreadyExists(change.access.place);
    if (code !== "EXDEV" || target.ground === undefined) throw error;
    const put = (path: string): Io<void> =>
      putInPlace(change, { path, isDirectory: false }, { ...target, ground: undefined });
    return yield* target.ground.putElsewhere(change, coming, put, error);
  }
  const now = yield* change.jail.handles.pin(change.walk.directory, target.name);
  try {
    yield* checkTarget(change, now, { ...target.options, overwrite: false, isFile: !coming.isDirectory });
  } finally {
    if (now !== undefined) release(now);
  }
  // The entry in the way has been removed meanwhile.
  throw alreadyExists(change.access.place);
}

/** @returns `false`: the name is taken, and must not be replaced */
function* rename({ jail, walk }: Change, coming: Coming, { name, options }: Named): Io<boolean> {
  const { directory } = walk;
  const isReplacing = options.overwrite && !coming.isDirectory && options.expected !== "nothing";
  if (!isReplacing) return yield* renameNoReplace(jail.sys, coming, below(directory, name));
  if (coming.in !== undefined) yield* renameBelow(jail.sys, coming.in, { directory, name });
  else yield* jail.sys.rename(coming.path, below(directory, name));
  return true;
}

/** Whether something is replaced that a rename would not replace. */
export const needsExchange = (old: Pinned, isDirectory: boolean): boolean => isDirectory || old.stat.isDirectory();

interface Swap {
  /** Path of the new entry. */
  readonly ready: string;
  readonly name: string;
  readonly old: Pinned;
  readonly guard: Guard;
  /** Notes that the new entry gets the name. */
  readonly note: () => Keeping | undefined;
}

/**
 * Gives an entry the name of another one. This is the commit.
 * @returns the old entry in the staging directory, which the caller empties; `undefined`: it lies in the trash
 * @throws ALREADY_EXISTS when something else has taken the name meanwhile; DENIED_BY_POLICY, PERMISSION_DENIED for what
 * the old tree holds. Nothing has changed then.
 */
export function* swapIn(change: Change, { ready, name, old, guard, note }: Swap): Io<Hidden | undefined> {
  const { access, walk } = change;
  yield* requireAllAllowed(change, old);
  yield* requireDeletable(change, old);
  access.beginGroup?.();
  const removal = removalOf(change, name, old.stat);
  // The removal has a journal entry of its own, apart from that of the new entry.
  const removing = { ...change, made: [], id: undefined };
  const displaced = yield* displace(removing, removal, () => stageOf(change));
  const { stage, keeping, isBinned } = displaced;
  const coming = note();
  const places = { ready, path: below(walk.directory, name), hidden: below(stage.directory, displaced.name) };
  try {
    yield* guard();
    access.scope.commit();
    yield* takePlace(change, name, places);
    yield* undoOnFailure(checkDisplaced(change, old, places.hidden), () => giveBack(change, places));
  } catch (error) {
    stage.release();
    for (const noted of [keeping, coming]) if (noted !== undefined) yield* noted.undo();
    throw error;
  }
  yield* report(removing, removal, keeping);
  if (!isBinned) return displaced;
  stage.release();
  return undefined;
}

function* stageOf({ jail, walk }: Change): Io<Hidden> {
  const stage = yield* jail.staging.open(walk.directory);
  return { stage, name: jail.staging.newName(stage) };
}

interface Places {
  readonly ready: string;
  readonly path: string;
  readonly hidden: string;
}

function* takePlace({ jail, walk }: Change, name: string, { ready, path, hidden }: Places): Io<void> {
  const { sys } = jail;
  if (yield* exchange(sys, ready, path)) {
    yield* undoOnFailure(sys.rename(ready, hidden), () => exchange(sys, ready, path));
    return;
  }
  // Between the two renames the old entry stands beside its place, where it is found if the process dies.
  const beside = below(walk.directory, `${[...name].slice(0, 40).join("")}.replaced-${randomBytes(4).toString("hex")}`);
  yield* sys.rename(path, beside);
  yield* undoOnFailure(sys.rename(ready, path), () => sys.rename(beside, path));
  yield* undoOnFailure(sys.rename(beside, hidden), function* () {
    yield* sys.rename(path, ready);
    yield* sys.rename(beside, path);
  });
}

/** Another process may have added something to the old tree since the first check, or put something in its place. */
function* checkDisplaced(change: Change, old: Pinned, hidden: string): Io<void> {
  const now = yield* change.jail.sys.lstat(hidden);
  if (now?.identity !== identity(old)) throw alreadyExists(change.access.place);
  yield* requireAllAllowed(change, old);
}

function* giveBack({ jail }: Change, { ready, path, hidden }: Places): Io<void> {
  const { sys } = jail;
  yield* sys.rename(path, ready);
  yield* sys.rename(hidden, path);
}

function* undoOnFailure(work: Io<void>, undo: () => Io<unknown>): Io<void> {
  try {
    yield* work;
  } catch (error) {
    yield* finishWithReserve(quietly(undo()));
    throw error;
  }
}

/** @throws INVALID_INPUT for an entry that would be replaced by what it holds */
export function refuseAround({ walk }: Change, old: Pinned | undefined): void {
  if (old === undefined || !walk.identities().includes(identity(old))) return;
  throw invalidInput("'path' lies inside 'to'", "/to", "a path that does not hold 'path'");
}

export const PERMISSION_BITS = 0o777;
const ALL_BITS = 0o7777;
const SET_GID = 0o2000;

/** Permissions that are asked for besides those that a file has by its place. */
export interface Rights {
  /** Permission bits. */
  readonly mode: number | undefined;
  /** `true`: all who may read the file may run it. `false`: nobody may. */
  readonly executable: boolean | undefined;
}

/** @param old the file that it replaces @returns the stat of the new file, where that is known */
export function* setRights(change: Change, fd: number, old: Pinned | undefined, wanted: Rights): Io<Stat | undefined> {
  const { sys } = change.jail;
  const { mode, executable } = wanted;
  let prepared: Stat | undefined;
  if (old === undefined) yield* inheritRights(change, fd);
  else prepared = yield* keepRights(change, fd, old.stat);
  if (executable === undefined) {
    if (mode === undefined || (prepared !== undefined && (prepared.mode & ALL_BITS) === mode)) return prepared;
    yield* sys.fchmod(fd, mode);
    return undefined;
  }
  const now = mode ?? (yield* sys.fstat(fd)).mode & PERMISSION_BITS;
  yield* sys.fchmod(fd, executable ? now | ((now & 0o444) >> 2) : now & 0o666);
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
