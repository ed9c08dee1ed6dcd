import { createHash, type Hash } from "node:crypto";
import type { Expected } from "../../core/etag.js";
import type { Io } from "../../core/io.js";
import { identity, type Pinned, READ } from "../../jail/handles.js";
import { closeNow } from "../../jail/sys.js";
import { MAX_TOLD_BYTES, refused, requireExpected } from "../expected.js";
import type { Change } from "./target.js";

/** Few enough to be read without the thread pool. */
const PIECE_BYTES = 262_144;

/** Asked right before the step that cannot be taken back. @throws TIMEOUT when another process has taken the lock file */
export type Guard = () => Io<void>;

const unguarded: Guard = function* () {};

/**
 * Runs `work` while no other process makes a conditional change in the root. Whoever calls it has the turn of the target
 * already, and asks for no other inside.
 */
export function* apart<T>(change: Change, isConditional: boolean, work: (guard: Guard) => Io<T>): Io<T> {
  if (!isConditional) return yield* work(unguarded);
  const { jail, walk, access } = change;
  const turn = yield* jail.locks.hold({ shared: [], exclusive: [`${identity(jail.top)} lock file`] });
  try {
    const lock = yield* jail.staging.lock(walk.directory, access.scope);
    try {
      return yield* work(function* () {
        if (!(yield* lock.isHeld())) throw access.scope.timedOut();
      });
    } finally {
      yield* lock.release();
    }
  } finally {
    turn.release();
  }
}

/** Refuses before anything is done what the mere presence of a file decides. @throws CONFLICT */
export function* checkEarly(change: Change, old: Pinned | undefined, expected: Expected | undefined): Io<void> {
  if ((old === undefined) !== (expected === "nothing")) yield* checkExpected(change, old, expected);
}

/** Compares what has the name now with what is expected. @param old checked to be a file @throws CONFLICT */
export function* checkExpected(change: Change, old: Pinned | undefined, expected: Expected | undefined): Io<void> {
  const { access } = change;
  if (expected === undefined) return;
  if (old === undefined) return requireExpected(expected, undefined, access);
  // Only for the error, which may say nothing of a file that takes long to read, or of one that the caller may not.
  const isForError = expected === "nothing";
  if (isForError && (old.stat.size > MAX_TOLD_BYTES || !access.holds("crud/read"))) {
    throw refused(expected, undefined, access);
  }
  requireExpected(expected, (yield* hashFile(change, old)).digest("hex"), access);
}

/** The hash of a file, or of its first `length` bytes, to go on with. */
export function* hashFile(change: Change, file: Pinned, length = Number.POSITIVE_INFINITY): Io<Hash> {
  const { handles, sys } = change.jail;
  const hash = createHash("sha256");
  const fd = yield* handles.reopen(file, READ);
  try {
    const { size } = yield* sys.fstat(fd);
    // One byte more than expected shows the end in the same call.
    const buffer = Buffer.allocUnsafe(Math.min(PIECE_BYTES, size + 1, Math.max(length, 1)));
    for (let at = 0; at < length; ) {
      const count = Math.min(yield* sys.read(fd, buffer, 0, at), length - at);
      hash.update(buffer.subarray(0, count));
      at += count;
      if (count < buffer.length) break;
      yield* change.access.scope.breathe();
    }
    return hash;
  } finally {
    closeNow(fd);
  }
}
