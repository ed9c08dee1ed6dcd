// Puts a prepared entry in place under its name, atomically and without overwriting what must stay.

import { alreadyExists, invalidInput, notAFile } from "../../../core/errors/texts.js";
import type { Io } from "../../../core/io.js";
import type { PlaceOptions } from "../../../core/ports/backend.js";
import { below, type NameIn, type Pinned, release, renameBelow } from "../../../jail/handles.js";
import { type PreparedEntry, renameNoReplace } from "../../../jail/staging/rename.js";
import { errnoOf } from "../../../jail/sys.js";
import { expectationError } from "../../preconditions.js";
import { checkExpected, type Guard } from "../guard.js";
import { type Change, checkFile } from "../target.js";
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
    // A directory was created under the name meanwhile.
    if (code === "EISDIR" || code === "ENOTEMPTY") throw alreadyExists(change.access.place);
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
