// Appends to a file of the host.

import { FileAdapterError } from "../../../core/errors/errors.js";
import { hardLinked, ioError } from "../../../core/errors/texts.js";
import { type Io, wait } from "../../../core/io.js";
import type { AppendOptions, Body, Written } from "../../../core/ports/backend.js";
import { APPEND, identity, type Pinned, READ, release, statBelow, withOpen } from "../../../jail/handles.js";
import { finishWithReserve } from "../../../jail/reserve.js";
import { closeNow, errnoOf, quietly } from "../../../jail/sys.js";
import { sha256Of } from "../../digest.js";
import { checkEarly, checkExpected, type Guard, runExclusively } from "../guard.js";
import { commitKept } from "../history/note.js";
import { readGrowing } from "../open.js";
import { reserve, withReservation } from "../quota.js";
import { type Change, checkFile, locate, lockTarget, type Reached, removeParents, type Target } from "../target.js";
import { ALONE, makeNow } from "./alone.js";
import {
  approveAppend,
  checkAppend,
  dataFor,
  type FoundBefore,
  noteAppend,
  reportAppended,
  requireMissingSize,
  type Wanted,
} from "./append-parts.js";
import { collect, writeAdded } from "./content.js";
import { realPath } from "./report.js";
import { WriteStep } from "./write-step.js";

/**
 * Bytes of one write of a part of an upload. In larger ones the system looks for larger pages, which took it several times
 * as long. An append of an agent is one write.
 */
const PART_WRITE_BYTES = 262_144;

/** Maximum restarts because another process replaced, removed or created the file meanwhile. */
const RACES = 20;

/** An append that holds the lock of its target. */
interface Addition {
  readonly name: string;
  /** Directories above it that are still to be made. */
  readonly parents: readonly string[];
  readonly data: Buffer;
  readonly writeBytes: number;
  /** The file as found by the walk. */
  readonly checked: Pinned | undefined;
  readonly wanted: Wanted;
  readonly guard: Guard;
  readonly addedTo: Body["addedTo"];
  readonly whole: number | undefined;
}

/** Appends to a file in one write; creates the file if it is missing. */
export function* appendFile(change: Change, found: Reached, options: AppendOptions & { body: Body }): Io<Written> {
  const { expected, expectedSize, body, whole } = options;
  const addedTo = body.addedTo?.bind(body);
  const target = locate(change, found, options);
  yield* checkFile(change, target.old);
  yield* checkEarly(change, target.old, expected);
  if (target.old === undefined) requireMissingSize(change, expectedSize);
  const data = yield* collect(change, yield* wait(body.borrow?.() ?? body.load()));
  change.access.scope.checkpoint();
  // Refused early, where it could not be made later.
  reserve(change, { bytes: data.length, files: target.old === undefined ? 1 : 0 }).undo();
  const wanted = { expected, expectedSize };
  const writeBytes = body.borrow === undefined ? data.length : PART_WRITE_BYTES;
  const addition = { data, writeBytes, checked: target.old, wanted, addedTo, whole };
  const made = target.parents.length > 0 ? yield* appendLocked(change, addition, target) : "raced";
  if (made !== "raced") return made;
  const written = yield* appendLocked(change, addition, { ...target, parents: [] });
  if (written === "raced") throw ioError(change.access.place, "EAGAIN");
  return written;
}

/** @returns `raced`: others have made the missing directories, and the file in them; or too many have been in between */
function* appendLocked(
  change: Change,
  given: Omit<Addition, "name" | "parents" | "guard">,
  target: Target,
): Io<Written | "raced"> {
  const { name, parents } = target;
  const { expected, expectedSize } = given.wanted;
  // As for any change that makes directories, the lock is that of the first one.
  const turn = yield* lockTarget(change, parents[0] ?? name);
  try {
    const isConditional = expected !== undefined || expectedSize !== undefined;
    return yield* runExclusively(change, isConditional, (guard) => {
      const addition = { ...given, name, parents, guard };
      if (parents.length > 0) return appendTo(change, undefined, addition);
      return appendNow(change, addition, { target, stale: turn.stale || isConditional });
    });
  } catch (error) {
    yield* quietly(removeParents(change));
    throw error;
  } finally {
    turn.release();
  }
}

function* appendNow(change: Change, addition: Addition, at: { target: Target; stale: boolean }): Io<Written | "raced"> {
  for (let attempt = 1; attempt <= RACES; attempt++) {
    const stale = at.stale || attempt > 1;
    const written = yield* withCurrentEntry(change, { ...at, stale }, (old) => appendTo(change, old, addition));
    if (written !== "raced") return written;
  }
  return "raced";
}

function* appendTo(change: Change, old: Pinned | undefined, given: Addition): Io<Written | "raced"> {
  if (old === undefined) {
    const { expected, expectedSize } = given.wanted;
    yield* checkExpected(change, old, expected);
    requireMissingSize(change, expectedSize);
    return yield* writeWhole(change, given, { content: given.data });
  }
  if (old !== given.checked) yield* checkFile(change, old);
  const data = (yield* dataFor(change, old, given.addedTo)) ?? given.data;
  const found = yield* checkAppend(change, old, given.wanted, data);
  if (found?.isRepeated === true) return answerRepeat(found, data);
  const addition = { ...given, data, found };
  const done = yield* appendInPlace(change, old, addition);
  return done === "linked" ? yield* appendCopy(change, old, addition) : done;
}

function answerRepeat({ size, hash }: FoundBefore, data: Buffer): Written {
  const sha256 = hash?.update(data).digest("hex");
  return { bytes: 0, created: false, size, isRepeated: true, ...(sha256 === undefined ? {} : { sha256 }) };
}

