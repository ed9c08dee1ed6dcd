// The state directory and its secret files: creates them privately, and refuses ones that other users could change.

import { randomBytes } from "node:crypto";
import { closeSync, constants, fstatSync, lstatSync, openSync, readSync, rmdirSync, type Stats } from "node:fs";
import { homedir, userInfo } from "node:os";
import { isAbsolute, join, resolve } from "node:path";
import { ConfigError, type ConfigExitStatus } from "../../../config/errors.js";
import { escapeText } from "../../../core/errors/texts.js";
import { attempt } from "../../../core/io.js";
import { isWindows } from "../../../core/system.js";
import { makeFolder } from "../../../drive/store/embedded/make-folder.js";
import { fileErrno, folderErrno } from "../../../jail/creatable.js";
import { placeOnce, unlessRefused } from "../../../jail/staging/place-once.js";
import { errnoOf } from "../../../jail/sys.js";
import { realHostPath } from "../../../process/host-path.js";
import { letsOthersIn } from "../../../process/private-folder.js";

/** Name of the file of the operator's token in a state directory. */
export const LOCAL_TOKEN = "local-token";
/** 256 bits in base64url. */
const LOCAL_TOKEN_FORM = /^([A-Za-z0-9_-]{43})\r?\n?$/;
const OTHERS = { read: 0o077, write: 0o022 };

/** A small secret file that was read. */
export interface SecretFile {
  readonly text: string;
  readonly stat: Stats;
}

/** Why a file cannot be used, how to fix it where that is known, and the exit status for it. Never holds content of the file. */
export interface FileFault {
  readonly fault: string;
  readonly exitStatus: ConfigExitStatus;
  readonly missing?: true;
  readonly advice?: string;
  readonly errno?: string;
}

export interface SecretFileOptions {
  /** Maximum file size in bytes. */
  readonly maxBytes: number;
  /** Whether a symbolic link is followed. */
  readonly follow: boolean;
}

/** There is no state directory: disabled by the configuration, or no location could be determined. */
export class NoStateDir extends ConfigError {
  constructor(problem: string) {
    super([problem], 78);
  }
}

/** Reads a small regular file; anything else is refused, without blocking on a FIFO. */
export function readSecretFile(path: string, options: SecretFileOptions): SecretFile | FileFault {
  const flags = constants.O_RDONLY | constants.O_NONBLOCK | (options.follow ? 0 : constants.O_NOFOLLOW);
  let fd: number | undefined;
  try {
    fd = openSync(path, flags);
    const stat = fstatSync(fd);
    if (!stat.isFile()) return { fault: "it is not a regular file", exitStatus: 78 };
    const text = readUpTo(fd, options.maxBytes);
    return text === undefined ? { fault: "it is too long", exitStatus: 78 } : { text, stat };
  } catch (error) {
    return faultOf(error);
  } finally {
    if (fd !== undefined) closeSync(fd);
  }
}

/**
 * Reads a secret file, or creates it if missing. Two processes that do so at once end up with the same content.
 *
 * @param make returns the content of a new file
 */
export function openSecretFile(
  path: string,
  options: SecretFileOptions & { readonly make: () => string },
): SecretFile | FileFault {
  const found = readSecretFile(path, options);
  if (!("missing" in found)) return found;
  try {
    placeOnce(path, options.make());
  } catch (error) {
    return toCreationFault(faultOf(error));
  }
  return readSecretFile(path, options);
}

const toCreationFault = ({ fault, missing, ...more }: FileFault): FileFault => ({
  ...more,
  fault: `it cannot be made: ${missing ? REASONS["ENOTDIR"] : fault}`,
});

/** Whether other users may read or write a file. Always `false` on Windows, where modes carry no meaning. */
export const isOpenToOthers = (stat: Stats, to: "read" | "write"): boolean =>
  !isWindows() && (stat.mode & OTHERS[to]) !== 0;

/**
 * The default state directory: `VENUE_FILES_STATE_DIR`, else the first path of systemd's `STATE_DIRECTORY`, else
 * `venue-files` below `XDG_STATE_HOME` (ignored unless absolute) or below `.local/state` in the home directory.
 *
 * @param systemHome the home directory as the system knows it, used when `env` has none
 * @throws NoStateDir when no home directory is known; ConfigError when one of the first two is not absolute
 */
