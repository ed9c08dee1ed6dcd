// Stats of host objects, exact for inode and device numbers beyond 2^53.

import fs from "node:fs";
import { type Identity, identityOf, isExact, type Numbers } from "../core/identity.js";
import type { EntryType } from "../core/ports/backend.js";

const { S_IFMT, S_IFREG, S_IFDIR, S_IFLNK } = fs.constants;
export const EXACT = { bigint: true } as const;

/** Source of a stat: the stats of Node, or those of a native call. Times in milliseconds since the epoch. */
export interface StatFields extends Numbers {
  readonly mode: number | bigint;
  readonly size: number | bigint;
  readonly uid: number | bigint;
  readonly gid: number | bigint;
  readonly nlink: number | bigint;
  readonly mtimeMs: number | bigint;
  readonly ctimeMs: number | bigint;
  readonly birthtimeMs: number | bigint;
  /** Only in bigint stats, in nanoseconds. */
  readonly mtimeNs?: bigint;
  readonly ctimeNs?: bigint;
}

export class Stat {
  /** Type and permission bits. */
  readonly mode: number;
  readonly size: number;
  readonly #from: StatFields;

  /**
   * @param from bigint stats, or number stats without rounding, as {@link statOfOpen}, {@link statOfName} and `Sys`
   * ensure
   */
  constructor(from: StatFields) {
    this.#from = from;
    this.mode = Number(from.mode);
    this.size = Number(from.size);
  }

  get identity(): Identity {
    return identityOf(this.#from);
  }

  /** Equal only for objects of the same file system. */
  get device(): number | bigint {
    const { dev } = this.#from;
    // Normalised, so that number and bigint stats compare equal.
    return dev <= Number.MAX_SAFE_INTEGER ? Number(dev) : dev;
  }

  get uid(): number {
    return Number(this.#from.uid);
  }

  get gid(): number {
    return Number(this.#from.gid);
  }

  get nlink(): number {
    return Number(this.#from.nlink);
  }

  /** Whole milliseconds since the epoch, like all times here. */
  get modifiedMs(): number {
    return Math.floor(Number(this.#from.mtimeMs));
  }

  get changedMs(): number {
    return Math.floor(Number(this.#from.ctimeMs));
  }

  /** Creation time, or the earliest known time if the file system does not record it. */
  get createdMs(): number {
    return this.bornMs ?? Math.min(this.modifiedMs, this.changedMs);
  }

  /** Creation time; `undefined` if the file system does not record it. */
  get bornMs(): number | undefined {
    const made = Math.floor(Number(this.#from.birthtimeMs));
    return made > 0 ? made : undefined;
  }

  /** Identity and state: equal text as long as the object is the same and unchanged. */
  get version(): string {
    const from = this.#from;
    const times = from.mtimeNs !== undefined ? `${from.mtimeNs}:${from.ctimeNs}` : `${from.mtimeMs}:${from.ctimeMs}`;
    return `${this.identity}:${this.size}:${times}`;
  }

  get type(): EntryType {
    return typeOf(this.mode);
  }

  isFile(): boolean {
    return (this.mode & S_IFMT) === S_IFREG;
  }

  isDirectory(): boolean {
    return (this.mode & S_IFMT) === S_IFDIR;
  }

  isSymbolicLink(): boolean {
    return (this.mode & S_IFMT) === S_IFLNK;
  }
}

/** The type of an entry with this mode. */
export function typeOf(mode: number): EntryType {
  switch (mode & S_IFMT) {
    case S_IFREG:
      return "file";
    case S_IFDIR:
      return "directory";
    case S_IFLNK:
      return "symlink";
    default:
      return "other";
  }
}

/**
 * Stats an open descriptor synchronously. Bigint stats make a small read some 5 % slower, so they are requested only
 * where a number was rounded.
 * @throws system errors
 */
export function statOfOpen(fd: number): Stat {
  const stat = fs.fstatSync(fd);
  return new Stat(isExact(stat) ? stat : fs.fstatSync(fd, EXACT));
}

/**
 * Stats a name synchronously without following links; `undefined`: it does not exist.
 * @throws system errors
 */
export function statOfName(path: string | Buffer): Stat | undefined {
  const stat = fs.lstatSync(path, { throwIfNoEntry: false });
  // Everything is taken from the second answer, since the name may denote another object by then.
  const exact = stat === undefined || isExact(stat) ? stat : fs.lstatSync(path, { ...EXACT, throwIfNoEntry: false });
  return exact === undefined ? undefined : new Stat(exact);
}

/** The inode of an identity, which names an object on its device. */
export const inodeOf = ({ identity }: Stat): string => identity.slice(identity.indexOf(":") + 1);
