// Reports the committed changes of a host root.

import type { Io } from "../../../core/io.js";
import type { Access } from "../../../core/ports/backend.js";
import type { ChangedKind, EntryChange, EntryState } from "../../../core/ports/changes/change.js";
import { isChosen } from "../../../core/ports/changes/journal.js";
import type { IdentifiedRecord, Kept } from "../../../core/ports/changes/journal-writer.js";
import { statBelow } from "../../../jail/handles.js";
import type { Stat } from "../../../jail/stat.js";
import { quietly } from "../../../jail/sys.js";
import type { Walk } from "../../../jail/walk/walk.js";
import type { Change } from "../target.js";

const PERMISSION_BITS = 0o7777;

/** Content kept for a change that is not committed yet. */
export interface Keeping {
  readonly id: string;
  /** The file itself is kept, by another name: closing a handle to it frees nothing. */
  readonly isLinked?: boolean;
  /** Called after the commit. `undefined`: nothing had to be kept. */
  done(): Io<Kept | undefined>;
  /** Called if there was none. */
  undo(): Io<void>;
}

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

/** The part of a {@link Change} that tells where its walk is. */
interface Walked {
  readonly walk: Pick<Walk, "names">;
}

/** The real path of an entry in the directory that the walk of a change has reached. */
export const realPath = ({ walk }: Walked, name: string): string[] => [...walk.names, name];

/** The change that a removal is. @param stat of what is removed */
export const removalOf = (change: Walked, name: string, stat: Stat): EntryChange => ({
  action: "deleted",
  kind: kindOf(stat),
  path: realPath(change, name),
  before: stateOf(stat),
  after: null,
});

/**
 * The state of an entry that was just put in place, looked up by its name.
 * @param placed the entry as it was prepared: another process may have replaced or changed it since
 */
export function* stateAfter(
  { jail, walk }: Change,
  name: string,
  { placed, sha256 }: { readonly placed: Stat; readonly sha256?: string | undefined },
): Io<EntryState> {
  const now = yield* quietly(statBelow(jail.sys, walk.directory, name));
  const isSame = now?.identity === placed.identity && now.size === placed.size && now.modifiedMs === placed.modifiedMs;
  return isSame ? stateOf(now, sha256) : plannedState(placed, sha256);
}

/** Makes a commit; what was kept for it is given up if it fails. */
export function* commitKept<T>(commit: Io<T>, keeping: Keeping | undefined): Io<T> {
  let isDone = false;
  try {
    const result = yield* commit;
    isDone = true;
    return result;
  } finally {
    if (!isDone && keeping !== undefined) yield* keeping.undo();
  }
}

/** The state that a prepared file will have; its version changes with its name. */
export function plannedState(placed: Stat, sha256?: string): EntryState {
  const { version: _, ...state } = stateOf(placed, sha256);
  return state;
}

/** The parts of a change that its report needs. Without the place of the change it is on the device of the root. */
type Reporting = Pick<Change, "access" | "journal" | "made"> & Partial<Pick<Change, "jail" | "walk">>;

/** An undo is a group of changes, and those go by renames within one file system. */
const isOnOtherDevice = ({ jail, walk }: Reporting): boolean =>
  jail !== undefined && walk !== undefined && walk.directory.stat.device !== jail.top.stat.device;

/** Whether anybody keeps or hears the change, or has to be told that it is not kept. */
export const isReported = ({ access, journal, rules }: Pick<Change, "access" | "journal" | "rules">): boolean =>
  access.changed !== undefined || journal !== undefined || rules.whyNoJournal?.() !== undefined;

/** Tells the caller that what is replaced is not kept, where the root has a journal that cannot be used. */
export function noteUnkept({ access, rules }: Pick<Change, "access" | "rules">): void {
  const reason = rules.whyNoJournal?.();
  if (reason !== undefined) access.lost?.(reason);
}

type Recorded = Pick<Access, "place" | "verb" | "origin">;

/** The origin of a call that tells of none. */
const UNKNOWN_ORIGIN = { scheme: "file", actor: "operator", via: "", surface: "library" } as const;

/** The record of a change as it is planned or made. */
export function recordOf({ access }: { readonly access: Recorded }, change: EntryChange, id: string): IdentifiedRecord {
  const { place, verb, origin } = access;
  const known = origin ?? { ...UNKNOWN_ORIGIN, root: place.root, op: verb };
  // Two spread objects in one literal take ten times as long.
  return Object.assign({}, known, change, { time: Date.now(), id });
}

/**
 * Tells of a change, with the directories that were made for it.
 * @param keeping what was kept before it, if the root has a journal and something was there
 */
export function* report(change: Reporting, made: EntryChange, keeping?: Keeping): Io<void> {
  const { access, journal } = change;
  const parents = change.made.splice(0);
  const reported = parents.length === 0 ? made : { ...made, made: parents };
  if (journal === undefined) {
    access.changed?.(reported);
    return;
  }
  const id = keeping?.id ?? journal.newId();
  const kept = keeping && (yield* keeping.done());
  const isAdded = journal.add(
    recordOf(change, reported, id),
    kept,
    isOnOtherDevice(change) ? "other_device" : undefined,
  );
  const lost = kept?.in === "nothing" ? kept.reason : isAdded ? undefined : "not_kept";
  const isReplaced = made.before !== null && made.addition === undefined;
  if (lost !== undefined && isReplaced && !isChosen(lost)) access.lost?.(lost);
  access.changed?.({ ...reported, id });
}

/** Runs a change. Directories that were made for it stay when it fails, so they are told of by themselves. */
export function* withReport<T>(change: Change, work: (change: Change) => Io<T>): Io<T> {
  try {
    return yield* work(change);
  } finally {
    const path = change.made.pop();
    const after = { size: 0, modified: Date.now() };
    if (path !== undefined) yield* report(change, { action: "created", kind: "directory", path, before: null, after });
  }
}
