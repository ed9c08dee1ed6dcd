// Limits on what is read from untrusted encodings.

import { driveError } from "../error.js";

/** Limits of reading; beyond them it fails with LIMIT. */
export interface CellLimits {
  /** Maximum bytes of a multi-cell. */
  readonly maxImportBytes: number;
  /** Maximum cells of a multi-cell, or branches of a value. */
  readonly maxImportCells: number;
  /** Maximum bytes of all blobs of a value, and of strings longer than 4096 bytes; shared ones count each time. */
  readonly maxImportLogicalBytes: number;
  /** Maximum entries of all maps and indexes of a value; shared ones count each time. */
  readonly maxImportEntries: number;
}

export const DEFAULT_CELL_LIMITS: CellLimits = {
  maxImportBytes: 512 * 2 ** 20,
  maxImportCells: 2_000_000,
  maxImportLogicalBytes: 2 * 2 ** 30,
  maxImportEntries: 1_000_000,
};

/** Maximum nesting of branches; deeper than any drive needs. */
export const MAX_BRANCH_DEPTH = 512;

/** @param what what is counted, in words @throws LIMIT if `count` exceeds `max` */
export function checkLimit(count: number, max: number, what: string): void {
  if (count > max) throw driveError("LIMIT", `Too much to read: more than ${max} ${what}`);
}