export function defaultStateDir(
  env: Readonly<Record<string, string | undefined>>,
  systemHome: () => string = homedir,
): string {
  const { VENUE_FILES_STATE_DIR: own, STATE_DIRECTORY: ofService, XDG_STATE_HOME: stateHome, HOME: home } = env;
  if (own !== undefined && own !== "") return absolute("VENUE_FILES_STATE_DIR", own);
  const [first = ""] = ofService?.split(":", 1) ?? [];
  // For services with a dynamic user it is a symbolic link made by systemd.
  if (first !== "") {
    const path = absolute("STATE_DIRECTORY", first);
    return unlessRefused(() => realHostPath(path)) ?? path;
  }
  if (stateHome !== undefined && isAbsolute(stateHome)) return join(stateHome, "venue-files");
  return join(home !== undefined && isAbsolute(home) ? home : homeOf(systemHome), ".local", "state", "venue-files");
}

function absolute(variable: string, path: string): string {
  if (isAbsolute(path)) return path;
  throw new ConfigError([`The environment variable ${variable} must be an absolute path`], 78);
}

function homeOf(systemHome: () => string): string {
  try {
    return systemHome();
  } catch {
    throw new NoStateDir("'stateDir' must be set: this user has no home directory");
  }
}

/**
 * Creates the state directory with mode 0700, and missing parents, or checks the existing one: who can write to it
 * could become the operator. On Windows the access list of a new one is looked at, and that of one which is there is the user's own affair.
 *
 * @param path absolute
 * @returns the path
 * @throws ConfigError 66 when it cannot be created, 78 when it is a link, another user's, or writable by other users
 */
export function openStateDir(path: string): string {
  // Without a trailing slash, which would make lstat follow a link.
  const directory = resolve(path);
  const isNew = isWindows() && lstatSync(directory, { throwIfNoEntry: false }) === undefined;
  const unmade = makeDirectory(directory);
  // Creating may have failed because the name is taken; then what is there matters more than that error.
  const found = checkDirectory(directory);
  const fault = found?.missing ? (unmade ?? found) : found;
  if (fault !== undefined) throw unusableDir(path, fault);
  if (isNew) requirePrivate(directory);
  return directory;
}

/** Takes a new directory back that others may use. @throws ConfigError 78 */
function requirePrivate(directory: string): void {
  if (!letsOthersIn(directory)) return;
  attempt(() => rmdirSync(directory));
  const command = `icacls "${directory}" /inheritance:r /grant:r "${userInfo().username}:(OI)(CI)F"`;
  const advice = `Choose a folder in your own profile, or make this one yourself and run: ${command}`;
  throw unusableDir(directory, { fault: "other users of this computer could use it", exitStatus: 78, advice });
}

/** Checks like {@link openStateDir}, creating nothing. @returns whether it exists @throws ConfigError likewise */
export function checkStateDir(path: string): boolean {
  const directory = resolve(path);
  const found = checkDirectory(directory);
  const errno = found?.missing ? folderErrno(directory) : undefined;
  const fault = found?.missing ? (errno === undefined ? undefined : withoutMissing(faultOfErrno(errno))) : found;
  if (fault !== undefined) throw unusableDir(path, fault);
  return found === undefined;
}

function unusableDir(path: string, { fault, exitStatus, advice }: FileFault): ConfigError {
  const end = advice === undefined ? "" : `. ${advice}`;
  return new ConfigError([`'stateDir' cannot be used: ${fault}: ${escapeText(path)}${end}`], exitStatus);
}

/**
 * The operator's bearer token on this machine: 256 random bits, created once. Delete the file to rotate it.
 *
 * @param directory the state directory, already opened
 * @throws ConfigError 66 when the file cannot be read or created, 78 when it has no valid token or is open to other
 * users
 */
export function openLocalToken(directory: string): string {
  const make = () => `${randomBytes(32).toString("base64url")}\n`;
  return localTokenIn(openSecretFile(join(directory, LOCAL_TOKEN), { ...TOKEN_FILE, make }), directory);
}

