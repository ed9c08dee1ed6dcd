// Open files of the host and their version stamps.

import { changedMsIn, modifiedMsIn } from "../../core/identity.js";
import { type Awaitable, type Io, runIo } from "../../core/io.js";
import type { Access, ReadRange } from "../../core/ports/backend.js";
import type { OpenFile, Stamp } from "../../core/ports/open-file.js";
import { type Pinned, READ } from "../../jail/handles.js";
import type { Jail } from "../../jail/jail.js";
import type { Stat } from "../../jail/stat.js";
import { closeNow } from "../../jail/sys.js";
import { mapErrors } from "../errno.js";

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
 * Remembers the version of a file that was just written, so that it has a stamp at once: whatever is written into it
 * from now on sets another time. Not where the file system keeps times too coarse to tell.
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

/** The stamp as a part of an answer. */
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

/** A range, and where its bytes go; absent: to new memory. */
type RangeInto = ReadRange & { readonly into?: Buffer | undefined };

/** Fewer bytes than `length` only at the end of the file, since one system call may give fewer anywhere. */
export function* readRange({ sys }: Jail, fd: number, { offset, length, into }: RangeInto): Io<Buffer> {
  const buffer = into?.subarray(0, length) ?? Buffer.allocUnsafe(length);
  let done = 0;
  while (done < length) {
    const count = yield* sys.read(fd, buffer, done, offset + done);
    if (count === 0) break;
    done += count;
  }
  return buffer.subarray(0, done);
}

class HostFile implements OpenFile {
  readonly size: number;
  readonly modified: number;
  readonly stamp?: Stamp;
  readonly #jail: Jail;
  readonly #access: Access;
  #fd: number;

  constructor(jail: Jail, { fd, stat }: { fd: number; stat: Stat }, access: Access) {
    this.#jail = jail;
    this.#access = access;
    this.#fd = fd;
    this.size = stat.size;
    this.modified = stat.modifiedMs;
    Object.assign(this, stampPart(stat));
  }

  get descriptor(): number {
    return this.#fd;
  }

  read(offset: number, length: number, into?: Buffer): Awaitable<Buffer> {
    const { place, scope } = this.#access;
    return runIo(mapErrors(place, this.#read({ offset, length, into })), scope);
  }

  *#read(range: RangeInto): Io<Buffer> {
    this.#access.scope.checkpoint();
    return yield* readRange(this.#jail, this.#fd, range);
  }

  close(): void {
    if (this.#fd < 0) return;
    const fd = this.#fd;
    this.#fd = -1;
    closeNow(fd);
  }
}
