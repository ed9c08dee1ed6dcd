// Port of the drives of one caller, for operations on whole drives.

import type { DriveMaker } from "./changes/change.js";

/** The drives of one caller, for operations on whole drives. */
export interface DriveShelf {
  /** Names, in byte order. */
  list(): Promise<readonly string[]>;
  /** `false`: it already existed. */
  create(drive: string, maker: DriveMaker): Promise<boolean>;
  /** `false`: it did not exist. */
  delete(drive: string, maker: DriveMaker): Promise<boolean>;
  /** Streams an export of the drives. @throws NOT_FOUND if there are none */
  exportDrive(what: DriveExport): AsyncIterable<{ readonly bytes: Uint8Array }>;
  /** Merges an export into the drives, all or nothing. @param files read once, each to its end */
  importDrive(
    files: readonly AsyncIterable<Uint8Array>[],
    options: DriveImport,
    maker: DriveMaker,
  ): Promise<DriveImported>;
  /** The key that signs the drives. @throws NOT_FOUND if there is none yet, READ_ONLY_ROOT if it cannot be opened */
  exportKey(): Promise<DriveKey>;
  /** Reads a whole drive. @param onStep called before each part; may throw to stop */
  verify(drive: string, onStep: () => void): Promise<DriveCheck>;
}

/** An Ed25519 key pair, each half as 64 hex digits. */
export interface DriveKey {
  readonly publicKey: string;
  /** Private: whoever has it can sign drives forever. */
  readonly seed: string;
}

/** Scope of an export: all drives of the caller, signed (default) or in the form of peers, or one drive. */
export interface DriveExport {
  readonly top?: "signed" | "drive" | "owners" | "region";
  readonly drive?: string;
  readonly region?: "dlfs" | "fs";
}

/** Source and target of an import. */
export interface DriveImport {
  /** Target drive; absent: the caller's drives of the same names. */
  readonly drive?: string;
  /** The drive to import, if the export has several. */
  readonly from?: string;
  readonly source?: "reference";
}

export interface DriveImported {
  /** Drives that were imported into. */
  readonly drives: readonly string[];
  readonly bytes: number;
  readonly cells: number;
  /** Number of owners skipped because of an invalid signature. */
  readonly refused: number;
}

export interface DriveCheck {
  readonly files: number;
  readonly directories: number;
  /** Total size of the undamaged files. */
  readonly bytes: number;
  /** Paths of unreadable entries, up to a limit; `damagedCount` has all. */
  readonly damaged: readonly (readonly string[])[];
  readonly damagedCount: number;
  /** The log of the drive: entries that can be read, and whether a part of it, or content that it keeps, cannot. */
  readonly history: { readonly entries: number; readonly damaged: boolean };
}
