// Makes one step alone: without a record, since one rename is never half done.

import { FileAdapterError } from "../../../core/errors/errors.js";
import type { Io } from "../../../core/io.js";
import { runIo } from "../../../core/io.js";
import { identity, type Pinned, READ_NEW, withOpen } from "../../../jail/handles.js";
import { finishWithReserve } from "../../../jail/reserve.js";
import type { PreparedEntry } from "../../../jail/staging/rename.js";
import type { StagedFile } from "../../../jail/staging/staging.js";
import { closeNow, errnoOf, quietly } from "../../../jail/sys.js";
import { type Guard, runExclusively } from "../guard.js";
import { keepReplaced } from "../history/keep.js";
import { requireNoOtherRoot } from "../history/nested.js";
import { commitKept, type Keeping } from "../history/note.js";
import { copyBytes } from "../open.js";
import { reserve } from "../quota.js";
import { type Change, flushDirectory, removeParents } from "../target.js";
import { keepRights } from "./put.js";
import { takeAlone } from "./removal.js";
import { report } from "./report.js";
import {
  type Committed,
  type End,
  type Ground,
  type Plan,
  placeOf,
  plannedOf,
  recheckEnds,
  requireApproval,
  type Step,
  together,
} from "./step.js";

/** Size from which freeing a replaced file may take longer than handing its handle to the thread pool. */
const LARGE_BYTES = 32_768;

/** The ground of a step alone: content is staged beside all else that is, and what is replaced lies in the trash or nowhere. */
export const ALONE: Ground = {
  isGroup: false,
  requireNear() {},
  siteOf: ({ change }) => change,
  create: ({ change: { jail, walk } }, mode) => jail.staging.create(walk.directory, mode),
  *complete({ change: { jail, rules } }, { fd }) {
    if (rules.durable) yield* jail.sys.fsync(fd);
  },
  *discard({ change: { jail } }, file, isPut) {
    if (file.fd >= 0) closeNow(file.fd);
    file.fd = -1;
    if (!isPut) {
      yield* quietly(jail.sys.unlink(file.path));
      jail.trackBackground(runIo(jail.staging.sweep()));
    }
    file.stage.release();
  },
  *placeFor(change, { object, options }) {
    if (options.recursive) yield* requireNoOtherRoot(change, object);
    return undefined;
  },
  take: takeAlone,
  *keepBefore() {
    return undefined;
  },
  putElsewhere: copyBeside,
};

/** Checks, stages, and makes a step under its locks; what it has staged is gone then. */
export function* makeAlone(step: Step): Io<Committed> {
  const { access } = placeOf(step).change;
  try {
    yield* step.check();
    if (step.stage !== undefined) yield* step.stage(0);
    access.scope.checkpoint();
    return yield* finishWithReserve(makeStaged(step));
  } finally {
    if (step.end !== undefined) yield* finishWithReserve(step.end());
  }
}

const RACES = 5;
/** Codes of a name that others have taken, or of what they have put there. */
const TAKEN: ReadonlySet<string> = new Set(["ALREADY_EXISTS", "CONFLICT"]);
/** Errors of a directory that has become a file since it was looked at, and of a file that has become a directory. */
const TURNED: ReadonlySet<string> = new Set(["EISDIR", "ENOTDIR"]);

/** Begins anew where another call or process has come in between. */
function* makeStaged(step: Step): Io<Committed> {
  for (let attempt = 1; ; attempt++) {
    const made = yield* makeLocked(step, attempt === RACES);
    if (made !== "raced") return made;
    for (const end of step.ends) end.isStale = true;
  }
}

const isBelowMissing = ({ ends }: Step): boolean => ends.some((end) => end.isBelowMissing);