/**
 * `raced`: the file has lost its last name since it was found. `linked`: it has other hard links, whose content must
 * not change.
 */
function* appendInPlace(
  change: Change,
  old: Pinned,
  { name, data, writeBytes, guard, found, whole }: Addition & { found: FoundBefore | undefined },
): Io<Written | "raced" | "linked"> {
  const { sys } = change.jail;
  const fd = yield* openAgain(change, old);
  if (fd === undefined) return "raced";
  try {
    const statBefore = yield* sys.fstat(fd);
    const { size: before, nlink } = statBefore;
    if (nlink === 0 || (found !== undefined && found.size !== before)) return "raced";
    if (nlink > 1 && !change.rules.hardLinks) return "linked";
    yield* approveAppend(change, { name, data, old: statBefore });
    yield* guard();
    const held = reserve(change, { bytes: data.length, files: 0 });
    change.access.scope.commit();
    // Only a journal compares what was added. Large content is hashed while it is written.
    const sum = change.journal === undefined ? undefined : sha256Of(data);
    const keeping = noteAppend(change, { name, data, sum, old: statBefore });
    const written = writeAdded(change, { fd, size: before, data, writeBytes, whole });
    const size = yield* withReservation(held, commitKept(written, keeping));
    yield* reportAppended(change, { name, fd, data, sum, keeping, old: statBefore });
    const isAllSeen = found?.hash !== undefined && size === before + data.length;
    const sha256 = isAllSeen ? found.hash?.update(data).digest("hex") : undefined;
    return { bytes: data.length, created: false, size, ...(sha256 === undefined ? {} : { sha256 }) };
  } finally {
    closeNow(fd);
  }
}

/** `undefined` if another entry has the name, on platforms that can only open by name. */
function* openAgain(change: Change, old: Pinned): Io<number | undefined> {
  try {
    return yield* change.jail.handles.reopen(old, APPEND);
  } catch (error) {
    const code = errnoOf(error);
    if (code === "ENOENT" || code === "ESTALE") return undefined;
    throw error;
  }
}

/** Other hard links of the file may be outside the root: they keep the old content, and this name gets a new file. */
function* appendCopy(
  change: Change,
  old: Pinned,
  { found, ...addition }: Addition & { found: FoundBefore | undefined },
): Io<Written | "raced"> {
  const { data } = addition;
  const content = Buffer.concat([yield* contentOf(change, old), data]);
  if (found !== undefined && found.size + data.length !== content.length) return "raced";
  return yield* writeWhole(change, addition, { content, old });
}

/** Makes the file anew, with one rename. @param old the file that goes @returns `raced`: another has got the name */
function* writeWhole(
  change: Change,
  { name, parents, data, guard, whole }: Addition,
  { content, old }: { readonly content: Buffer; readonly old?: Pinned },
): Io<Written | "raced"> {
  const size = content.length;
  const real = realPath(change, ...parents, name);
  const step = new WriteStep(
    {
      at: change,
      body: { load: () => content, length: size },
      options: { parents: false, ...(old === undefined ? { expected: "nothing" } : {}) },
      isNew: old === undefined,
      addition: old && { offset: size - data.length, sha256: yield* wait(sha256Of(data)) },
    },
    ALONE,
    change.rules,
  );
  const [end] = step.ends;
  end.arrive(
    change,
    old === undefined ? { state: "missing", real, missing: [...parents, name] } : { state: "found", real, object: old },
    { name, parents, old },
  );
  try {
    yield* step.stage(Math.max(0, (whole ?? size) - size));
    if (parents.length === 0 && !(yield* isUnchanged(change, name, old))) return "raced";
    yield* finishWithReserve(makeNow(step, guard));
    return { ...step.written, bytes: data.length };
  } catch (error) {
    const isRefused = error instanceof FileAdapterError && error.code === "CONFLICT" && !end.isBelowMissing;
    if (!isRefused || old !== undefined || (yield* isUnchanged(change, name, old))) throw error;
    return "raced";
  } finally {
    yield* step.end();
    end.drop();
  }
}

/** Whether the name still has the same file, or still none: a copy would lose the content of another one. */
function* isUnchanged(change: Change, name: string, old: Pinned | undefined): Io<boolean> {
  const now = yield* statBelow(change.jail.sys, change.walk.directory, name);
  return now?.identity === (old && identity(old));
}

/**
 * The content of a file to copy.
 * @throws HARD_LINKED if it exceeds the limit
 */
function* contentOf(change: Change, file: Pinned): Io<Buffer> {
  const { handles, sys } = change.jail;
  const limit = change.rules.maxCopyBytes;
  return yield* withOpen(handles.reopen(file, READ), function* (fd) {
    const { size } = yield* sys.fstat(fd);
    if (size > limit) throw hardLinked(change.access.place);
    const content = yield* readGrowing(sys, fd, { offset: 0, length: limit + 1, size });
    if (content.length > limit) throw hardLinked(change.access.place);
    return content;
  });
}

/** Looks up the name again if it may have changed since the walk. */
function* withCurrentEntry<T>(
  change: Change,
  { target, stale }: { target: Target; stale: boolean },
  work: (old: Pinned | undefined) => Io<T>,
): Io<T> {
  if (!stale) return yield* work(target.old);
  const now = yield* change.jail.handles.pin(change.walk.directory, target.name);
  try {
    return yield* work(now);
  } finally {
    if (now !== undefined) release(now);
  }
}