/** Checks like {@link openLocalToken}, creating nothing; the file may be missing. @throws ConfigError likewise */
export function checkLocalToken(directory: string): void {
  const path = join(directory, LOCAL_TOKEN);
  const file = readSecretFile(path, TOKEN_FILE);
  const errno = "missing" in file ? fileErrno(path) : undefined;
  if (errno !== undefined) localTokenIn(toCreationFault(faultOfErrno(errno)), directory);
  if (!("missing" in file)) localTokenIn(file, directory);
}

const TOKEN_FILE = { maxBytes: 64, follow: false };

function localTokenIn(file: SecretFile | FileFault, directory: string): string {
  const refuse = (fault: string, exitStatus: ConfigExitStatus) =>
    new ConfigError([`'stateDir' has a ${LOCAL_TOKEN} that cannot be used: ${fault}`], exitStatus);
  if ("fault" in file) {
    const advice = file.advice === undefined ? "" : `: ${escapeText(directory)}. ${file.advice}`;
    throw refuse(`${file.fault}${advice}`, file.exitStatus);
  }
  if (isForeign(file.stat)) throw refuse("it belongs to another user", 78);
  if (isOpenToOthers(file.stat, "read")) throw refuse("others may use it. Make its mode 0600, or delete it", 78);
  const [, token] = LOCAL_TOKEN_FORM.exec(file.text) ?? [];
  if (token === undefined) throw refuse("it holds no token. Delete it, and another is made", 78);
  return token;
}

/** Reads an open file; `undefined` if it has more than `maxBytes`. */
function readUpTo(fd: number, maxBytes: number): string | undefined {
  const bytes = Buffer.alloc(maxBytes + 1);
  let length = 0;
  while (length < bytes.length) {
    const read = readSync(fd, bytes, length, bytes.length - length, null);
    if (read === 0) return bytes.toString("utf8", 0, length);
    length += read;
  }
  return undefined;
}

const REASONS: Readonly<Record<string, string>> = {
  ENOENT: "there is no such file",
  ENOTDIR: "its folder does not exist",
  EACCES: "permission denied",
  EPERM: "permission denied",
  EROFS: "the file system is read-only",
};

function faultOf(error: unknown): FileFault {
  const errno = errnoOf(error);
  if (errno === undefined) throw error;
  return faultOfErrno(errno);
}

function faultOfErrno(errno: string): FileFault {
  if (errno === "ELOOP") return { fault: "it is a link", exitStatus: 78 };
  const fault = { fault: REASONS[errno] ?? errno, exitStatus: 66, errno } as const;
  if (errno === "EROFS") return { ...fault, advice: ELSEWHERE };
  return errno === "ENOENT" ? { ...fault, missing: true } : fault;
}

const ELSEWHERE = "Set 'stateDir' to a folder that can be written, or to false";

function makeDirectory(path: string): FileFault | undefined {
  try {
    makeFolder(path);
    return undefined;
  } catch (error) {
    return withoutMissing(faultOf(error));
  }
}

function withoutMissing({ missing, ...fault }: FileFault): FileFault {
  // The parent exists or was created, so the system itself refuses folders here, as in /proc.
  if (missing) return { ...fault, fault: "no folder can be made there (ENOENT)", advice: ELSEWHERE };
  return fault.fault === REASONS["EACCES"] ? { ...fault, advice: ELSEWHERE } : fault;
}

function checkDirectory(path: string): FileFault | undefined {
  const refuse = (fault: string): FileFault => ({ fault, exitStatus: 78 });
  try {
    const stat = lstatSync(path);
    if (stat.isSymbolicLink()) return refuse("it is a link");
    if (!stat.isDirectory()) return refuse("it is not a directory");
    if (isForeign(stat)) return refuse("it belongs to another user");
    return isOpenToOthers(stat, "write") ? refuse("others may write in it") : undefined;
  } catch (error) {
    return faultOf(error);
  }
}

const isForeign = ({ uid }: Stats): boolean => uid !== (process.geteuid?.() ?? uid);
