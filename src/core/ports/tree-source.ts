import type { Awaitable } from "../io.js";
import type { OpenFile } from "./backend.js";

/** A file or directory that is being copied. */
export interface SourceEntry {
  readonly type: "file" | "directory";
  /** Names from the top of the tree; none for the top itself. */
  readonly below: readonly string[];
  /** Its own name, where that is not text. */
  readonly raw?: Buffer;
  /** Permission bits; absent: what new entries get. */
  readonly mode?: number;
  /** Whoever opens it closes it. @throws PERMISSION_DENIED, and IS_A_DIRECTORY for a directory */
  open(): Awaitable<OpenFile>;
}

/** What a copy leaves out. */
export interface LeftOut {
  readonly symlinks: number;
  readonly policy: number;
  /** Neither files nor directories, or on another device. */
  readonly unreadable: number;
}

/** A file, or a directory with all in it, to be copied: what is there while it is gone through. Links are not followed. */
export interface TreeSource {
  readonly top: SourceEntry;
  /** Tells whether something else is the same: device and inode. */
  readonly identity?: string;
  /** What is below the top, each directory right before what is in it; `undefined` at the end. @throws PERMISSION_DENIED */
  next(): Awaitable<SourceEntry | undefined>;
  /** So far. */
  readonly left: LeftOut;
  /** Whether everything that was gone through is still as it was. */
  isUnchanged(): Awaitable<boolean>;
  /** More than once is harmless. */
  close(): void;
}
