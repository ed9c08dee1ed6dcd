// Preconditions of changes to host files, and the lock file that makes check and change one step.

import { createHash, type Hash } from "node:crypto";
import type { CallScope } from "../../core/call/scope.js";
import { conflict } from "../../core/errors/texts.js";
import { type Expected, namesStamp } from "../../core/etag.js";
import type { Io } from "../../core/io.js";
import { identity, type Pinned, READ } from "../../jail/handles.js";
import type { Jail } from "../../jail/jail.js";
import { closeNow } from "../../jail/sys.js";
import { expectationError, MAX_TOLD_BYTES, requireExpected, requireStamp } from "../preconditions.js";
import { readPieces } from "./open.js";
import type { Change } from "./target.js";

/** Bytes read per call; small enough to read without the thread pool. */
const PIECE_BYTES = 262_144;
/** The buffer of the last file that was hashed: a new one for each would cost more than the read. */
let spare: Buffer | undefined;

/**
 * Called immediately before the irreversible step.
 * @throws TIMEOUT if another process has taken over the lock file
 */
export type Guard = () => Io<void>;

const noGuard: Guard = function* () {};

/**
 * Runs `work` while no other process makes a conditional change in the root. The caller already holds the lock of the
 * target, and `work` takes no other.
 */
export function* runExclusively<T>(change: Change, isConditional: boolean, work: (guard: Guard) => Io<T>): Io<T> {
  const { jail, walk, access } = change;
  // An approval is bound to a state, so it is a condition too.
  if (!isConditional && access.approve === undefined) return yield* work(noGuard);
  return yield* withLockFile(jail, { parent: walk.directory, scope: access.scope }, work);
}

/** As {@link runExclusively}. @param place the lock file is in the root's staging directory, else beside `parent` */
export function* withLockFile<T>(
  jail: Jail,
  place: { readonly parent: Pinned; readonly scope: CallScope; readonly recovers?: false },
  work: (guard: Guard) => Io<T>,
): Io<T> {
  const { parent, scope } = place;
  const turn = yield* jail.locks.hold({ shared: [], exclusive: [`${identity(jail.top)} lock file`] });
  try {
    const lock = yield* jail.staging.lock(parent, scope);
    try {
      if (lock.isTakenOver && place.recovers !== false) yield* jail.recover(true);
      return yield* work(function* () {
        if (!(yield* lock.isHeld())) throw scope.timedOut();
      });
    } finally {
      yield* lock.release();
    }
  } finally {
    turn.release();
  }
}

/**
 * Checks preconditions that depend only on the file's existence, before anything is done.
 * @throws CONFLICT
 */
export function* checkEarly(change: Change, old: Pinned | undefined, expected: Expected | undefined): Io<void> {
  if ((old === undefined) !== (expected === "nothing")) yield* checkExpected(change, old, expected);
}

/**
 * Compares the current content with what is expected.
 * @param old a regular file
 * @throws CONFLICT
 */
export function* checkExpected(change: Change, old: Pinned | undefined, expected: Expected | undefined): Io<void> {
  const { access } = change;
  if (expected === undefined) return;
  if (old === undefined) return requireExpected(expected, undefined, access);
  if (namesStamp(expected)) return requireStamp(expected, old.stat.version, access);
  // The hash is needed only for the error, which omits it for files that are slow to read or that the caller may not
  // read.
  const isForError = expected === "nothing";
  if (isForError && (old.stat.size > MAX_TOLD_BYTES || !access.holds("crud/read"))) {
    throw expectationError(expected, undefined, access);
  }
  if (!isForError && expected.bytes !== undefined && (yield* hasContent(change, old, expected.bytes))) return;
  requireExpected(expected, (yield* hashFile(change, old)).digest("hex"), access);
}

/** Compares the entry itself with what was seen before. @throws CONFLICT */
export function checkVersion({ access }: Change, now: Pinned | undefined, version: string | undefined): void {
  if (version === undefined || now?.stat.version === version) return;
  throw conflict(access.place, { verb: access.verb, expected: "no change meanwhile" });
}

/** The hash state of a file, or of its first `length` bytes, to be continued. */
export function* hashFile(change: Change, file: Pinned, length = Number.POSITIVE_INFINITY): Io<Hash> {
  const hash = createHash("sha256");
  yield* usePieces(change, file, length, (piece) => {
    hash.update(piece);
    return true;
  });
  return hash;
}

function* hasContent(change: Change, file: Pinned, content: Buffer): Io<boolean> {
  if (file.stat.size !== content.length) return false;
  let at = 0;
  let isSame = true;
  yield* usePieces(change, file, Number.POSITIVE_INFINITY, (piece) => {
    isSame = content.subarray(at, at + piece.length).equals(piece);
    at += piece.length;
    return isSame;
  });
  return isSame && at === content.length;
}

/** @param length most bytes that are read @param use returns whether it wants the next piece, whose buffer is used again */
function* usePieces(change: Change, file: Pinned, length: number, use: (piece: Buffer) => boolean): Io<void> {
  const { handles, sys } = change.jail;
  const fd = yield* handles.reopen(file, READ);
  const whole = spare ?? Buffer.allocUnsafeSlow(PIECE_BYTES);
  spare = undefined;
  try {
    // Requesting one byte more than expected detects the end in the same call; a file that has grown takes another.
    const buffer = whole.subarray(0, Math.min(PIECE_BYTES, file.stat.size + 1, Math.max(length, 1)));
    yield* readPieces(sys, { fd, buffer, size: file.stat.size, range: { offset: 0, length } }, function* (piece) {
      if (!use(piece)) return false;
      yield* change.access.scope.breathe();
      return true;
    });
  } finally {
    spare = whole;
    closeNow(fd);
  }
}
