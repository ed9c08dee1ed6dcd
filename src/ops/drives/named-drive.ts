// The drive that an input names.

import { invalidInput } from "../../core/errors/texts.js";

/** Names a drive by `drive`, or by `name` (as in the reference's schema). If both are given, they must be equal. */
export interface NamedDrive {
  readonly drive?: string;
  readonly name?: string;
}

/** @throws INVALID_INPUT unless exactly one drive is named */
export function checkNamedDrive({ drive, name }: NamedDrive): void {
  if (drive === undefined && name === undefined) throw invalidInput("'drive' is required", "/drive", "a value");
  if (drive === undefined || name === undefined || drive === name) return;
  throw invalidInput("Only one of 'drive' or 'name' may be given", "/name", "one of drive, name");
}

/** The drive of a checked input. */
export const namedDrive = ({ drive, name }: NamedDrive): string => drive ?? name ?? "";
