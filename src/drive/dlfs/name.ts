// Names of drives and of directory entries: validation and order. Limits of trees.

import { escapeText } from "../../core/errors/texts.js";
import { driveError } from "../error.js";

/** Maximum length of an entry's name, in UTF-8 bytes. */
const MAX_NAME_BYTES = 255;
/** Maximum length of a drive's name, in UTF-8 bytes. */
const MAX_DRIVE_NAME_BYTES = 128;
/** Default maximum number of names in a path. */
export const MAX_PATH_DEPTH = 256;
/** Entry in a root by which earlier versions recorded when the drive was deleted. As it is not a valid name, no path reaches it. */
export const DELETED_MARK = "\u0000drive-deleted";

/** Why a text is not a valid entry name; `undefined` if it is. Names are exact: no normalisation, no case folding. */
export function nameFault(name: string): string | undefined {
  if (name === "" || name === "." || name === "..") return "not a name";
  if (!name.isWellFormed()) return "not valid Unicode";
  if (name.includes("/")) return "slash not allowed";
  if (name.includes("\0")) return "Nul character not allowed";
  return isLonger(name, MAX_NAME_BYTES) ? "too long" : undefined;
}

/**
 * Whether a drive can have this name: a valid entry name, but at most 128 bytes and without `\` and control characters.
 */
export function isDriveName(name: string): boolean {
  return nameFault(name) === undefined && !isLonger(name, MAX_DRIVE_NAME_BYTES) && !/[\\\p{Cc}]/u.test(name);
}

/** Whether a new drive may have the name of a drive. Drives of earlier versions keep theirs. */
export const isNewDriveName = (name: string): boolean => !name.includes(":") && name.trim() === name;

/**
 * The names of a path. Empty names are ignored, so a leading `/` has no effect; `.` and `..` are rejected, not
 * resolved.
 *
 * @param maxDepth maximum number of names
 * @throws INVALID_PATH
 */
export function parseNames(path: string, maxDepth = MAX_PATH_DEPTH): string[] {
  const names = path.split("/").filter((name) => name !== "");
  checkNames(names, maxDepth);
  return names;
}

/** @throws INVALID_PATH */
export function checkNames(path: readonly string[], maxDepth: number): void {
  const fault = path.length > maxDepth ? "too deep" : path.map(nameFault).find((one) => one !== undefined);
  if (fault !== undefined) throw invalidPath(path.join("/"), fault);
}

export const invalidPath = (path: string, fault: string): Error =>
  driveError("INVALID_PATH", `Invalid path '${escapeText(path)}': ${fault}`);

/** Orders names by their UTF-8 bytes; `<` would order UTF-16 code units. */
export const compareNames = (a: string, b: string): number => Buffer.compare(Buffer.from(a), Buffer.from(b));

/** A UTF-16 code unit takes 1 to 3 bytes in UTF-8, so most texts need no byte count. */
const isLonger = (text: string, maxBytes: number): boolean =>
  text.length > maxBytes || (text.length * 3 > maxBytes && Buffer.byteLength(text) > maxBytes);

/** Latest possible time: the greatest Long. */
export const LAST_TIME = 2n ** 63n - 1n;

/** Limits on the size of a tree. */
export interface TreeLimits {
  /** Maximum names in a path. */
  readonly maxPathDepth: number;
  readonly maxFileBytes: number;
  /** Maximum entries of one directory, including tombstones, which take as much space. */
  readonly maxEntries: number;
}

export const DEFAULT_TREE_LIMITS: TreeLimits = {
  maxPathDepth: MAX_PATH_DEPTH,
  maxFileBytes: 268_435_456,
  maxEntries: 1_000_000,
};
