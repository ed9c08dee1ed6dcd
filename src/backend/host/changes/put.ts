// Puts a prepared entry in place under its name, atomically and without overwriting what must stay.

import { alreadyExists, invalidInput, notADirectory, notAFile, parentMissing } from "../../../core/errors/texts.js";
import type { Io } from "../../../core/io.js";
import type { Copied, CopyOptions, PlaceOptions } from "../../../core/ports/backend.js";
import type { EntryChange } from "../../../core/ports/changes/change.js";
import { below, identity, type Pinned, release, statBelow } from "../../../jail/handles.js";
import { type PreparedEntry, renameNoReplace } from "../../../jail/staging/rename.js";
import { inodeOf, type Stat } from "../../../jail/stat.js";
import { errnoOf, quietly } from "../../../jail/sys.js";
import { expectationError } from "../../preconditions.js";
import { checkExpected, type Guard, runExclusively } from "../guard.js";
import { keepReplaced } from "../history/keep.js";
import { commitKept, dropNote, type Keeping, noteChange, noteParents } from "../history/note.js";
import { freedBy, reserve, withReservation } from "../quota.js";
import {
  type Change,
  checkFile,
  flushDirectory,
  makeOne,
  nameKey,
  placeOfPrefix,
  type Target,
  type Turn,
} from "../target.js";
import { type Hidden, needsExchange, swapIn } from "./replace.js";
import { isReported, realPath, report, stateOf } from "./report.js";
import { withCopyBeside } from "./stage.js";

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

/**
 * Gives a prepared entry its name. This is the commit.
 * @throws ALREADY_EXISTS, CONFLICT; EXDEV: the name is on another mount than the entry
 */
export function* putInPlace(
  change: Change,
  ready: PreparedEntry,
  target: { name: string; old: Pinned | undefined; guard: Guard; options: PlaceOptions },
): Io<void> {
  const { sys } = change.jail;
  const { overwrite, expected } = target.options;
  const path = below(change.walk.directory, target.name);
  yield* target.guard();
  change.access.scope.commit();
  try {
    if (overwrite && !ready.isDirectory && expected !== "nothing") return yield* sys.rename(ready.path, path);
    if (yield* renameNoReplace(sys, ready, path)) return;
  } catch (error) {
    const code = errnoOf(error);
    // A directory was created under the name meanwhile.
    if (code === "EISDIR" || code === "ENOTEMPTY") throw alreadyExists(change.access.place);
    throw error;
  }
  const now = yield* change.jail.handles.pin(change.walk.directory, target.name);
  try {
    yield* checkTarget(change, now, { ...target.options, overwrite: false, isFile: !ready.isDirectory });
  } finally {
    if (now !== undefined) release(now);
  }
  // The entry in the way has been removed meanwhile.
  throw alreadyExists(change.access.place);
}

/** Lock keys for the target, or for the first directory that is created for it. */
export function targetKeys(change: Change, target: Target): { shared: string[]; exclusive: string[] } {
  const { walk } = change;
  const name = target.parents[0] ?? target.name;
  const key = nameKey(walk.directory, name);
  const tree = target.old?.stat.isDirectory() === true ? [identity(target.old)] : [];
  return { shared: walk.identities(), exclusive: [key, ...tree] };
}

/** Waits for the lock on everything that the keys name. */
export function* lockKeys(change: Change, keys: { shared: string[]; exclusive: string[] }): Io<Turn> {
  const { jail, walk } = change;
  const lock = yield* jail.locks.hold(keys);
  return { stale: jail.locks.turn !== walk.since, release: () => lock.release() };
}

/** Runs `work` in the target's directory, which is created if needed and removed again if `work` fails. */
export function* withParents<T>(change: Change, parents: readonly string[], work: () => Io<T>): Io<T> {
  if (parents.length === 0) return yield* work();
  const { walk, jail } = change;
  noteParents(change, parents);
  const above = change.path.segments.length - 1 - parents.length;
  const made: { parent: Pinned; name: string }[] = [];
  try {
    for (const [index, name] of parents.entries()) {
      const parent = walk.directory;
      if (yield* makeOne(change, name)) {
        made.push({ parent, name });
        change.made.push([...walk.names, name]);
      }
      const directory = yield* jail.handles.enter(parent, name);
      if (directory === "missing") throw parentMissing(placeOfPrefix(change, above + index + 1));
      if (directory === "not a directory") throw notADirectory(placeOfPrefix(change, above + index + 1));
      walk.push(directory, name);
    }
    return yield* work();
  } catch (error) {
    change.made.length = 0;
    for (const { parent, name } of made.reverse()) yield* quietly(jail.sys.rmdir(below(parent, name)));
    yield* dropNote(change);
    throw error;
  }
}

