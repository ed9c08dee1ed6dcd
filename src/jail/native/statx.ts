// Parses the buffer that `statx` fills.

import { isExact } from "../../core/identity.js";
import type { EntryType } from "../../core/ports/backend.js";
import { Stat, typeOf } from "../stat.js";

/** Bytes of `struct statx`. */
export const STAT_BYTES = 256;
/** Indexes of 32-bit words in `struct statx`; numbers of 64 bits take two, the lower first. */
const [NLINK, UID, GID, MODE, INO, SIZE, BTIME, CTIME, MTIME, DEV_MAJOR, DEV_MINOR] = [
  4, 5, 6, 7, 8, 10, 20, 24, 28, 34, 35,
];
const MODE_BITS = 0xffff;
const HIGH = 4_294_967_296;

/** @returns `undefined` if a double cannot hold the inode number: Node has bigints for that */
export function parseStat(words: Uint32Array): Stat | undefined {
  const word = (index: number): number => words[index] ?? 0;
  const long = (index: number): number => word(index + 1) * HIGH + word(index);
  // Seconds are signed; the same arithmetic as in Node, so that times and versions are equal.
  const ms = (index: number): number => ((word(index + 1) | 0) * HIGH + word(index)) * 1000 + word(index + 2) / 1e6;
  // Written out: copies into a literal would take ten times as long as the system call.
  const fields = {
    dev: device(word(DEV_MAJOR), word(DEV_MINOR)),
    ino: long(INO),
    mode: word(MODE) & MODE_BITS,
    nlink: word(NLINK),
    size: long(SIZE),
    uid: word(UID),
    gid: word(GID),
    mtimeMs: ms(MTIME),
    ctimeMs: ms(CTIME),
    birthtimeMs: ms(BTIME),
  };
  return isExact(fields) ? new Stat(fields) : undefined;
}

export interface EntryFacts {
  readonly type: EntryType;
  readonly size: number;
  /** Whole milliseconds since the epoch. */
  readonly modifiedMs: number;
}

/** A part of {@link parseStat}, for many entries: a whole stat takes as long as the system call. */
export function parseFacts(words: Uint32Array): EntryFacts {
  const word = (index: number): number => words[index] ?? 0;
  const seconds = (word(MTIME + 1) | 0) * HIGH + word(MTIME);
  return {
    type: typeOf(word(MODE) & MODE_BITS),
    size: word(SIZE + 1) * HIGH + word(SIZE),
    modifiedMs: Math.floor(seconds * 1000 + word(MTIME + 2) / 1e6),
  };
}

/** The device number as `stat` has it (`makedev`). */
const device = (major: number, minor: number): number =>
  Math.floor(major / 4096) * 4096 * HIGH + Math.floor(minor / 256) * 1_048_576 + (major % 4096) * 256 + (minor % 256);
