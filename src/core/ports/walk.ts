// Port of lists and walks: the entries of a directory, and visiting what lies below one.

import type { Awaitable } from "../io.js";
import type { Stamp } from "./open-file.js";

export type EntryType = "file" | "directory" | "symlink" | "other";

/** One directory entry, as of `lstat`: links are not followed. */
export interface Entry {
  /** The exact name; bytes that are not valid UTF-8 appear as `\xhh`. */
  readonly name: string;
  readonly type: EntryType;
  /** Bytes; 0 unless it is a file. */
  readonly size: number;
  /** Milliseconds since the epoch. */
  readonly modified: number;
  /** The path grammar rejects the name, so no operation can address the entry. */
  readonly unreachable?: true;
  /** Stamp of a file, where it was asked for. */
  readonly stamp?: Stamp;
}

/** A part of a listing. */
export interface ListedPart {
  /** Names to skip, from {@link after} on. */
  readonly offset: number;
  readonly limit: number;
  /** Name behind which the part begins, there or not; absent: at the first. */
  readonly after?: string | undefined;
  /** Only names that begin so; others count as not there. */
  readonly startsWith?: string | undefined;
  /** With the stamps of files. */
  readonly stamps?: boolean;
}

export interface Listing {
  readonly entries: readonly Entry[];
  /** Number of names in the directory, excluding denied ones. */
  readonly total: number;
  /** Number of names before this part. */
  readonly start: number;
  /** Number of denied names that were left out; absent if none. */
  readonly denied?: number;
  /** Numbers of entries of this page that were left out: they cannot be examined, or vanished meanwhile; absent if none. */
  readonly unreadable?: number;
  readonly vanished?: number;
}

/** An entry visited by a walk; the optional fields only if {@link WalkOptions.sizes} is set. */
export interface WalkEntry {
  readonly name: string;
  /** Known to be printable ASCII alone. */
  readonly isUsual?: boolean | undefined;
  readonly type: EntryType;
  /** Bytes; 0 for anything but a file. */
  readonly size: number | undefined;
  /** 1 for children of the start directory. */
  readonly depth: number;
  /** Milliseconds since the epoch; of files, and of all with {@link WalkOptions.versions}. */
  readonly modified?: number;
  /** For files with several hard links: equal for all of them. */
  readonly identity?: string;
  /**
   * Identity, size and times of any entry, its change time in milliseconds and its permission bits; only if
   * {@link WalkOptions.versions}.
   */
  readonly version?: string;
  readonly changed?: number;
  readonly mode?: number;
  /** The path grammar refuses the name, so no operation can reach the entry. */
  readonly unreachable?: true;
  /** The entry is the target of a link that was followed. */
  readonly isLink?: true;
}

/** `read`: pass the file's content to {@link WalkOptions.content}. */
export type WalkStep = "enter" | "skip" | "stop" | "read";
/** Called per entry; the walk awaits it. */
export type Visit = (entry: WalkEntry) => Awaitable<WalkStep>;

/** Bytes of a visited file, or why there are none. The walk reuses the buffer: do not keep it after the callback. */
export type WalkContent = Buffer | "too large" | "unreadable";

export interface WalkOptions {
  readonly visit: Visit;
  /** Report size, time and identity of files. */
  readonly sizes: boolean;
  /** Report version, times and permissions of every entry, where the backend has versions. */
  readonly versions?: boolean;
  /** Called instead of `visit` for denied entries and everything below them. Default: they are skipped. */
  readonly visitDenied?: Visit;
  /**
   * Files with these names are read before the entries of their directory are visited. Each begins with a dot; some may be
   * paths, such as `.git/HEAD`.
   */
  readonly rules?: {
    readonly names: readonly string[];
    readonly maxBytes: number;
    /** @param depth of the directory, 0 for the start @param contents per name; `undefined`: no such regular file */
    found(depth: number, contents: readonly (WalkContent | undefined)[]): void;
  };
  /**
   * Receives files for which `visit` returned `read`, before the next entry is visited. The walk awaits it.
   */
  readonly content?: {
    readonly maxBytes: number;
    take(entry: WalkEntry, content: WalkContent): Awaitable<"on" | "stop">;
  };
  /** Called for each directory that could not be entered or listed, never for the start; for each entry that vanished. */
  readonly unreadable?: () => void;
  readonly vanished?: () => void;
  /**
   * Called when entries were skipped for a transient reason: descriptors ran out, or a directory was moved while the
   * walk was below it. Skipped entries are also reported to {@link unreadable} or `content`.
   */
  readonly exhausted?: () => void;
}
