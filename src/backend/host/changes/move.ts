// Moves within a root of the host.

import { invalidInput, ioError, isADirectory, notAFile, notFound } from "../../../core/errors/texts.js";
import { namesStamp } from "../../../core/etag.js";
import type { Io } from "../../../core/io.js";
import type { Moved, MoveOptions } from "../../../core/ports/backend.js";
import type { EntryChange, EntryState } from "../../../core/ports/changes/change.js";
import { isOneEntry } from "../../../jail/directory.js";
import { below, identity, type Pinned, release } from "../../../jail/handles.js";
import { inodeOf } from "../../../jail/stat.js";
import { errnoOf } from "../../../jail/sys.js";
import { requireExpected, requireStamp } from "../../preconditions.js";
import { type Guard, hashFile, runExclusively } from "../guard.js";
import { keepReplaced } from "../history/keep.js";
import { commitKept, type Keeping, noteChange } from "../history/note.js";
import { stampPart } from "../open.js";
import { freedBy } from "../quota.js";
import { type Change, flushDirectory, locate, type Reached, type Target } from "../target.js";
import { requireAllAllowed } from "../tree-policy.js";
import { checkTarget, lockKeys, putInPlace, refuseInside, targetKeys, withParents } from "./put.js";
import { purge } from "./removal.js";
import { type Hidden, needsExchange, refuseAround, swapIn } from "./replace.js";
import { isReported, kindOf, plannedState, realPath, report, stateAfter, stateOf } from "./report.js";

/** Maximum restarts because the source's name was taken by another entry. */
const RACES = 5;

/** One end of a move, resolved. */
export interface End {
  readonly change: Change;
  readonly found: Reached;
}

/** A move with both names resolved. */
interface Move {
  readonly from: Change;
  readonly to: Change;
  readonly name: string;
  readonly target: Target;
  readonly options: MoveOptions;
  /** The replaced entry, to be purged. */
  hidden?: Hidden | undefined;
}

/**
 * Moves the entry itself (a link, or a whole directory) by one rename. `undefined`: the target is on another device.
 */
export function* moveEntry(source: End, goal: End, options: MoveOptions): Io<Moved | undefined> {
  const { change: from, found } = source;
  const to = goal.change;
  if (found.state !== "found") throw notFound(from.access.place);
  from.walk.settle();
  const { object, real } = found;
  if (real.length === 0) throw invalidInput("The root itself cannot be moved", "/path", "a path below the root");
  const target = locate(to, goal.found, options);
  const isSame = yield* isSameEntry(source, goal);
  const named = isSame ? requestedName(to, target.name) : target.name;
  if (isSame && named === real.at(-1)) return yield* checkUnmoved(from, object, options);
  refuseInside(to, identity(object));
  if (options.replaces === true) refuseAround(from, target.old);
  // Files of an overlay have other device numbers than its directories; whether they can be renamed, the rename tells.
  if (object.stat.device !== to.walk.directory.stat.device && object.stat.isDirectory()) return undefined;
  if (!isSame) yield* checkTarget(to, target.old, { ...options, isFile: object.stat.isFile() });
  const move: Move = { from, to, name: real.at(-1) ?? "", target: { ...target, name: named }, options };
  let current = object;
  for (let attempt = 1; attempt <= RACES; attempt++) {
    const moved = yield* moveLocked(move, current);
    if (move.hidden !== undefined) yield* purge(to, move.hidden);
    if (moved !== "raced") return moved === "elsewhere" ? undefined : moved;
    const now = yield* from.jail.handles.pin(from.walk.directory, move.name);
    if (now === undefined) throw notFound(from.access.place);
    if (current !== object) release(current);
    current = now;
  }
  if (current !== object) release(current);
  throw ioError(from.access.place, "EAGAIN");
}

/** Whether both paths lead to one entry: by one name, or by two that its directory does not tell apart. */
function* isSameEntry({ found: { real }, change: from }: End, { found, change: to }: End): Io<boolean> {
  if (found.state !== "found") return false;
  if (found.real.join("/") === real.join("/")) return true;
  return yield* isRespelled({ from, to, name: real.at(-1) ?? "", other: found.real.at(-1) ?? "" });
}

/** Whether two names are one entry of one directory. */
function* isRespelled({ from, to, name, other }: Pick<Move, "from" | "to" | "name"> & { other: string }): Io<boolean> {
  const { directory } = from.walk;
  if (name === other || identity(directory) !== identity(to.walk.directory)) return false;
  return yield* isOneEntry(from.jail.sys, directory, name, other);
}

/** The new spelling that a move gives the name of an entry; `undefined`: it gives another name. @param real path of the entry */
export function* newSpelling(
  from: Change,
  real: readonly string[],
  to: Change,
  stored: string,
): Io<string | undefined> {
  const name = requestedName(to, stored);
  return (yield* isRespelled({ from, to, name: real.at(-1) ?? "", other: name })) ? name : undefined;
}

/** A name that differs from the stored one only in spelling that the file system folds still is a new name. */
function requestedName(to: Change, stored: string): string {
  const requested = to.path.segments.at(-1) ?? stored;
  return to.walk.lastIsLink ? stored : requested;
}

