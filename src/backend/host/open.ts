// Open files of the host: their bytes, and their version stamps.

import { createHash } from "node:crypto";
import type { Sha256 } from "../../core/etag.js";
import { changedMsIn, modifiedMsIn } from "../../core/identity.js";
import { type Awaitable, type Io, runIo } from "../../core/io.js";
import type { Access, ReadBytes, ReadRange } from "../../core/ports/backend.js";
import type { OpenFile, Stamp } from "../../core/ports/open-file.js";
import { type Pinned, READ } from "../../jail/handles.js";
import type { Jail } from "../../jail/jail.js";
import type { Stat } from "../../jail/stat.js";
import { closeNow, type Sys } from "../../jail/sys.js";
import { mapErrors } from "./root.js";

/** Bytes of one read in the thread pool. */
const PIECE_BYTES = 1_048_576;
/** Age in ms below which a change may be followed by another with the same file times. */
const SETTLED_MS = 2000;

/**
 * The version stamp of a host file; `undefined` if it changed too recently.
 * @param nowMs system time, the clock of file times
 */
function stampOf(stat: Stat, nowMs: number): Stamp | undefined {
  if (Math.max(stat.modifiedMs, stat.changedMs) <= nowMs - SETTLED_MS) return stat.version;
  const { version } = stat;
  return ownVersions.has(version) ? version : undefined;
}

/** Versions of files that were written here and got a time which no other write gives them, the oldest first. */
const ownVersions = new Set<string>();
const MOST_OWN = 10_000;

/** A time for a file that is written now, unlike those of the clock that the system gives. */
export const ownTime = (): number => Date.now() + Math.random();

/**
 * Remembers the version of a file that was just written, so that it has a stamp at once: every later write sets
 * another time. Not where the file system keeps times too coarse to tell.
 */
export function rememberOwn(version: string): Stamp | undefined {
  const [modified, changed] = [modifiedMsIn(version), changedMsIn(version)];
  const isOwn = modified !== changed && (changed % 1 !== 0 || Math.abs(modified - changed) > SETTLED_MS);
  if (!isOwn) return undefined;
  ownVersions.add(version);
  for (const oldest of ownVersions) {
    if (ownVersions.size <= MOST_OWN) break;
    ownVersions.delete(oldest);
  }
  return version;
}

export function stampPart(stat: Stat): { stamp?: Stamp } {
  const stamp = stampOf(stat, Date.now());
  return stamp === undefined ? {} : { stamp };
}

/** Opens a pinned regular file for reading; it outlives its walk. */
export function* openFile(jail: Jail, file: Pinned, access: Access): Io<OpenFile> {
  const fd = yield* jail.handles.reopen(file, READ);
  try {
    // Stat of the descriptor: the file may have grown since it was pinned.
    const stat = yield* jail.sys.fstat(fd);
    // A call that has already been answered would never close it.
    access.scope.checkpoint();
    return new HostFile(jail, { fd, stat }, access);
  } catch (error) {
    closeNow(fd);
    throw error;
  }
}

interface BytesAt {
  readonly buffer: Buffer;
  readonly position: number;
  /** Bytes after which no more are asked for; absent: those that the buffer takes. */
  readonly enough?: number;
}

/** Fewer bytes than the buffer takes only at the end of the file, since one system call may give fewer anywhere. */
export function* readAt(sys: Sys, fd: number, { buffer, position, enough = buffer.length }: BytesAt): Io<Buffer> {
  let done = 0;
  while (done < enough) {
    const count = yield* sys.read(fd, buffer, done, position + done);
    if (count === 0) break;
    done += count;
  }
  return buffer.subarray(0, done);
}

/** The content of an open file, piece by piece. */
interface Pieces {
  readonly fd: number;
  /** Each piece in turn. */
  readonly buffer: Buffer;
  /** Where the file is known to end; absent: only a read of nothing is its end. */
  readonly size?: number;
  /** The part that is read; absent: all. */
  readonly range?: ReadRange | undefined;
}

const ALL: ReadRange = { offset: 0, length: Number.POSITIVE_INFINITY };

