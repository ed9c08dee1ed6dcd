import { randomBytes } from "node:crypto";
import {
  closeSync,
  constants,
  fstatSync,
  fsyncSync,
  linkSync,
  lstatSync,
  mkdirSync,
  openSync,
  readSync,
  type Stats,
  unlinkSync,
  writeFileSync,
} from "node:fs";
import { homedir } from "node:os";
import { dirname, isAbsolute, join, resolve } from "node:path";
import { ConfigError, type ConfigExitStatus } from "../config/errors.js";
import { escapeText } from "../core/texts.js";
import { errnoOf } from "../jail/sys.js";

const LOCAL_TOKEN = "local-token";
/** 256 bits as base64url. */
const LOCAL_TOKEN_FORM = /^([A-Za-z0-9_-]{43})\r?\n?$/;
const READABLE_BY_OTHERS = 0o077;
const WRITABLE_BY_OTHERS = 0o022;

/** A small file that holds a secret. */
export interface SecretFile {
  readonly text: string;
  readonly stat: Stats;
}

/** What is wrong with a file, in words, and the status a command should exit with. Never holds what the file holds. */
export interface FileFault {
  readonly fault: string;
  readonly exitStatus: ConfigExitStatus;
  readonly missing?: true;
}

export interface SecretFileOptions {
  /** Most bytes the file may have. */
  readonly maxBytes: number;
  /** Whether a link may stand in its place. */
  readonly follow: boolean;
}

/** Reads a regular file; anything else is refused before it could make the reader wait. */
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
 * Reads a secret file, or makes it when there is none. Two processes that do so at once end with the same content.
 *
 * @param make the content of a new file
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
    const { fault, exitStatus, missing } = faultOf(error);
    return { fault: `it cannot be made: ${missing ? REASONS["ENOTDIR"] : fault}`, exitStatus };
  }
  return readSecretFile(path, options);
}

/** Whether others than the owner may read a file or write it. Always `false` where modes say nothing. */
export const isOpenToOthers = (stat: Stats, to: "read" | "write"): boolean =>
  process.platform !== "win32" && (stat.mode & (to === "read" ? READABLE_BY_OTHERS : WRITABLE_BY_OTHERS)) !== 0;

/**
 * The state directory of a user: `venue-files` below `XDG_STATE_HOME`, which counts only as an absolute path.
 *
 * @param systemHome the home directory as the system knows it, asked when `env` has none
 * @throws ConfigError when nobody knows a home directory
 */
export function defaultStateDir(
  env: Readonly<Record<string, string | undefined>>,
  systemHome: () => string = homedir,
): string {
  const { XDG_STATE_HOME: stateHome, HOME: home } = env;
  if (stateHome !== undefined && isAbsolute(stateHome)) return join(stateHome, "venue-files");
  return join(home !== undefined && isAbsolute(home) ? home : homeOf(systemHome), ".local", "state", "venue-files");
}

function homeOf(systemHome: () => string): string {
  try {
    return systemHome();
  } catch {
    throw new ConfigError(["'stateDir' must be set: this user has no home directory"], 78);
  }
}

/**
 * Makes the state directory, mode 0700, with what is missing above it, or checks the one that is there: who can change
 * it could become the operator.
 *
 * @param path absolute
 * @returns the path
 * @throws ConfigError 66 when it cannot be made, 78 when it is a link, another user's, or writable by others
 */
export function openStateDir(path: string): string {
  // Without a trailing slash, behind which a link would not be seen.
  const directory = resolve(path);
  const unmade = makeDirectory(directory);
  // Something else may have the name, and that is what has to be known.
  const found = checkDirectory(directory);
  const fault = found?.missing ? (unmade ?? found) : found;
  if (fault === undefined) return directory;
  throw new ConfigError([`'stateDir' cannot be used: ${fault.fault}: ${escapeText(path)}`], fault.exitStatus);
}

/**
 * The token by which the operator is known on this machine: 256 random bits, made once. Delete the file to change it.
 *
 * @param directory the state directory, open
 * @throws ConfigError 66 when the file cannot be read or made, 78 when it holds no token or is open to others
 */
export function openLocalToken(directory: string): string {
  const file = openSecretFile(join(directory, LOCAL_TOKEN), {
    maxBytes: 64,
    follow: false,
    make: () => `${randomBytes(32).toString("base64url")}\n`,
  });
  const refuse = (fault: string, exitStatus: ConfigExitStatus) =>
    new ConfigError([`'stateDir' has a ${LOCAL_TOKEN} that cannot be used: ${fault}`], exitStatus);
  if ("fault" in file) throw refuse(file.fault, file.exitStatus);
  if (isForeign(file.stat)) throw refuse("it belongs to another user", 78);
  if (isOpenToOthers(file.stat, "read")) throw refuse("others may use it. Make its mode 0600, or delete it", 78);
  const [, token] = LOCAL_TOKEN_FORM.exec(file.text) ?? [];
  if (token === undefined) throw refuse("it holds no token. Delete it, and another is made", 78);
  return token;
}

/** The content of an open file, `undefined` if there are more than `maxBytes`. */
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

/** Puts a file in place as a whole, unless one is there: a reader never finds half of it. */
function placeOnce(path: string, content: string): void {
  const draft = `${path}.${randomBytes(8).toString("hex")}`;
  try {
    writeFileSync(draft, content, { flag: "wx", mode: 0o600, flush: true });
    linkSync(draft, path);
  } catch (error) {
    if (errnoOf(error) !== "EEXIST") throw error;
  } finally {
    removeDraft(draft);
  }
  flushDirectory(dirname(path));
}

function removeDraft(path: string): void {
  try {
    unlinkSync(path);
  } catch (error) {
    if (errnoOf(error) === undefined) throw error;
  }
}

/** Else a power failure could take the file away again, and with it who the venue is. Some systems cannot do it. */
function flushDirectory(path: string): void {
  let fd: number | undefined;
  try {
    fd = openSync(path, constants.O_RDONLY);
    fsyncSync(fd);
  } catch (error) {
    if (errnoOf(error) === undefined) throw error;
  } finally {
    if (fd !== undefined) closeSync(fd);
  }
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
  if (errno === "ELOOP") return { fault: "it is a link", exitStatus: 78 };
  const fault = { fault: REASONS[errno] ?? errno, exitStatus: 66 } as const;
  return errno === "ENOENT" ? { ...fault, missing: true } : fault;
}

function makeDirectory(path: string): FileFault | undefined {
  try {
    mkdirSync(path, { recursive: true, mode: 0o700 });
    return undefined;
  } catch (error) {
    return faultOf(error);
  }
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
