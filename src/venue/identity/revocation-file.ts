// The file of a revocation list.

import { constants, type Stats, statSync } from "node:fs";
import { type FileHandle, open } from "node:fs/promises";
import { ConfigError } from "../../config/errors.js";
import { escapeText } from "../../core/errors/texts.js";
import { errnoOf } from "../../jail/sys.js";
import { parseRevocations } from "../../ucan/verify/revocation-list.js";
import { type FileFault, openSecretFile, readSecretFile } from "../start/state/state-dir.js";
import { LIST_NAME, type RevocationPlace } from "./revocation-place.js";

/** Maximum file size in bytes; room for more than 90,000 token ids. */
const MAX_BYTES = 4_194_304;

/** The entries read, or why reading failed. */
export type Reading = { readonly entries: ReadonlySet<string>; readonly stat?: Stats } | FileFault;

/**
 * Adds those of some entries that the list lacks.
 * @param inForce all entries, for a list that was deleted
 * @throws ConfigError, with the `code` of the system's error
 */
export async function appendToList(
  place: RevocationPlace,
  wanted: readonly string[],
  inForce: ReadonlySet<string>,
): Promise<void> {
  // A deleted list is recreated with all entries in force.
  const make = () => linesOf([...inForce]);
  const file = openSecretFile(place.path, { ...fileOptions(place), make });
  if ("fault" in file) throw unusable(place, file);
  const known = looseEntries(file.text);
  const missing = wanted.filter((entry) => !known.has(entry));
  const lines = (file.text === "" || file.text.endsWith("\n") ? "" : "\n") + linesOf(missing);
  if (missing.length > 0 && Buffer.byteLength(file.text) + lines.length > MAX_BYTES) {
    throw unusable(place, { fault: "it is full", exitStatus: 78 });
  }
  if (missing.length > 0) await writeLines(place, lines);
}

/** Appends in a single write, so that other processes may append too. */
async function writeLines(place: RevocationPlace, lines: string): Promise<void> {
  const { path, isConfigured } = place;
  let handle: FileHandle | undefined;
  try {
    const flags = constants.O_WRONLY | constants.O_APPEND | constants.O_NONBLOCK;
    handle = await open(path, flags | (isConfigured ? 0 : constants.O_NOFOLLOW));
    await appendWhole(handle, lines);
    await handle.sync();
  } catch (error) {
    throw unusable(place, faultOfWriting(error));
  } finally {
    await handle?.close();
  }
}

/** All or nothing: half a line would spoil the list. */
async function appendWhole(handle: FileHandle, lines: string): Promise<void> {
  const { size } = await handle.stat();
  try {
    await handle.appendFile(lines);
  } catch (error) {
    const { size: now } = await handle.stat();
    if (now > size && now < size + lines.length) await handle.truncate(size);
    throw error;
  }
}

export function readList(place: RevocationPlace): Reading {
  const file = readSecretFile(place.path, fileOptions(place));
  if ("fault" in file) return file;
  const parsed = parseRevocations(file.text);
  if ("malformedLine" in parsed) return { fault: faultOfLine(parsed.malformedLine), exitStatus: 78 };
  return { entries: new Set(parsed.entries), stat: file.stat };
}

/** A configured list may be a symbolic link: files are mounted in containers as links. */
const fileOptions = ({ isConfigured }: RevocationPlace) => ({ maxBytes: MAX_BYTES, follow: isConfigured });

/** @throws any error that is not one of the system */
export function faultOfWriting(error: unknown): FileFault {
  const errno = errnoOf(error);
  if (errno === undefined) throw error;
  return { fault: `it cannot be written: ${errno}`, exitStatus: 66, errno };
}

export const MISSING = "missing";

/** Includes ctime, since tools can set mtime. */
export function versionOf(path: string): string {
  try {
    const stat = statSync(path, { bigint: true, throwIfNoEntry: false });
    return stat === undefined ? MISSING : `${stat.mtimeNs} ${stat.ctimeNs} ${stat.size} ${stat.ino}`;
  } catch (error) {
    const errno = errnoOf(error);
    if (errno === undefined) throw error;
    return errno;
  }
}

const linesOf = (entries: readonly string[]): string => entries.map((entry) => `${entry}\n`).join("");

/** The entries of a list, without validating its lines. */
const looseEntries = (text: string): ReadonlySet<string> =>
  new Set(text.split("\n").map((line) => line.replace(/#.*/, "").trim()));

const faultOfLine = (line: number): string => `line ${line} is neither a token id nor a DID`;

/** A list that cannot be used, with the `code` of the system's error. */
export function unusable(
  { path, isConfigured }: RevocationPlace,
  { fault, exitStatus, errno, advice }: FileFault,
): ConfigError {
  const what = isConfigured
    ? "'auth.ucan.revocations' cannot be used"
    : `'stateDir' has a list '${LIST_NAME}' that cannot be used`;
  const end = advice === undefined ? "" : `. ${advice}`;
  const error = new ConfigError([`${what}: ${fault}: ${escapeText(path)}${end}`], exitStatus);
  return errno === undefined ? error : Object.assign(error, { code: errno });
}
