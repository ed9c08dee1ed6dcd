// The target of a change: name, parents, checks and lock.

import type { RelPath } from "../../core/call/path.js";
import {
  isADirectory,
  notADirectory,
  notAFile,
  type Place,
  parentMissing,
  symlinkEscape,
} from "../../core/errors/texts.js";
import { UNFLUSHED } from "../../core/errors/undo-texts.js";
import { type Awaitable, type Io, isPending } from "../../core/io.js";
import type { Access } from "../../core/ports/backend.js";
import type { NotUndoable } from "../../core/ports/changes/journal.js";
import type { JournalWriter } from "../../core/ports/changes/journal-writer.js";
import { below, identity, type Pinned, withPinned } from "../../jail/handles.js";
import type { Jail } from "../../jail/jail.js";
import { finishWithReserve } from "../../jail/reserve.js";
import { flushDirectories } from "../../jail/staging/flush.js";
import { errnoOf, quietly, succeeds } from "../../jail/sys.js";
import type { Walk } from "../../jail/walk/walk.js";
import type { Found } from "../../jail/walk/walk-options.js";
import type { Usage } from "../quota.js";
import type { IntentRegister } from "./group/register.js";
import { type Noted, noteParents } from "./history/note.js";

export interface WriteRules {
  /** Flush to disk before answering. */
  readonly durable: boolean;
  /** Append in place to files with several hard links. */
  readonly hardLinks: boolean;
  /** Maximum bytes of old content copied because of hard links. */
  readonly maxCopyBytes: number;
  /** Absent: no limit. */
  readonly usage?: Usage | undefined;
  /** Ids of the groups of changes under way, outside of the root. Absent: groups are recognised by this boot. */
  readonly intents?: IntentRegister | undefined;
  /** Told of the real paths that a group which failed has changed, and that could not be put back. */
  readonly onRaced?: (paths: readonly (readonly string[])[]) => void;
  /** Deletions that the trash cannot keep are refused. */
  readonly keepsDeleted?: boolean;
  /** Opens the journal of the root. Absent: it has none. */
  readonly openJournal?: (() => Awaitable<JournalWriter | undefined>) | undefined;
  /** Why it could not be opened when that was last tried. Absent: the root has none. */
  readonly whyNoJournal?: (() => NotUndoable | undefined) | undefined;
  /** Present in temp roots: lets other system users pass to the root, as far as its permissions allow. */
  readonly lend?: (() => void) | undefined;
}

/** The journal of a root that is open already; a group opens it first. */
export function openedJournal({ openJournal }: WriteRules): JournalWriter | undefined {
  const journal = openJournal?.();
  return isPending(journal) ? undefined : journal;
}

/** A changing call whose path has been resolved. */
export interface Change extends Noted {
  readonly jail: Jail;
  readonly rules: WriteRules;
  readonly walk: Walk;
  readonly path: RelPath;
  readonly access: Access;
  /** Real paths of directories that were made on the way and not reported yet, outermost first. */
  readonly made: string[][];
}

/** Walk results with which an operation can continue. */
export type Reached = Exclude<Found, { state: "dangling" }>;

export interface Target {
  readonly name: string;
  /** Directories to create below the deepest one of the walk. */
  readonly parents: readonly string[];
  readonly old: Pinned | undefined;
}

/**
 * Determines the target and authorises every directory that `parents` would create; creates nothing.
 * @throws NOT_A_DIRECTORY, PARENT_MISSING, CAPABILITY_DENIED
 */
export function locate(change: Change, found: Reached, options: { parents: boolean }): Target {
  const { path, access, walk } = change;
  walk.settle();
  if (found.state === "blocked") throw notADirectory(placeOfPrefix(change, found.prefix));
  if (found.state === "found") return { name: found.real.at(-1) ?? "", parents: [], old: found.object };

  const parents = found.missing.slice(0, -1);
  if (parents.length > 0 && !options.parents) throw parentMissing(placeOfPrefix(change, path.segments.length - 1));
  parents.forEach((_, index) => {
    const requested = path.segments.slice(0, path.segments.length - parents.length + index);
    access.create(requested, [...walk.names, ...parents.slice(0, index + 1)]);
  });
  return { name: found.missing.at(-1) ?? "", parents, old: undefined };
}

