// Puts an entry in the place of another where a rename cannot: the old one goes only when the new one is there.

import { randomBytes } from "node:crypto";
import { alreadyExists, invalidInput } from "../../../core/errors/texts.js";
import type { Io } from "../../../core/io.js";
import { exchange } from "../../../jail/exchange.js";
import { below, identity, type Pinned } from "../../../jail/handles.js";
import { finishWithReserve } from "../../../jail/reserve.js";
import type { Stage } from "../../../jail/staging/lock-file.js";
import { quietly } from "../../../jail/sys.js";
import type { Guard } from "../guard.js";
import type { Keeping } from "../history/note.js";
import { displace, requireDeletable } from "../history/to-trash.js";
import type { Change } from "../target.js";
import { requireAllAllowed } from "../tree-policy.js";
import { removalOf, report } from "./report.js";

/** Whether something is replaced that a rename would not replace. */
export const needsExchange = (old: Pinned, isDirectory: boolean): boolean => isDirectory || old.stat.isDirectory();

/** An entry moved out of sight, to be emptied. */
export interface Hidden {
  readonly stage: Stage;
  readonly name: string;
}

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
  const displaced = yield* displace(change, removal);
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
  yield* report({ ...change, made: [], id: undefined }, removal, keeping);
  if (!isBinned) return displaced;
  stage.release();
  return undefined;
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
