// Errors of the published drive library.

import { adapterError, type FileAdapterError } from "../core/errors/errors.js";

/** Error codes of cells (the first four) and of trees. */
export type DriveErrorCode =
  | "BAD_FORMAT"
  | "UNSUPPORTED_CELL"
  | "MISSING_CELL"
  | "LIMIT"
  | "NOT_FOUND"
  | "EXISTS"
  | "NOT_EMPTY"
  | "NOT_A_DIRECTORY"
  | "IS_A_DIRECTORY"
  | "INVALID_PATH"
  | "TOO_LARGE"
  | "FUTURE_TIME"
  | "KEY_REQUIRED";

/** Makes every error of this module but those for wrong arguments, which are `TypeError` and `RangeError`. */
export function driveError(
  code: DriveErrorCode,
  message: string,
  data?: Readonly<Record<string, unknown>>,
): FileAdapterError {
  return adapterError(code, message, data);
}
