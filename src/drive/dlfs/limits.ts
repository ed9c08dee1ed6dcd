import { driveError } from "../error.js";

/** How much is read before it is refused with LIMIT. */
export interface CellLimits {
  /** Bytes of a multi-cell. */
  readonly maxImportBytes: number;
  /** Cells of a multi-cell; branches that a value has. */
  readonly maxImportCells: number;
  /** Bytes of all blobs of a value, and of strings beyond 4096 bytes; one that is shared counts every time. */
  readonly maxImportLogicalBytes: number;
  /** Entries of all maps and indexes of a value, counted like this too. */
  readonly maxImportEntries: number;
}

export const DEFAULT_CELL_LIMITS: CellLimits = {
  maxImportBytes: 512 * 2 ** 20,
  maxImportCells: 2_000_000,
  maxImportLogicalBytes: 2 * 2 ** 30,
  maxImportEntries: 1_000_000,
};

/** Branches in branches. Deeper than any drive needs. */
export const MAX_BRANCH_DEPTH = 512;

/** @throws LIMIT when a number is greater than allowed. @param what is too much, in words */
export function checkLimit(count: number, max: number, what: string): void {
  if (count > max) throw driveError("LIMIT", `Too much to read: more than ${max} ${what}`);
}
