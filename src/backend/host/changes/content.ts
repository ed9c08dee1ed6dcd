// Writes streamed or complete content to a file, hashing it.

import { createHash } from "node:crypto";
import { noSpace } from "../../../core/errors/texts.js";
import type { Sha256 } from "../../../core/etag.js";
import { type Io, wait } from "../../../core/io.js";
import { errnoOf, quietly } from "../../../jail/sys.js";
import { sha256Of } from "../../digest.js";
import type { Change } from "../target.js";

const FULL = new Set(["ENOSPC", "EDQUOT"]);
/** Items of the trash that one piece of content may push out. */
const MAX_FREED = 64;

export type Content = Buffer | AsyncIterable<Uint8Array>;

/** Writes content to a new file as it arrives. @param known its hash, where that is known */
export function* fill(
  change: Pick<Change, "jail" | "access" | "journal">,
  fd: number,
  content: Content,
  known?: Sha256,
): Io<{ bytes: number; sha256: Sha256 }> {
  if (Buffer.isBuffer(content)) {
    const sha256 = known ?? sha256Of(content);
    yield* writeAll(change, fd, content);
    return { bytes: content.length, sha256: yield* wait(sha256) };
  }
  let bytes = 0;
  const hash = createHash("sha256");
  yield* forEachChunk(change, content, function* (chunk) {
    hash.update(chunk);
    yield* writeAll(change, fd, chunk);
    bytes += chunk.length;
  });
  return { bytes, sha256: hash.digest("hex") };
}

/** Where the disk is full, the oldest content of the trash makes room. */
function* writeAll({ jail, journal }: Pick<Change, "jail" | "journal">, fd: number, bytes: Uint8Array): Io<void> {
  let freed = 0;
  for (let done = 0; done < bytes.length; ) {
    try {
      done += yield* jail.sys.write(fd, bytes, done);
    } catch (error) {
      const isFull = FULL.has(errnoOf(error) ?? "") && journal !== undefined && freed++ < MAX_FREED;
      if (!isFull || !(yield* wait(journal.freeSpace()))) throw error;
    }
  }
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

/**
 * Writes and flushes. A partial write is truncated again, unless others have appended since.
 * @returns the new size
 */
export function* writeAdded(
  change: Change,
  target: { fd: number; size: number; data: Buffer; writeBytes: number },
): Io<number> {
  const { sys } = change.jail;
  const { fd, size, data, writeBytes } = target;
  let written = 0;
  try {
    for (let to = 0; to < data.length; ) {
      to = Math.min(data.length, to + writeBytes);
      written += yield* sys.write(fd, data.subarray(0, to), written);
      if (written < to) throw noSpace(change.access.place);
    }
    if (change.rules.durable) yield* sys.fsync(fd);
    return (yield* sys.fstat(fd)).size;
  } catch (error) {
    const now = yield* quietly(sys.fstat(fd));
    if (now?.size === size + written) yield* quietly(sys.ftruncate(fd, size));
    throw error;
  }
}
