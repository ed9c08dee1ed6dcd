// Reports the committed changes of a host root.

import { PARENTS_STAY } from "../../../core/errors/undo-texts.js";
import type { Io } from "../../../core/io.js";
import type { CurrentState } from "../../../core/ports/backend.js";
import type { ChangedKind, EntryChange, EntryState } from "../../../core/ports/changes/change.js";
import { isChosen } from "../../../core/ports/changes/journal.js";
import { statBelow } from "../../../jail/handles.js";
import type { Stat } from "../../../jail/stat.js";
import { quietly } from "../../../jail/sys.js";
import type { Walk } from "../../../jail/walk/walk.js";
import { dropNote, idOf, type Keeping, newDirectory, recordOf } from "../history/note.js";
import { type Change, type Reached, removeParents } from "../target.js";

const PERMISSION_BITS = 0o7777;

export const stateOf = (stat: Stat, sha256?: string): EntryState => ({
  size: stat.isFile() ? stat.size : 0,
  modified: stat.modifiedMs,
  mode: stat.mode & PERMISSION_BITS,
  version: stat.version,
  ...(sha256 === undefined ? {} : { sha256 }),
});

export function kindOf(stat: Stat): ChangedKind {
  const { type } = stat;
  return type === "symlink" ? "link" : type;
}

export function* currentState({ found }: { readonly found: Reached }): Io<CurrentState | undefined> {
  if (found.state !== "found") return undefined;
  const { stat } = found.object;
  return { ...stateOf(stat), kind: kindOf(stat) };
}

/** The part of a {@link Change} that tells where its walk is. */
interface Walked {
  readonly walk: Pick<Walk, "names">;
}

/** The real path of an entry below the directory that the walk of a change has reached. */
export const realPath = ({ walk }: Walked, ...names: string[]): string[] => [...walk.names, ...names];

/** The change that a removal is. @param stat of what is removed */
export const removalOf = (change: Walked, name: string, stat: Stat): EntryChange => ({
  action: "deleted",
  kind: kindOf(stat),
  path: realPath(change, name),
  before: stateOf(stat),
  after: null,
});

interface Placed {
  readonly placed: Stat;
  readonly sha256?: string | undefined;
}

/** The state of an entry that was just put in place, looked up by its name. */
export function* stateAfter({ jail, walk }: Change, name: string, placed: Placed): Io<EntryState> {
  return stateNow(yield* quietly(statBelow(jail.sys, walk.directory, name)), placed);
}

/** @param now the entry that has the name now: another process may have replaced or changed it since */
export function stateNow(now: Stat | undefined, { placed, sha256 }: Placed): EntryState {
  const isSame = now?.identity === placed.identity && now.size === placed.size && now.modifiedMs === placed.modifiedMs;
  return isSame ? stateOf(now, sha256) : plannedState(placed, sha256);
}

/** The state that a prepared file will have; its version changes with its name. */
export const plannedState = (placed: Stat, sha256?: string): EntryState => ({
  size: placed.isFile() ? placed.size : 0,
  modified: placed.modifiedMs,
  mode: placed.mode & PERMISSION_BITS,
  ...(sha256 === undefined ? {} : { sha256 }),
});

/** The parts of a change that its report needs. Without the place of the change it is on the device of the root. */
type Reporting = Pick<Change, "access" | "journal" | "made" | "id"> & Partial<Pick<Change, "jail" | "walk">>;

/** An undo is a group of changes, and those go by renames within one file system. */
function* isOnOtherDevice({ jail, walk }: Reporting): Io<boolean> {
  return jail !== undefined && walk !== undefined && walk.directory.stat.device !== jail.top.stat.device;
}

/** Whether the change is recorded, watched or approved, or the caller has to be told that it is not kept. */
export const isReported = ({ access, journal, rules }: Pick<Change, "access" | "journal" | "rules">): boolean =>
  access.changed !== undefined ||
  access.approve !== undefined ||
  journal !== undefined ||
  rules.whyNoJournal?.() !== undefined;

/** Tells the caller that the replaced entry is not kept, if the root has a journal that cannot be used. */
export function noteUnkept({ access, rules }: Pick<Change, "access" | "rules">): void {
  const reason = rules.whyNoJournal?.();
  if (reason !== undefined) access.lost?.(reason);
}

/**
 * Tells of a change, with the directories that were made for it.
 * @param keeping the note of the former entry, if the root has a journal and there was one
 */
export function* report(change: Reporting, made: EntryChange, keeping?: Keeping): Io<void> {
  const { access, journal } = change;
  const parents = change.made.splice(0);
  const reported = parents.length === 0 ? made : { ...made, made: parents };
  if (journal === undefined) {
    access.changed?.(reported);
    return;
  }
  const id = keeping?.id ?? idOf(change, journal);
  const kept = keeping && (yield* keeping.done());
  if (id === change.id) change.id = undefined;
  const isElsewhere = yield* quietly(isOnOtherDevice(change));
  const isAdded = journal.add(recordOf(change, reported, id), kept, isElsewhere ? "other_device" : undefined);
  const lost = kept?.in === "nothing" ? kept.reason : isAdded ? undefined : "not_kept";
  const isReplaced = made.before !== null && made.addition === undefined;
  if (lost !== undefined && isReplaced && !isChosen(lost)) access.lost?.(lost);
  access.changed?.({ ...reported, id, ...(lost === undefined ? {} : { isLost: true }) });
}

/** Runs a change. Directories that were made for it go again when it fails; those that cannot are told of by themselves. */
export function* withReport<T>(change: Change, work: (change: Change) => Io<T>): Io<T> {
  try {
    const done = yield* work(change);
    change.access.scope.settle();
    return done;
  } catch (error) {
    if (yield* removeParents(change)) change.access.behind?.(PARENTS_STAY);
    throw error;
  } finally {
    const path = change.made.pop();
    if (path !== undefined) yield* report(change, newDirectory(path));
    yield* dropNote(change);
  }
}
