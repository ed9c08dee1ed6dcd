import type { Cell } from "../cad3/ref.js";

/** One entry of a drive. */
export interface DriveStat {
  readonly type: "file" | "directory";
  /** Bytes; 0 for a directory. */
  readonly size: number;
  /** Milliseconds since the epoch. */
  readonly modified: number;
  /** Of a file that was asked for by its path: the same for the same bytes, and for no others. */
  readonly content?: string;
}

export interface DriveEntry extends DriveStat {
  readonly name: string;
  /** The size could not be read, since the store is damaged here; it says 0. */
  readonly damaged?: true;
}

/** A part of a file, and the size of the whole. */
export interface DriveRead {
  readonly bytes: Buffer;
  readonly size: number;
}

/**
 * A drive as it was at one moment; names are exact, the empty path is the root. A drive that is not there is an empty
 * directory. Everything throws STORE_UNAVAILABLE, and STORE_DAMAGED for what is asked for only.
 */
export interface DriveSnapshot {
  /** `undefined` when nothing is there. @throws NOT_A_DIRECTORY for a file on the way */
  stat(path: readonly string[]): Promise<DriveStat | undefined>;
  /** What is there, by the bytes of the names. @throws NOT_FOUND, NOT_A_DIRECTORY */
  entries(path: readonly string[]): Promise<readonly DriveEntry[]>;
  /** Fewer bytes than asked for only at the end of the file. @throws NOT_FOUND, NOT_A_DIRECTORY, IS_A_DIRECTORY */
  readFile(path: readonly string[], offset: number, length: number): Promise<DriveRead>;
  /** Nothing is read afterwards. More than once is harmless. */
  release(): void;
}

/** Content that is in the store already, and in no drive yet. */
export interface StagedContent {
  readonly staged: Cell;
  /** Bytes. */
  readonly size: number;
}

export type DriveContent = Uint8Array | AsyncIterable<Uint8Array> | StagedContent;

export interface DriveWrite {
  /** That were written or added. */
  readonly bytes: number;
  readonly created: boolean;
}

/**
 * A change being made, step after step; sees what it has done so far. Paths are checked before content is read. What changes something
 * throws INVALID_PATH, NOT_FOUND and NOT_A_DIRECTORY for the directory above, NAME_CLASH and QUOTA_EXCEEDED.
 */
export interface DriveChange extends DriveSnapshot {
  /** The whole content. @throws IS_A_DIRECTORY, TOO_LARGE, and what the content throws */
  writeFile(path: readonly string[], content: DriveContent): Promise<DriveWrite>;
  /** Adds to the end, creating the file. @throws as writeFile */
  appendFile(path: readonly string[], content: DriveContent): Promise<DriveWrite>;
  /** @returns false for a directory that is there @throws EXISTS for a file */
  makeDirectory(path: readonly string[]): Promise<boolean>;
  /** @returns false when nothing is there @throws NOT_EMPTY, INVALID_PATH for the root */
  remove(path: readonly string[], options: { readonly recursive: boolean }): Promise<boolean>;
  /** Shares the cells of what is copied. @throws EXISTS when something is at `to`, NOT_FOUND, INVALID_PATH */
  copy(from: readonly string[], to: readonly string[]): Promise<void>;
  /** A copy and a tombstone with one stamp. @throws as copy; INVALID_PATH for a directory into itself */
  move(from: readonly string[], to: readonly string[]): Promise<void>;
}

/** How much an owner may keep. Sizes are bytes. */
export interface DriveLimits {
  readonly maxFileBytes: number;
  /** Of all files in all drives of one owner. */
  readonly maxDriveBytes: number;
  /** Of one directory, tombstones included. */
  readonly maxEntries: number;
  readonly maxPathDepth: number;
  /** Of one owner, deleted ones included. */
  readonly maxDrives: number;
  readonly maxImportBytes: number;
  readonly maxImportCells: number;
  readonly maxImportLogicalBytes: number;
  readonly maxImportEntries: number;
}

export const DEFAULT_DRIVE_LIMITS: DriveLimits = {
  maxFileBytes: 268_435_456,
  maxDriveBytes: 10 * 2 ** 30,
  maxEntries: 1_000_000,
  maxPathDepth: 64,
  maxDrives: 1000,
  maxImportBytes: 512 * 2 ** 20,
  maxImportCells: 2_000_000,
  maxImportLogicalBytes: 2 * 2 ** 30,
  maxImportEntries: 1_000_000,
};
