// Room on a full disk: the oldest content of the trash makes way for new content.

import { type Io, wait } from "../../../core/io.js";
import { errnoOf } from "../../../jail/sys.js";
import type { Change } from "../target.js";

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
   * taken what was free, so the rest is what is missing.
   * @param rest bytes; Infinity: nobody knows @throws `error` otherwise
   */
  *make(error: unknown, rest: number): Io<void> {
    const { jail, walk, journal, access } = this.#change;
    const isNear = walk === undefined || walk.directory.stat.device === jail.top.stat.device;
    // What was given up the last time has not given the room that it should: no more goes the same way.
    const isUseless = rest > this.#missing / 2;
    if (!FULL.has(errnoOf(error) ?? "") || !isNear || isUseless || !Number.isFinite(rest)) throw error;
    this.#missing = rest;
    const mayGiveUp = (path: readonly string[]): boolean => access.mayGiveUp?.(path) === true;
    if (journal === undefined || !(yield* wait(journal.freeSpace(rest + BLOCK_BYTES, mayGiveUp)))) throw error;
  }

  /** Writes all bytes. @param later bytes of the content that are written after them; Infinity: nobody knows */
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
