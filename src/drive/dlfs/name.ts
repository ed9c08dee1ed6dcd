// Names of drives and of directory entries: validation, order, and renaming after a slot conflict. Limits of trees.

import { escapeText } from "../../core/errors/texts.js";
import { driveError } from "../error.js";

/** Maximum length of an entry's name, in UTF-8 bytes. */
const MAX_NAME_BYTES = 255;
/** Maximum length of a drive's name, in UTF-8 bytes. */
const MAX_DRIVE_NAME_BYTES = 64;
/** Default maximum number of names in a path. */
export const MAX_PATH_DEPTH = 64;
/** Entry in the root that records when the drive was deleted. As it is not a valid name, no path reaches it. */
export const DELETED_MARK = "\u0000drive-deleted";

/** Hash digits used in the new name of a displaced node. */
const HASH_DIGITS = 8;

const encoder = new TextEncoder();

/** Why a text is not a valid entry name; `undefined` if it is. Names are exact: no normalisation, no case folding. */
export function nameFault(name: string): string | undefined {
  if (name === "" || name === "." || name === "..") return "not a name";
  if (!name.isWellFormed()) return "not valid Unicode";
  if (name.includes("/")) return "slash not allowed";
  if (name.includes("\0")) return "Nul character not allowed";
  return isLonger(name, MAX_NAME_BYTES) ? "too long" : undefined;
}

/**
 * Whether a drive may have this name: a valid entry name, but at most 64 bytes and without `\` and control characters.
 */
export function isDriveName(name: string): boolean {
  return nameFault(name) === undefined && !isLonger(name, MAX_DRIVE_NAME_BYTES) && !/[\\\p{Cc}]/u.test(name);
}

/**
 * The names of a path. Empty names are ignored, so a leading `/` has no effect; `.` and `..` are rejected, not
 * resolved.
 *
 * @param maxDepth maximum number of names
 * @throws INVALID_PATH
 */
export function parseNames(path: string, maxDepth = MAX_PATH_DEPTH): string[] {
  const names = path.split("/").filter((name) => name !== "");
  if (names.length > maxDepth) throw invalidPath(path, "too deep");
  for (const name of names) {
    const fault = nameFault(name);
    if (fault !== undefined) throw invalidPath(path, fault);
  }
  return names;
}

export const invalidPath = (path: string, fault: string): Error =>
  driveError("INVALID_PATH", `Invalid path '${escapeText(path)}': ${fault}`);

export function nameClash(holder: string): Error {
  const text = `name clashes with "${escapeText(holder)}": names in a drive directory must differ in their first 32 bytes`;
  return driveError("NAME_CLASH", text, { holder });
}

/** Orders names by their UTF-8 bytes; `<` would order UTF-16 code units. */
export const compareNames = (a: string, b: string): number => Buffer.compare(Buffer.from(a), Buffer.from(b));

/**
 * The new name of a node that lost its slot in a merge: `~`, digits of its hash, `~`, its old name, truncated at a
 * character boundary to the maximum name length.
 *
 * @param hash hex digits of the node's hash
 */
export function movedName(name: string, hash: string): string {
  const prefix = `~${hash.slice(0, HASH_DIGITS)}~`;
  const { read } = encoder.encodeInto(name, new Uint8Array(MAX_NAME_BYTES - prefix.length));
  return prefix + name.slice(0, read);
}

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