/** @throws IS_A_DIRECTORY, NOT_A_FILE, SYMLINK_ESCAPE, PERMISSION_DENIED unless `old` is a file that may be changed */
export function* checkFile(change: Change, old: Pinned | undefined): Io<void> {
  const { place } = change.access;
  if (old === undefined) return;
  if (old.stat.isDirectory()) throw isADirectory(place);
  // The walk resolves links: this one was put there since.
  if (old.stat.isSymbolicLink()) throw symlinkEscape(place);
  if (!old.stat.isFile()) throw notAFile(place);
  yield* change.jail.sys.checkWrite(old);
}

/** Creates and enters the missing directories; those created meanwhile by others are accepted. */
export function* createParents(change: Change, parents: readonly string[]): Io<void> {
  noteParents(change, parents);
  const above = change.path.segments.length - 1 - parents.length;
  for (const [index, name] of parents.entries()) {
    const parent = change.walk.directory;
    if (yield* makeOne(change, name)) {
      change.made.push([...change.walk.names, name]);
      yield* flushDirectory(change, parent);
    }
    const directory = yield* change.jail.handles.enter(parent, name);
    if (directory === "missing") throw parentMissing(placeOfPrefix(change, above + index + 1));
    if (directory === "not a directory") throw notADirectory(placeOfPrefix(change, above + index + 1));
    change.walk.push(directory, name);
  }
}

/** Removes unused directories that {@link createParents} has made. @returns whether some of it stays */
export function* removeParents({ jail, walk, made }: Change): Io<boolean> {
  for (let path = made.at(-1); path !== undefined; path = made.at(-1)) {
    while (walk.names.length >= path.length) if (!(yield* walk.leave())) return true;
    if (!(yield* succeeds(jail.sys.rmdir(below(walk.directory, path.at(-1) ?? ""))))) return true;
    made.pop();
  }
  return false;
}

/** Creates one directory in the deepest one; `false` if the name exists. */
export function* makeOne(change: Change, name: string): Io<boolean> {
  const { jail, walk } = change;
  const parent = walk.directory;
  try {
    yield* jail.sys.mkdir(below(parent, name), 0o777);
  } catch (error) {
    if (errnoOf(error) === "EEXIST") return false;
    throw error;
  }
  const give = (directory: Pinned): Io<void> => giveDirectoryToOwner(jail, directory);
  if (isForOwner(jail)) yield* quietly(finishWithReserve(withPinned(jail.handles.enter(parent, name), give)));
  return true;
}

/** Whether this process runs as root and the root directory belongs to another user, to whom new entries are given. */
export const isForOwner = ({ top }: Jail): boolean => top.stat.uid !== 0 && process.geteuid?.() === 0;

export function* giveDirectoryToOwner(jail: Jail, directory: Pinned): Io<void> {
  const { uid, gid } = jail.top.stat;
  if (isForOwner(jail)) yield* quietly(jail.sys.chown(directory.path, uid, gid));
}

export interface Turn {
  /** Another change was made since the walk, so its result may be outdated. */
  readonly stale: boolean;
  release(): void;
}

/** Lock key of a name: one key for all spellings, since a single directory may fold of itself. */
export const nameKey = (directory: Pinned, name: string): string =>
  `${identity(directory)}/${name.normalize("NFC").toLowerCase()}`;

/** Waits for the lock on the name, and keeps the directories above it from being removed meanwhile. */
export function* lockTarget({ jail, walk }: Change, name: string): Io<Turn> {
  const lock = yield* jail.locks.hold({ shared: walk.identities(), exclusive: [nameKey(walk.directory, name)] });
  return { stale: jail.locks.turn !== walk.since, release: () => lock.release() };
}

/** Makes committed directory changes survive a power failure, if the root requires that. A failure is told with the answer. */
export function* flushDirectory({ rules, jail, access }: Change, directory: Pinned): Io<void> {
  if (!rules.durable) return;
  const isFlushed = yield* succeeds(finishWithReserve(flushDirectories(jail, [directory])));
  if (!isFlushed) access.behind?.(UNFLUSHED);
}

/** The place named by the first `count` requested segments. */
export function placeOfPrefix(change: Change, count: number): Place {
  return { root: change.access.place.root, path: change.path.segments.slice(0, count).join("/") };
}
