import type { RelPath } from "../../core/call/path.js";
import {
  isADirectory,
  notADirectory,
  notAFile,
  type Place,
  parentMissing,
  permissionDenied,
} from "../../core/errors/texts.js";
import type { Io } from "../../core/io.js";
import type { Access } from "../../core/ports/backend.js";
import { below, identity, type Pinned, READ_DIRECTORY, release } from "../../jail/handles.js";
import type { Jail } from "../../jail/jail.js";
import { finishing } from "../../jail/reserve.js";
import { closeNow, errnoOf, quietly } from "../../jail/sys.js";
import type { Found } from "../../jail/walk/found.js";
import type { Walk } from "../../jail/walk/walk.js";
import type { Usage } from "../quota.js";

/** What a root says about changes in it. */
export interface WriteRules {
  /** Flush to the disk before answering. */
  readonly durable: boolean;
  /** Append in place to a file that has other names too. */
  readonly hardLinks: boolean;
  /** Most bytes of old content copied for the sake of a hard-linked file. */
  readonly maxCopyBytes: number;
  /** Absent: no limit. */
  readonly usage?: Usage;
  /** Present in temp roots: lets other users of the system through to it, as far as their rights there go. */
  readonly lend?: () => void;
}

/** One changing call, arrived where its path leads. */
export interface Change {
  readonly jail: Jail;
  readonly rules: WriteRules;
  readonly walk: Walk;
  readonly path: RelPath;
  readonly access: Access;
}

/** A walk's end with which an operation can go on. */
export type Reached = Exclude<Found, { state: "dangling" }>;

/** What a changing call is about to put in place. */
export interface Target {
  readonly name: string;
  /** Directories to make first, below the deepest one the walk reached. */
  readonly parents: readonly string[];
  readonly old: Pinned | undefined;
}

/**
 * Names the target and authorises every directory that `parents` would make; nothing is made yet.
 * @throws NOT_A_DIRECTORY, PARENT_MISSING, CAPABILITY_DENIED
 */
export function locate(change: Change, found: Reached, options: { parents: boolean }): Target {
  const { path, access, walk } = change;
  walk.settle();
  if (found.state === "blocked") throw notADirectory(prefix(change, found.prefix));
  if (found.state === "found") return { name: found.real.at(-1) ?? "", parents: [], old: found.object };

  const parents = found.missing.slice(0, -1);
  if (parents.length > 0 && !options.parents) throw parentMissing(prefix(change, path.segments.length - 1));
  parents.forEach((_, index) => {
    const requested = path.segments.slice(0, path.segments.length - parents.length + index);
    access.create(requested, [...walk.names, ...parents.slice(0, index + 1)]);
  });
  return { name: found.missing.at(-1) ?? "", parents, old: undefined };
}

/** @throws IS_A_DIRECTORY, NOT_A_FILE, PERMISSION_DENIED unless `old` is a file that may be changed */
export function* checkFile(change: Change, old: Pinned | undefined): Io<void> {
  const { place } = change.access;
  if (old === undefined) return;
  if (old.stat.isDirectory()) throw isADirectory(place);
  if (!old.stat.isFile()) throw notAFile(place);
  if (!(yield* change.jail.sys.mayWrite(old.path))) throw permissionDenied(place);
}

/** Makes the missing directories and enters them, whoever was faster. */
export function* createParents(change: Change, parents: readonly string[]): Io<void> {
  const above = change.path.segments.length - 1 - parents.length;
  for (const [index, name] of parents.entries()) {
    const parent = change.walk.directory;
    yield* makeOne(change, name);
    const directory = yield* change.jail.handles.enter(parent, name);
    if (directory === "missing") throw parentMissing(prefix(change, above + index + 1));
    if (directory === "not a directory") throw notADirectory(prefix(change, above + index + 1));
    change.walk.push(directory, name);
  }
}

/** Makes one directory in the deepest one; `false` when something has the name already. */
export function* makeOne(change: Change, name: string): Io<boolean> {
  const parent = change.walk.directory;
  try {
    yield* change.jail.sys.mkdir(below(parent, name), 0o777);
  } catch (error) {
    if (errnoOf(error) === "EEXIST") return false;
    throw error;
  }
  yield* finishing(ownDirectory(change.jail, parent, name));
  yield* flushDirectory(change, parent);
  return true;
}

function* ownDirectory(jail: Jail, parent: Pinned, name: string): Io<void> {
  if (!isForOwner(jail)) return;
  const directory = yield* jail.handles.enter(parent, name);
  if (typeof directory === "string") return;
  try {
    yield* giveDirectoryToOwner(jail, directory);
  } finally {
    release(directory);
  }
}

/** Whether what this process makes, as root, is to belong to somebody else: to whom the root belongs. */
export const isForOwner = ({ top }: Jail): boolean => top.stat.uid !== 0 && process.geteuid?.() === 0;

export function* giveDirectoryToOwner(jail: Jail, directory: Pinned): Io<void> {
  const { uid, gid } = jail.top.stat;
  if (isForOwner(jail)) yield* quietly(jail.sys.chown(directory.path, uid, gid));
}

/** A turn among the writers of a name. */
export interface Turn {
  /** Another writer was done since the walk, so what it found may have changed. */
  readonly stale: boolean;
  release(): void;
}

/** Waits its turn among the writers of the name, and keeps the directories above it from being removed meanwhile. */
export function* lockTarget(change: Change, name: string, whole?: Pinned): Io<Turn> {
  const { jail, walk } = change;
  const key = `${identity(walk.directory)}/${jail.foldsCase ? name.toLowerCase() : name}`;
  const lock = yield* jail.locks.hold({
    shared: walk.identities(),
    exclusive: whole === undefined ? [key] : [key, identity(whole)],
  });
  return { stale: jail.locks.turn !== walk.since, release: () => lock.release() };
}

/** Makes changed entries of a directory survive a power cut, if the root wants that. */
export function* flushDirectory(change: Change, directory: Pinned): Io<void> {
  if (!change.rules.durable) return;
  let fd: number;
  try {
    fd = yield* finishing(change.jail.handles.reopen(directory, READ_DIRECTORY));
  } catch (error) {
    // A directory that may be written but not read cannot be opened, so there is nothing to flush it by.
    if (errnoOf(error) === "EACCES") return;
    throw error;
  }
  try {
    yield* change.jail.sys.fsync(fd);
  } catch (error) {
    // Some file systems have no notion of flushing a directory.
    if (errnoOf(error) !== "EINVAL" && errnoOf(error) !== "ENOTSUP") throw error;
  } finally {
    closeNow(fd);
  }
}

/** The place of the first `count` requested segments. */
export function prefix(change: Change, count: number): Place {
  return { root: change.access.place.root, path: change.path.segments.slice(0, count).join("/") };
}
