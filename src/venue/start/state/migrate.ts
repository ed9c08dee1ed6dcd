// Brings a state directory of an older format to the newest one, after a copy of what changes.

import { randomBytes } from "node:crypto";
import {
  closeSync,
  constants,
  cpSync,
  fsyncSync,
  linkSync,
  lstatSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { ConfigError } from "../../../config/errors.js";
import { escapeText } from "../../../core/errors/texts.js";
import { placeOnce } from "../../../jail/staging/place-once.js";
import { isDead, ownIdentity, parseIdentity, printIdentity } from "../../../jail/staging/process-identity.js";
import { errnoOf } from "../../../jail/sys.js";
import { runningVenues } from "./running.js";

/** The format of a state directory as recorded. */
export interface StateFormat {
  readonly number: number;
  /** A migration from this format has begun and not ended. */
  readonly isUnderWay: boolean;
}

/**
 * One step, from a format to the next. It may be killed at any moment, and then runs again on what it left. Drives have a
 * format of their own.
 */
export interface Migration {
  /** Names in the directory that it changes. */
  readonly changes: readonly string[];
  run(directory: string): void;
}

/** The one at index `n` leads from format `n + 1` to the next. Empty until there is a second format. */
const MIGRATIONS: readonly Migration[] = [];

/** Version of the layout of the whole state directory. */
export const CURRENT_FORMAT = MIGRATIONS.length + 1;

interface MigrateOptions {
  formatOf(): StateFormat;
  readonly migrations?: readonly Migration[];
}

/** One process at a time does it, others wait. @throws ConfigError 78 while a venue uses the directory */
export function migrateState(directory: string, { formatOf, migrations = MIGRATIONS }: MigrateOptions): void {
  const lock = lockMigration(directory);
  try {
    for (let format = formatOf(); migrations[format.number - 1] !== undefined; format = formatOf()) {
      checkUnused(directory, format);
      const migration = migrations[format.number - 1];
      if (migration !== undefined) migrateOnce(directory, migration, format);
    }
  } finally {
    lock.release();
  }
}

function checkUnused(directory: string, { number }: StateFormat): void {
  const [venue] = runningVenues(directory);
  if (venue === undefined) return;
  const [name, { pid }] = venue;
  const text = `it is of format ${number}, and a venue of an older version uses it (${escapeText(name)}, process ${pid}). Stop that one first`;
  throw new ConfigError([`'stateDir' cannot be used: ${text}: ${escapeText(directory)}`], 78);
}

function migrateOnce(directory: string, { changes, run }: Migration, { number, isUnderWay }: StateFormat): void {
  // A copy from before an unfinished migration is the only complete one, so it is not replaced.
  if (!isUnderWay) copyBefore(directory, changes, number);
  writeFormat(directory, `${number}>${number + 1}`);
  run(directory);
  for (const name of changes) flushTree(join(directory, name));
  writeFormat(directory, `${number + 1}`);
}

/** Copies what a migration changes to `format-<number>.bak`, which gets its name when all of it is there. */
function copyBefore(directory: string, names: readonly string[], number: number): void {
  const copy = join(directory, `format-${number}.bak`);
  const draft = `${copy}.new`;
  for (const path of [draft, copy]) rmSync(path, { recursive: true, force: true });
  mkdirSync(draft, { mode: 0o700 });
  for (const name of names) {
    if (lstatSync(join(directory, name), { throwIfNoEntry: false }) === undefined) continue;
    cpSync(join(directory, name), join(draft, name), {
      ...{ recursive: true, preserveTimestamps: true, verbatimSymlinks: true },
      mode: constants.COPYFILE_FICLONE,
    });
  }
  flushTree(draft);
  renameSync(draft, copy);
  flush(directory);
}

function writeFormat(directory: string, text: string): void {
  const draft = join(directory, "format.new");
  writeFileSync(draft, `${text}\n`, { mode: 0o600, flush: true });
  renameSync(draft, join(directory, "format"));
  flush(directory);
}

function flushTree(path: string): void {
  const stat = lstatSync(path, { throwIfNoEntry: false });
  if (stat?.isDirectory()) for (const name of readdirSync(path)) flushTree(join(path, name));
  if (stat?.isDirectory() || stat?.isFile()) flush(path);
}

/** Not every system can flush a directory. */
function flush(path: string): void {
  let fd: number | undefined;
  try {
    fd = openSync(path, constants.O_RDONLY);
    fsyncSync(fd);
  } catch (error) {
    if (!/^(EINVAL|EPERM|EISDIR|EACCES)$/.test(errnoOf(error) ?? "")) throw error;
  } finally {
    if (fd !== undefined) closeSync(fd);
  }
}

// Lets one process at a time migrate a state directory.

const WAIT_MS = 20;
const TRIES = 3000;

interface MigrationLock {
  release(): void;
}

/** Waits for a process that has it, for a minute. One that died is passed over. @throws ConfigError 78 */
export function lockMigration(directory: string, tries = TRIES): MigrationLock {
  const path = join(directory, "format.lock");
  const own = printIdentity(ownIdentity(), randomBytes(8).toString("hex"));
  for (let tried = 0; tried < tries; tried++) {
    placeOnce(path, own);
    const holder = textOf(path);
    if (holder === own) return { release: () => rmSync(path, { force: true }) };
    if (holder === undefined) continue;
    const process = parseIdentity(holder);
    if (process === undefined || isDead(process, ownIdentity())) takeAway(path, holder);
    else Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, WAIT_MS);
  }
  const text = `another process is bringing it to a new format. Start again when that has ended, or delete ${escapeText(path)}`;
  throw new ConfigError([`'stateDir' cannot be used: ${text}`], 78);
}

/** Removes the lock of a dead process. If another process was quicker, what was moved is its lock, and goes back. */
function takeAway(path: string, holder: string): void {
  const aside = `${path}.${randomBytes(8).toString("hex")}`;
  try {
    renameSync(path, aside);
    if (textOf(aside) !== holder) linkSync(aside, path);
  } catch (error) {
    if (!/^(ENOENT|EEXIST)$/.test(errnoOf(error) ?? "")) throw error;
  }
  rmSync(aside, { force: true });
}

function textOf(path: string): string | undefined {
  try {
    return readFileSync(path, "utf8");
  } catch (error) {
    if (errnoOf(error) !== "ENOENT") throw error;
    return undefined;
  }
}