function* moveLocked(move: Move, object: Pinned): Io<Moved | "elsewhere" | "raced"> {
  const { from, to, name, target, options } = move;
  const own = targetKeys(from, { name, parents: [], old: undefined });
  const other = targetKeys(to, target);
  const turn = yield* lockKeys(from, {
    shared: [...own.shared, ...other.shared],
    exclusive: [...own.exclusive, ...other.exclusive, ...(object.stat.isDirectory() ? [identity(object)] : [])],
  });
  try {
    const now = yield* from.jail.handles.pin(from.walk.directory, name);
    if (now === undefined) throw notFound(from.access.place);
    try {
      if (identity(now) !== identity(object)) return "raced";
      yield* requireAllAllowed(from, now);
      yield* requireAllAllowed(to, now);
      const isConditional = options.expected !== undefined || options.expectedFrom !== undefined;
      return yield* runExclusively(from, isConditional, (guard) => commit(move, now, guard));
    } finally {
      release(now);
    }
  } finally {
    turn.release();
  }
}

function* commit(move: Move, object: Pinned, guard: Guard): Io<Moved | "elsewhere"> {
  const { from, to, name, target, options } = move;
  const sha256 = yield* checkSource(from, object, options);
  const path = below(from.walk.directory, name);
  const isFile = object.stat.isFile();
  try {
    return yield* withParents(to, target.parents, function* () {
      const old = yield* to.jail.handles.pin(to.walk.directory, target.name);
      let keeping: Keeping | undefined;
      let isSwapped = false;
      try {
        const isSame = old !== undefined && identity(old) === identity(object);
        const isRespelling = isSame && (yield* isRespelled({ from, to, name, other: target.name }));
        const note = (): Keeping | undefined =>
          noteChange(to, describeMove(move, object, { old: undefined, after: plannedState(object.stat, sha256) }), {
            inode: inodeOf(object.stat),
          });
        if (isRespelling) {
          yield* guard();
          to.access.scope.commit();
          keeping = note();
          yield* commitKept(from.jail.sys.rename(path, below(to.walk.directory, target.name)), keeping);
        } else {
          yield* checkTarget(to, old, { ...options, isFile });
          const ready = { path, isDirectory: object.stat.isDirectory() };
          if (isSame) {
            keeping = note();
            yield* commitKept(dropName(from, path, guard), keeping);
          } else if (old !== undefined && needsExchange(old, ready.isDirectory)) {
            isSwapped = true;
            move.hidden = yield* swapIn(to, { ready: path, name: target.name, old, guard, note });
            to.rules.usage?.free(freedBy(old.stat));
          } else {
            const freed = freedBy(old?.stat);
            const put = putInPlace(to, ready, { name: target.name, old, guard, options });
            keeping = yield* keepOverwritten(move, object, old);
            yield* commitKept(put, keeping);
            to.rules.usage?.free(freed);
          }
        }
        const overwritten = old !== undefined && !isRespelling;
        const replaced = overwritten && !isSwapped ? old : undefined;
        yield* reportMove(move, object, { old: replaced, sha256, keeping });
        yield* flushDirectory(to, to.walk.directory);
        yield* flushDirectory(from, from.walk.directory);
        to.access.scope.settle();
        return { overwritten, ...(sha256 === undefined ? {} : { sha256 }), ...(isFile ? stampPart(object.stat) : {}) };
      } finally {
        if (old !== undefined) release(old);
      }
    });
  } catch (error) {
    if (errnoOf(error) !== "EXDEV") throw error;
    for (const { access } of [from, to]) access.scope.retract();
    return "elsewhere";
  }
}

function* reportMove(
  { from, to, name, target }: Move,
  object: Pinned,
  { old, sha256, keeping }: { old: Pinned | undefined; sha256: string | undefined; keeping: Keeping | undefined },
): Io<void> {
  if (!isReported(to)) return;
  const after = yield* stateAfter(to, target.name, { placed: object.stat, sha256 });
  yield* report(to, describeMove({ from, to, name, target }, object, { old, after }), keeping);
}

const describeMove = (
  { from, to, name, target }: Pick<Move, "from" | "to" | "name" | "target">,
  object: Pinned,
  { old, after }: { old: Pinned | undefined; after: EntryState },
): EntryChange => ({
  action: "moved",
  kind: kindOf(object.stat),
  path: realPath(to, target.name),
  from: realPath(from, name),
  before: old === undefined ? null : stateOf(old.stat),
  after,
});

const keepOverwritten = (move: Move, object: Pinned, old: Pinned | undefined): Io<Keeping | undefined> =>
  keepReplaced(move.to, { old, name: move.target.name, inode: inodeOf(object.stat) }, () =>
    describeMove(move, object, { old, after: plannedState(object.stat) }),
  );

/** Both names are hard links of one file, which rename(2) would leave unchanged. */
function* dropName(from: Change, path: string, guard: Guard): Io<void> {
  yield* guard();
  from.access.scope.commit();
  yield* from.jail.sys.unlink(path);
}

/**
 * @returns the hash, if a precondition required it
 * @throws CONFLICT, IS_A_DIRECTORY, NOT_A_FILE
 */
export function* checkSource(from: Change, object: Pinned, { expectedFrom }: MoveOptions): Io<string | undefined> {
  if (expectedFrom === undefined) return undefined;
  if (object.stat.isDirectory()) throw isADirectory(from.access.place);
  if (!object.stat.isFile()) throw notAFile(from.access.place);
  if (namesStamp(expectedFrom)) {
    requireStamp(expectedFrom, object.stat.version, from.access);
    return undefined;
  }
  const sha256 = (yield* hashFile(from, object)).digest("hex");
  requireExpected(expectedFrom, sha256, from.access);
  return sha256;
}

/** Nothing is moved, but the preconditions are checked. */
function* checkUnmoved(from: Change, object: Pinned, options: MoveOptions): Io<Moved> {
  const sha256 = yield* checkSource(from, object, options);
  return { overwritten: false, ...(sha256 === undefined ? {} : { sha256 }) };
}
