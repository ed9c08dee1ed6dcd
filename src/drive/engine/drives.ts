// Interfaces of drives: snapshots, changes and limits.

import type { NotUndoable } from "../../core/ports/changes/journal.js";
import { type CellLimits, DEFAULT_CELL_LIMITS } from "../cad3/limits.js";
import type { Cell } from "../cad3/ref.js";
import type { Value } from "../cad3/value.js";
import { DEFAULT_TREE_LIMITS, type TreeLimits } from "../dlfs/name.js";
import type { LogNote, LogTicket } from "./log/entry.js";

export interface DriveStat {
  readonly type: "file" | "directory";
  /** Bytes; 0 for a directory. */
  readonly size: number;
  /** Milliseconds since the epoch. */
  readonly modified: number;
  /** Identifies the content of a file looked up by path: equal exactly for equal bytes. */
  readonly content?: string;
}

export interface DriveEntry extends DriveStat {
  readonly name: string;
  /** The size could not be read because the store is damaged; it is reported as 0. */
  readonly damaged?: true;
}

/** A range of a file, and the size of the whole. */
export interface DriveRead {
  readonly bytes: Buffer;
  readonly size: number;
}

/**
 * A drive at one moment. Names are exact; the empty path is the root. A drive that does not exist is an empty
 * directory. All methods throw STORE_UNAVAILABLE, and STORE_DAMAGED if the requested part is damaged.
 */
export interface DriveSnapshot {
  /**
   * `undefined` if nothing exists there.
   * @throws NOT_A_DIRECTORY for a file on the way
   */
  stat(path: readonly string[]): Promise<DriveStat | undefined>;
  /**
   * Existing entries, ordered by the bytes of their names.
   * @throws NOT_FOUND, NOT_A_DIRECTORY
   */
  entries(path: readonly string[]): Promise<readonly DriveEntry[]>;
  /**
   * Fewer bytes than requested only at the end of the file.
   * @param into where they go, at least `length` bytes. Absent: new memory
   * @throws NOT_FOUND, NOT_A_DIRECTORY, IS_A_DIRECTORY
   */
  readFile(path: readonly string[], offset: number, length: number, into?: Buffer): Promise<DriveRead>;
  /** Ends reading. Idempotent. */
  release(): void;
}

export interface DriveReader extends DriveSnapshot {
  /** Reads small files ahead, together. Failures are reported by the reads that follow. */
  fetch(paths: readonly (readonly string[])[]): Promise<void>;
}

/** Content that is stored but not yet part of a drive. */
export interface StagedContent {
  readonly staged: Cell;
  /** Bytes. */
  readonly size: number;
}

export type DriveContent = Uint8Array | StagedContent;

/**
 * A change in progress; reads see its own earlier steps. Changing methods
 * also throw INVALID_PATH, NOT_FOUND and NOT_A_DIRECTORY for the parent directory, and QUOTA_EXCEEDED.
 */
export interface DriveChange extends DriveSnapshot {
  /** The drive as it was before the change, as long as that is under way. */
  before(): DriveSnapshot;
  /**
   * Replaces the content.
   * @param modified time that the file gets, in milliseconds since the epoch. Absent: that of the change
   * @throws IS_A_DIRECTORY, TOO_LARGE
   */
  writeFile(path: readonly string[], content: DriveContent, modified?: number): Promise<void>;
  /** Gives a file a time, in milliseconds since the epoch. @throws IS_A_DIRECTORY, NOT_FOUND */
  setTime(path: readonly string[], modified: number): Promise<void>;
  /**
   * Appends; creates the file if needed.
   * @throws as writeFile
   */
  appendFile(path: readonly string[], content: DriveContent): Promise<void>;
  /**
   * @returns false if the directory exists
   * @throws EXISTS for a file
   */
  makeDirectory(path: readonly string[]): Promise<boolean>;
  /**
   * @returns false if nothing exists there
   * @throws NOT_EMPTY, INVALID_PATH for the root
   */
  remove(path: readonly string[], options: { readonly recursive: boolean }): Promise<boolean>;
  /**
   * Shares cells, and leaves a tombstone with the same timestamp.
   * @throws EXISTS if `to` exists, NOT_FOUND, INVALID_PATH, also for a directory into itself
   */
  move(from: readonly string[], to: readonly string[]): Promise<void>;
  /**
   * Gives an entry back its place, with all below it.
   * @param ref of its node, from the log of the same owner @throws EXISTS, NOT_FOUND, INVALID_PATH
   */
  restore(path: readonly string[], ref: Uint8Array): Promise<void>;
  /** Whether the drive holds what it held as a former root; times do not count. @param ref `undefined`: nothing */
  holdsContentOf(ref: Uint8Array | undefined): Promise<boolean>;
  /** Gives the whole drive the content of a former root. @param ref from the log; `undefined`: the drive is deleted */
  putBack(ref: Uint8Array | undefined): Promise<void>;
  /** The drive as it is at this step of the change. */
  moment(): DriveMoment;
  /**
   * Notes what was changed between two steps for the log; the entry gets its id when the change is committed.
   * @param reason why nothing of what was there is kept
   */
  note(note: LogNote, since: DriveMoment, until: DriveMoment, reason?: NotUndoable): LogTicket;
}

/** A step of a change. */
export interface DriveMoment {
  readonly root: Value | undefined;
}

/** Limits of one owner. Sizes are bytes. */
export interface DriveLimits extends TreeLimits, CellLimits {
  /** All files in all drives of one owner. */
  readonly maxDriveBytes: number;
  /** Drives of one owner, deleted ones included. */
  readonly maxDrives: number;
}

export const DEFAULT_DRIVE_LIMITS: DriveLimits = {
  ...DEFAULT_TREE_LIMITS,
  ...DEFAULT_CELL_LIMITS,
  maxDriveBytes: 10 * 2 ** 30,
  maxDrives: 1000,
};

/** Limits of an owner's log: entries, bytes that only it keeps, and age in days. */
export interface LogQuota {
  readonly bytes: number;
  readonly entries: number;
  readonly days: number;
}

export const DEFAULT_LOG_QUOTA: LogQuota = { bytes: 268_435_456, entries: 100_000, days: 30 };
