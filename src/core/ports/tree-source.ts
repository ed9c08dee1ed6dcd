// Port of copies: a backend exposes a file or directory tree, and another backend reads it entry by entry.

import type { FileAdapterError } from "../errors/errors.js";
import type { Awaitable } from "../io.js";
import type { Access } from "./access.js";
import type { OpenFile } from "./open-file.js";

/** A file or directory to copy. */
export interface SourceEntry {
  readonly type: "file" | "directory";
  /** Names from the top of the tree; empty for the top itself. */
  readonly below: readonly string[];
  /** Its name as bytes, if not valid UTF-8. */
  readonly raw?: Buffer;
  /** Permission bits; absent: the default of new entries. */
  readonly mode?: number;
  /** Milliseconds since the epoch. Absent: not known. */
  readonly modified?: number;
  /** Opens the entry, which the caller closes. @throws PERMISSION_DENIED, and IS_A_DIRECTORY for a directory */
  open(): Awaitable<OpenFile>;
}

/** Counts of entries a copy leaves out. */
export interface LeftOut {
  readonly symlinks: number;
  /** Denied, or protected at the target. */
  readonly policy: number;
  /** Neither file nor directory, or on another device. */
  readonly unreadable: number;
}

/** A file or directory tree to copy, not a snapshot: entries as they are when visited. Links are not followed. */
export interface TreeSource {
  readonly top: SourceEntry;
  /** Device and inode, to detect a copy onto itself. */
  readonly identity?: string;
  /** Next entry below the top, directories before their contents; `undefined` at the end. @throws PERMISSION_DENIED */
  next(): Awaitable<SourceEntry | undefined>;
  /** Left out so far. */
  readonly left: LeftOut;
  /** Why an entry was left out by policy, as a refusal of the source; absent: none was. */
  readonly refusal?: FileAdapterError | undefined;
  /** Whether everything visited is still unchanged. */
  isUnchanged(): Awaitable<boolean>;
  /** Idempotent. */
  close(): void;
}

export interface SourceOptions {
  /** Resolve a link at the end of the path. */
  readonly followLast: boolean;
  /** Also leave out what this other place denies or protects. */
  readonly there?: Pick<Access, "policy" | "protection">;
  /** Told the names of every link and special file that is left out. */
  readonly leftOut?: (below: readonly string[], kind: "symlink" | "other") => void;
}