/** @param use returns whether it wants the next piece */
export function* readPieces(sys: Sys, pieces: Pieces, use: (piece: Buffer) => Io<boolean>): Io<void> {
  const { fd, buffer, size = ALL.length, range: { offset, length } = ALL } = pieces;
  for (let done = 0; done < length; ) {
    const count = Math.min(yield* sys.read(fd, buffer, 0, offset + done), length - done);
    done += count;
    const isEnd = count === 0 || (count < buffer.length && offset + done >= size);
    if (count === 0 || !(yield* use(buffer.subarray(0, count))) || isEnd) return;
  }
}

const noBreath = function* (): Io<void> {};

/** Copies all that one open file holds to another, which is empty. */
export function* copyBytes(sys: Sys, { from, to }: { from: number; to: number }, breathe = noBreath): Io<void> {
  yield* readPieces(sys, { fd: from, buffer: Buffer.allocUnsafe(PIECE_BYTES) }, function* (piece) {
    yield* sys.writeAll(to, piece);
    yield* breathe();
    return true;
  });
}

/** @param range absent: all that the file holds */
export function* hashOpen(sys: Sys, fd: number, range?: ReadRange): Io<Sha256> {
  const hash = createHash("sha256");
  const buffer = Buffer.allocUnsafe(Math.min(PIECE_BYTES, range?.length ?? PIECE_BYTES));
  yield* readPieces(sys, { fd, buffer, range }, function* (piece) {
    hash.update(piece);
    return true;
  });
  return hash.digest("hex");
}

/** Reads up to the end, wherever that is by now, or to `length` bytes. @param part `size` of the file when it was looked at */
export function* readGrowing(
  sys: Sys,
  fd: number,
  part: ReadRange & { readonly size: number },
  breathe = noBreath,
): Io<Buffer> {
  const { offset, length, size } = part;
  const parts: Buffer[] = [];
  let done = 0;
  // Requesting one byte more than expected detects the end in the same call.
  let expected = Math.max(0, Math.min(length, size - offset));
  for (;;) {
    const buffer = Buffer.allocUnsafe(Math.min(length - done, expected + 1));
    const count = buffer.length === 0 ? 0 : yield* sys.read(fd, buffer, 0, offset + done);
    if (count > 0) parts.push(buffer.subarray(0, count));
    done += count;
    // Fewer bytes than requested are the end only where the file is known to end.
    const isEnd = count < buffer.length && (count === 0 || offset + done >= size);
    if (isEnd || done >= length) return parts.length === 1 ? (parts[0] as Buffer) : Buffer.concat(parts);
    expected = 65_536;
    yield* breathe();
  }
}

/** @param plan chooses the range to read once the size is known */
export function* readFile(
  { handles, sys }: Jail,
  file: Pinned,
  plan: (size: number) => ReadRange,
  access: Access,
): Io<ReadBytes> {
  const range = plan(file.stat.size);
  const fd = yield* handles.reopen(file, READ);
  try {
    const breathe = () => access.scope.breathe();
    const bytes = yield* readGrowing(sys, fd, { ...range, size: file.stat.size }, breathe);
    const size = Math.max(file.stat.size, bytes.length === 0 ? 0 : range.offset + bytes.length);
    return { bytes, size, ...stampPart(file.stat) };
  } finally {
    closeNow(fd);
  }
}

/** A file that is held open. */
export class HostFile implements OpenFile {
  readonly size: number;
  readonly modified: number;
  readonly stamp?: Stamp;
  readonly #sys: Sys;
  readonly #access: Access | undefined;
  #fd: number;

  /** @param access of the call that reads it. Absent: nobody asks for a path of it, and it has no stamp */
  constructor({ sys }: Jail, { fd, stat }: { fd: number; stat: Stat }, access?: Access) {
    this.#sys = sys;
    this.#access = access;
    this.#fd = fd;
    this.size = stat.size;
    this.modified = stat.modifiedMs;
    if (access !== undefined) Object.assign(this, stampPart(stat));
  }

  get descriptor(): number {
    return this.#fd;
  }

  read(offset: number, length: number, into?: Buffer): Awaitable<Buffer> {
    const access = this.#access;
    access?.scope.checkpoint();
    const buffer = into?.subarray(0, length) ?? Buffer.allocUnsafe(length);
    const reading = readAt(this.#sys, this.#fd, { buffer, position: offset });
    return runIo(access === undefined ? reading : mapErrors(access.place, reading), access?.scope);
  }

  close(): void {
    if (this.#fd < 0) return;
    const fd = this.#fd;
    this.#fd = -1;
    closeNow(fd);
  }
}