function* makeLocked(step: Step, isLast: boolean): Io<Committed | "raced"> {
  const { change } = placeOf(step);
  const wereMissing = isBelowMissing(step);
  const { locks } = change.jail;
  const lock = yield* locks.hold(together(step.ends.map(({ keys }) => keys)));
  for (const end of step.ends) end.isStale ||= locks.turn !== end.change.walk.since;
  try {
    return yield* runExclusively(change, step.isConditional, (guard) => makeNow(step, guard));
  } catch (error) {
    // The lock was that of the first missing directory; now it is that of the name.
    const isReached = wereMissing && !isBelowMissing(step);
    const isTaken = isReached && error instanceof FileAdapterError && TAKEN.has(error.code);
    if (!isLast && (isTaken || TURNED.has(errnoOf(error) ?? ""))) return "raced";
    // Changes that wait to make the same directories must find them gone, or used.
    yield* quietly(removeParents(change));
    throw error;
  } finally {
    lock.release();
  }
}

/** Makes a step whose content is staged, under its locks. */
export function* makeNow(step: Step, guard: Guard): Io<Committed> {
  const { change, name } = placeOf(step);
  const plan = yield* step.prepare();
  const held = reserve(change, plan.amount);
  try {
    const recheck = plan.change && (yield* requireApproval([plannedOf(step, plan.change)]));
    if (recheck !== undefined) yield* recheckEnds(recheck, step);
    yield* makeParents(step);
    const keeping = yield* keep(change, plan, name);
    const committed = yield* commitKept(step.commit(guard), keeping);
    held.keep();
    const { replaced } = plan;
    const isFreed = replaced !== undefined && replaced.stat.size > LARGE_BYTES && keeping?.isLinked !== true;
    if (isFreed) replaced.closeLate = change.jail.closeReplaced;
    if (committed.change !== undefined) yield* report(change, committed.change, committed.keeping ?? keeping);
    yield* flushNames(step.ends);
    return committed;
  } finally {
    // No effect on what has been kept.
    held.undo();
  }
}

/**
 * Behind all that sees the plan: until then nothing has got a name. From here on neither a deadline nor a cancellation ends the
 * call: others may use these directories already.
 */
function* makeParents({ ends }: Step): Io<void> {
  for (const end of ends) {
    if (!end.isBelowMissing) continue;
    end.change.access.scope.commit();
    yield* end.makeParents();
  }
}

/** Keeps what the plan replaces, and notes it. */
function* keep(change: Change, plan: Plan, name: string): Io<Keeping | undefined> {
  const { change: planned, replaced, inode, notes } = plan;
  if (planned === undefined || notes === "in commit") return undefined;
  const old = replaced && { old: replaced, at: { directory: change.walk.directory, name } };
  return yield* keepReplaced(change, old, { planned, inode });
}

function* flushNames(ends: readonly End[]): Io<void> {
  const directories: Pinned[] = [];
  for (const { change } of ends) {
    const { directory } = change.walk;
    if (directories.some((other) => identity(other) === identity(directory))) continue;
    directories.push(directory);
    yield* flushDirectory(change, directory);
  }
}

/**
 * Gives a file its name by a copy beside that, with the same rights: the staging directory turned out to be on another mount
 * than the target in spite of equal device numbers (bind mount, quota project).
 */
function* copyBeside(
  change: Change,
  { path, isDirectory }: PreparedEntry,
  put: (path: string) => Io<void>,
  refusal: unknown,
): Io<void> {
  if (isDirectory) throw refusal;
  const { sys, staging } = change.jail;
  change.access.scope.retract();
  const copy = yield* staging.createIn(staging.beside(change.walk.directory), 0o600);
  try {
    yield* copyWithRights(change, path, copy);
    yield* put(copy.path);
  } catch (error) {
    yield* quietly(sys.unlink(copy.path));
    throw error;
  } finally {
    if (copy.fd >= 0) closeNow(copy.fd);
  }
  yield* quietly(sys.unlink(path));
}

function* copyWithRights(change: Change, from: string, copy: StagedFile): Io<void> {
  const { sys } = change.jail;
  yield* withOpen(sys.open(from, READ_NEW), function* (source) {
    yield* copyBytes(sys, { from: source, to: copy.fd });
    yield* keepRights(change, copy.fd, yield* sys.fstat(source));
  });
  if (change.rules.durable) yield* sys.fsync(copy.fd);
  const { fd } = copy;
  copy.fd = -1;
  yield* sys.close(fd);
}
