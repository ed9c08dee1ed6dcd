// Writes streamed or complete content to a file, hashing it. On a full disk the oldest content of the trash makes way for it.

import { createHash } from "node:crypto";
import { IN_PART, UNFLUSHED } from "../../../core/errors/undo-texts.js";
import type { Sha256 } from "../../../core/etag.js";
import { type Io, wait } from "../../../core/io.js";
import { errnoOf, quietly, succeeds } from "../../../jail/sys.js";
import { sha256Of } from "../../digest.js";
import type { Change } from "../target.js";

export type Content = Buffer | AsyncIterable<Uint8Array>;

/** The facts of content that are known before it is written. */
interface Known {
  readonly hash?: Sha256 | undefined;
  /** Bytes of a stream, as announced. */
  readonly length?: number | undefined;
  /** Bytes that the same call writes after it; Infinity: unknown. */
  readonly later?: number;
}

/** Writes content to a new file as it arrives. */
export function* fill(
  change: Filled,
  fd: number,
  content: Content,
  { hash: known, length = Number.POSITIVE_INFINITY, later = 0 }: Known = {},
): Io<{ bytes: number; sha256: Sha256 }> {
  const room = new Room(change);
  if (Buffer.isBuffer(content)) {
    const sha256 = known ?? sha256Of(content);
    yield* room.write(fd, content, later);
    return { bytes: content.length, sha256: yield* wait(sha256) };
  }
  let bytes = 0;
  const hash = createHash("sha256");
  yield* forEachChunk(change, content, function* (chunk) {
    hash.update(chunk);
    bytes += chunk.length;
    yield* room.write(fd, chunk, Math.max(0, length - bytes) + later);
  });
  return { bytes, sha256: hash.digest("hex") };
}

export function* collect(change: Change, content: Content): Io<Buffer> {
  if (Buffer.isBuffer(content)) return content;
  const chunks: Uint8Array[] = [];
  yield* forEachChunk(change, content, function* (chunk) {
    // A stream may reuse its buffer for the next chunk.
    chunks.push(Buffer.from(chunk));
  });
  return Buffer.concat(chunks);
}

function* forEachChunk(
  change: Pick<Change, "access">,
  content: AsyncIterable<Uint8Array>,
  work: (chunk: Uint8Array) => Io<void>,
): Io<void> {
  const chunks = content[Symbol.asyncIterator]();
  let finished = false;
  try {
    for (;;) {
      const step = (yield chunks.next()) as IteratorResult<Uint8Array>;
      if (step.done === true) break;
      change.access.scope.checkpoint();
      yield* work(step.value);
    }
    finished = true;
  } finally {
    if (!finished && chunks.return !== undefined) yield chunks.return().catch(() => undefined);
  }
}

/** Content to add to an open file. */
interface Added {
  readonly fd: number;
  /** Size of the file before. */
  readonly size: number;
  readonly data: Buffer;
  readonly writeBytes: number;
  /** Bytes that the file is to have in the end; Infinity: unknown. Absent: this is all. */
  readonly whole?: number | undefined;
}

/**
 * Writes and flushes. A partial write is truncated again, unless others have appended since.
 * @returns the new size
 */
export function* writeAdded(change: Change, added: Added): Io<number> {
  const { sys } = change.jail;
  const { fd, size, data, whole = size + data.length } = added;
  const room = new Room(change);
  for (;;) {
    const progress = { written: 0 };
    try {
      yield* writeParts(change, added, progress);
      if (change.rules.durable) yield* sys.fsync(fd);
      return (yield* quietly(sys.fstat(fd)))?.size ?? size + data.length;
    } catch (error) {
      const { written } = progress;
      const now = yield* quietly(sys.fstat(fd));
      // Data that others have added since must stay, so part of this append stays too.
      const isTakenBack = now?.size === size + written && (yield* succeeds(sys.ftruncate(fd, size)));
      if (!isTakenBack && written > 0) change.access.behind?.(written === data.length ? UNFLUSHED : IN_PART);
      if (!isTakenBack && written === data.length) return now?.size ?? size + written;
      if (!isTakenBack || written === data.length) throw error;
      yield* room.make(error, Math.max(whole - size, data.length) - written);
    }
  }
}

function* writeParts(change: Change, { fd, data, writeBytes }: Added, progress: { written: number }): Io<void> {
  for (let to = 0; to < data.length; ) {
    to = Math.min(data.length, to + writeBytes);
    progress.written += yield* change.jail.sys.write(fd, data.subarray(0, to), progress.written);
    if (progress.written < to) throw new FullError();
  }
}

/** A write that took a part of what was given: the disk is full. */
class FullError extends Error {
  readonly code = "ENOSPC";
  readonly syscall = "write";
}

const FULL = new Set(["ENOSPC", "EDQUOT"]);
/** The end of a file takes a whole block of the disk. */
const BLOCK_BYTES = 4096;

/** The part of a {@link Change} that content is written for. Without a walk it lies on the device of the root. */
export type Filled = Pick<Change, "jail" | "access" | "journal"> & Partial<Pick<Change, "walk">>;

/** Makes room for one content. */
export class Room {
  readonly #change: Filled;
  /** At the last time that room was made. */
  #missing = Number.POSITIVE_INFINITY;

  constructor(change: Filled) {
    this.#change = change;
  }

  /**
   * Makes room for the rest of the content after a failed write, if the caller may and that is enough. The write has
   * used all free space, so the room missing is that of the rest.
   * @param rest bytes; Infinity: unknown @throws `error` otherwise
   */
  *make(error: unknown, rest: number): Io<void> {
    const { jail, walk, journal, access } = this.#change;
    const isNear = walk === undefined || walk.directory.stat.device === jail.top.stat.device;
    // The content given up last time has not freed the room that it should have: give up no more.
    const isUseless = rest > this.#missing / 2;
    if (!FULL.has(errnoOf(error) ?? "") || !isNear || isUseless || !Number.isFinite(rest)) throw error;
    this.#missing = rest;
    const mayGiveUp = (path: readonly string[]): boolean => access.mayGiveUp?.(path) === true;
    if (journal === undefined || !(yield* wait(journal.freeSpace(rest + BLOCK_BYTES, mayGiveUp)))) throw error;
  }

  /** Writes all bytes. @param later bytes of the content that are written after them; Infinity: unknown */
  *write(fd: number, bytes: Uint8Array, later = 0): Io<void> {
    for (let done = 0; done < bytes.length; ) {
      try {
        done += yield* this.#change.jail.sys.write(fd, bytes, done);
      } catch (error) {
        yield* this.make(error, bytes.length - done + later);
      }
    }
  }
}
