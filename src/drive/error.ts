// Errors of the published drive library.

import { adapterError, type FileAdapterError } from "../core/errors/errors.js";
import { escapeText } from "../core/errors/texts.js";

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

/** As it was given, or as its names. */
type Path = string | readonly string[];

const shown = (path: Path): string => escapeText(typeof path === "string" ? path : path.join("/"));
export const notFound = (path: Path): Error => driveError("NOT_FOUND", `Not found: ${shown(path)}`);
export const notADirectory = (path: Path): Error => driveError("NOT_A_DIRECTORY", `Not a directory: ${shown(path)}`);
export const isADirectory = (path: Path): Error => driveError("IS_A_DIRECTORY", `Is a directory: ${shown(path)}`);
export const alreadyExists = (path: Path): Error => driveError("EXISTS", `Already exists: ${shown(path)}`);
export const notEmpty = (path: Path): Error => driveError("NOT_EMPTY", `Directory not empty: ${shown(path)}`);
