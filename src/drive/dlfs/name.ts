import { escapeText } from "../../core/errors/texts.js";
import { driveError } from "../error.js";

/** Most UTF-8 bytes of a name in a directory. */
export const MAX_NAME_BYTES = 255;
/** Most UTF-8 bytes of the name of a drive. */
export const MAX_DRIVE_NAME_BYTES = 64;
/** Most names in a path, unless a caller says otherwise. */
export const MAX_PATH_DEPTH = 64;
/** Entry of a drive's root that says when the drive was deleted. No path reaches it, as it is no valid name. */
export const DELETED_MARK = "\u0000drive-deleted";

/** Digits of a node's hash in the name that it gets when another takes its slot. */
const HASH_DIGITS = 8;

const encoder = new TextEncoder();

/** Why a text is not a name of a directory entry; `undefined` if it is one. Names are exact: nothing is normalised or folded. */
export function nameFault(name: string): string | undefined {
  if (name === "" || name === "." || name === "..") return "not a name";
  if (!name.isWellFormed()) return "not valid Unicode";
  if (name.includes("/")) return "slash not allowed";
  if (name.includes("\0")) return "Nul character not allowed";
  return isLonger(name, MAX_NAME_BYTES) ? "too long" : undefined;
}

/** Whether a drive may have this name: as the name of an entry, but shorter and without `\` and control characters. */
export function isDriveName(name: string): boolean {
  return nameFault(name) === undefined && !isLonger(name, MAX_DRIVE_NAME_BYTES) && !/[\\\p{Cc}]/u.test(name);
}

/**
 * The names of a path. Empty ones are ignored, so a leading `/` means nothing; `.` and `..` are refused, never resolved.
 *
 * @param maxDepth most names
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

/** Orders names by their UTF-8 bytes; `<` would order UTF-16 code units. */
export const compareNames = (a: string, b: string): number => Buffer.compare(Buffer.from(a), Buffer.from(b));

/**
 * The name under which a node is kept when another one takes its slot in a merge: `~`, digits of its hash, `~`, its old
 * name, cut between characters to the length that a name may have.
 *
 * @param hash hex digits of the node's hash
 */
export function movedName(name: string, hash: string): string {
  const prefix = `~${hash.slice(0, HASH_DIGITS)}~`;
  const { read } = encoder.encodeInto(name, new Uint8Array(MAX_NAME_BYTES - prefix.length));
  return prefix + name.slice(0, read);
}

/** A UTF-16 code unit takes 1 to 3 bytes of UTF-8, so most texts need no counting. */
const isLonger = (text: string, maxBytes: number): boolean =>
  text.length > maxBytes || (text.length * 3 > maxBytes && Buffer.byteLength(text) > maxBytes);