/** A prepared copy and its target. */
export interface ReadyCopy {
  readonly target: Target;
  readonly ready: PreparedEntry;
  readonly copied: Omit<Copied, "overwritten">;
  readonly options: CopyOptions;
  /** Called after it has got its name. */
  readonly finish: () => Io<void>;
}

/** The entry that a copy replaced. */
export interface Replaced {
  readonly overwritten: boolean;
  /** To be emptied. */
  readonly hidden: Hidden | undefined;
}

/** Gives a copy its name. */
export function* installCopy(change: Change, { target, ready, copied, options, finish }: ReadyCopy): Io<Replaced> {
  const isFile = !ready.isDirectory;
  const turn = yield* lockKeys(change, targetKeys(change, target));
  try {
    const replaced = yield* runExclusively(change, options.expected !== undefined, (guard) =>
      withParents(change, target.parents, function* () {
        const old = yield* change.jail.handles.pin(change.walk.directory, target.name);
        try {
          yield* checkTarget(change, old, { ...options, isFile });
          const swapped = old !== undefined && needsExchange(old, ready.isDirectory) ? old : undefined;
          let hidden: Hidden | undefined;
          const put = function* (note: () => Keeping | undefined): Io<void> {
            if (swapped !== undefined)
              hidden = yield* swapIn(change, { ready: ready.path, name: target.name, old: swapped, guard, note });
            else yield* putAcrossMounts(change, ready, { name: target.name, old, guard, options });
          };
          // The quota for the contents of a directory was reserved entry by entry; that of a tree is freed with it.
          const freed = swapped === undefined ? old : undefined;
          const whole: Put = (note) =>
            isFile ? withReservation(reserve(change, copied, freed), put(note)) : put(note);
          const isSwap = swapped !== undefined;
          yield* placeAndReport(change, whole, { target, ready, copied, options, finish, old: freed, isSwap });
          change.rules.usage?.free(freedBy(swapped?.stat));
          return { overwritten: old !== undefined, hidden };
        } finally {
          if (old !== undefined) release(old);
        }
      }),
    );
    yield* flushDirectory(change, change.walk.directory);
    return replaced;
  } finally {
    turn.release();
  }
}

/** {@link putInPlace}, for files also into a bind mount, whose device number is that of the root. */
function* putAcrossMounts(...[change, ready, target]: Parameters<typeof putInPlace>): Io<void> {
  try {
    yield* putInPlace(change, ready, target);
  } catch (error) {
    if (errnoOf(error) !== "EXDEV" || ready.isDirectory) throw error;
    change.access.scope.retract();
    yield* withCopyBeside(change, ready.path, (path) => putInPlace(change, { ...ready, path }, target));
    yield* quietly(change.jail.sys.unlink(ready.path));
  }
}

/** Gives a copy its name. @param note notes it, where that was not done yet */
type Put = (note: () => Keeping | undefined) => Io<void>;

/** Keeps what is replaced, gives the copy its name, and tells of it. */
function* placeAndReport(
  change: Change,
  put: Put,
  { target, ready, copied, options, finish, old, isSwap }: ReadyCopy & { old: Pinned | undefined; isSwap: boolean },
): Io<void> {
  if (!isReported(change)) {
    yield* put(() => undefined);
    return yield* finish();
  }
  const { access, jail, walk } = change;
  const { from } = options;
  const made = (placed: Stat | undefined): EntryChange => ({
    action: old === undefined ? "created" : "modified",
    kind: ready.isDirectory ? "directory" : "file",
    path: realPath(change, target.name),
    ...(from === undefined ? {} : { from: from.path }),
    ...(from === undefined || from.root === access.place.root ? {} : { fromRoot: from.root }),
    ...(ready.isDirectory ? { files: copied.files } : {}),
    before: old === undefined ? null : stateOf(old.stat),
    after: placed === undefined ? { size: copied.bytes, modified: Date.now() } : stateOf(placed, copied.sha256),
  });
  const stat = yield* quietly(jail.sys.lstat(ready.path));
  const inode = stat && inodeOf(stat);
  const note = (): Keeping | undefined => noteChange(change, made(stat), { inode });
  // The entry is newer than that of a tree whose place the copy takes.
  const keeping = isSwap ? undefined : yield* keepReplaced(change, { old, name: target.name, inode }, () => made(stat));
  yield* commitKept(put(note), keeping);
  // It gets its permissions last: what is told of is how it stays.
  yield* finish();
  yield* report(change, made(yield* quietly(statBelow(jail.sys, walk.directory, target.name))), keeping);
}
