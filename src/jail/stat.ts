import fs, { type BigIntStats, type Stats } from "node:fs";
import { type Identity, identityOf, isExact } from "../core/identity.js";
import type { EntryType } from "../core/ports/backend.js";

const { S_IFMT, S_IFREG, S_IFDIR, S_IFLNK } = fs.constants;
export const EXACT = { bigint: true } as const;

/** What is known of an object of the host. */
export class Stat {
  /** Type and permission bits. */
  readonly mode: number;
  /** Bytes. */
  readonly size: number;
  readonly #from: Stats | BigIntStats;

  /** @param from bigints, or numbers that are exact: {@link statOfOpen}, {@link statOfName} and `Sys` see to that */
  constructor(from: Stats | BigIntStats) {
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
    // In one form, so that both kinds of stats can be compared.
    return dev <= Number.MAX_SAFE_INTEGER ? Number(dev) : dev;
  }

  get uid(): number {
    return Number(this.#from.uid);
  }

  get gid(): number {
    return Number(this.#from.gid);
  }

  /** Number of names. */
  get nlink(): number {
    return Number(this.#from.nlink);
  }

  /** Whole milliseconds since the epoch, as every time here. */
  get modifiedMs(): number {
    return Math.floor(Number(this.#from.mtimeMs));
  }

  get changedMs(): number {
    return Math.floor(Number(this.#from.ctimeMs));
  }

  /** When it was made, or the earliest time there is where the file system does not say. */
  get createdMs(): number {
    const made = Math.floor(Number(this.#from.birthtimeMs));
    return made > 0 ? made : Math.min(this.modifiedMs, this.changedMs);
  }

  /** The object and its state: the same text as long as neither changes. */
  get version(): string {
    const from = this.#from;
    const times = "mtimeNs" in from ? `${from.mtimeNs}:${from.ctimeNs}` : `${from.mtimeMs}:${from.ctimeMs}`;
    return `${this.identity}:${this.size}:${times}`;
  }

  get type(): EntryType {
    if (this.isFile()) return "file";
    if (this.isDirectory()) return "directory";
    return this.isSymbolicLink() ? "symlink" : "other";
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

/**
 * What an open descriptor stands for, at once. Bigints cost a small read some 5 %, so they are asked for only where a
 * number was rounded. @throws system errors
 */
export function statOfOpen(fd: number): Stat {
  const stat = fs.fstatSync(fd);
  return new Stat(isExact(stat) ? stat : fs.fstatSync(fd, EXACT));
}

/** What has a name, the link itself if it is one; `undefined`: nothing. At once. @throws system errors */
export function statOfName(path: string | Buffer): Stat | undefined {
  const stat = fs.lstatSync(path, { throwIfNoEntry: false });
  // Asked again, all is taken from that answer: the name may stand for something else by then.
  const exact = stat === undefined || isExact(stat) ? stat : fs.lstatSync(path, { ...EXACT, throwIfNoEntry: false });
  return exact === undefined ? undefined : new Stat(exact);
}
