// The revocation list: a text file, reread when it changes. Once revoked, nothing becomes valid through a read error.

import { constants, type Stats, statSync } from "node:fs";
import { type FileHandle, open } from "node:fs/promises";
import { dirname, join } from "node:path";
import { ConfigError } from "../../config/errors.js";
import type { VenueConfig } from "../../config/types.js";
import { escapeText } from "../../core/errors/texts.js";
import type { Log } from "../../core/ports/log.js";
import { errnoOf } from "../../jail/sys.js";
import type { Revocations } from "../../ucan/verify/proof.js";
import { isRevocable, notBeforeOf, parseRevocations } from "../../ucan/verify/revocation-list.js";
import { bringUpToDate } from "../start/state/format.js";
import { stateDirOf } from "../start/state/place.js";
import {
  type FileFault,
  isOpenToOthers,
  NoStateDir,
  openSecretFile,
  openStateDir,
  readSecretFile,
} from "../start/state/state-dir.js";

const NAME = "revocations";
/** Maximum file size in bytes; room for more than 90,000 token ids. */
const MAX_BYTES = 4_194_304;

/** Revoked token ids and DIDs, kept in a file. */
export interface RevocationList extends Revocations {
  readonly size: number;
  /**
   * Appends entries to the file and puts them into force; entries already in the file are not written again.
   *
   * @param entries token ids or DIDs
   * @throws RangeError for any other entry; ConfigError when the file cannot be written
   */
  add(entries: readonly string[]): Promise<void>;
}

/** Location of a venue's revocation list. */
export interface RevocationPlace {
  /** Absolute path. */
  readonly path: string;
  /** Whether `auth.ucan.revocations` names the file, which must then exist; otherwise it is in the state directory. */
  readonly isConfigured: boolean;
  /** Former location, from when the venue was alone in its process; no longer read. */
  readonly ofOneVenue?: string;
}

/** @throws NoStateDir when neither a path nor a state directory is configured; ConfigError for one of a newer format */
export function revocationPlace(
  config: Pick<VenueConfig, "auth" | "stateDir" | "stateBase">,
  env: Readonly<Record<string, string | undefined>>,
): RevocationPlace {
  const { revocations: path } = config.auth.ucan;
  if (path !== undefined) return { path, isConfigured: true };
  if (config.stateDir === false) {
    throw new NoStateDir("There is no revocation list: 'stateDir' is false. Set 'auth.ucan.revocations' to a file");
  }
  const directory = stateDirOf(config, env);
  bringUpToDate(directory);
  const { stateBase } = config;
  const shared = stateBase === undefined ? {} : { ofOneVenue: join(stateBase, NAME) };
  return { path: join(directory, NAME), isConfigured: false, ...shared };
}

export interface RevocationOptions {
  readonly log: Log;
  /** Whether a missing file counts as an empty list. Default: unless it is configured. */
  readonly mayBeMissing?: boolean;
  /** Creates the state directory for the list. Default: creates that directory only. */
  readonly openState?: () => void;
}

/**
 * Opens the list; it is reread whenever the file has changed. While it cannot be read, the last list stays in force, so
 * that a mistake never makes a revoked token valid. Editors should replace the file by an atomic rename, since half a
 * file can be a valid, shorter list.
 *
 * @throws ConfigError 66 when it cannot be read, 78 when a line is neither a token id nor a DID
 */
export function openRevocations(place: RevocationPlace, options: RevocationOptions): RevocationList {
  return new RevocationFile(place, options);
}

/** The entries read, or why reading failed. */
type Reading = { readonly entries: ReadonlySet<string>; readonly stat?: Stats } | FileFault;

class RevocationFile implements RevocationList {
  readonly #place: RevocationPlace;
  readonly #log: Log;
  readonly #openState: () => void;
  #entries: ReadonlySet<string>;
  /** Version of the file as last read, see {@link versionOf}. */
  #version: string;
  #isChecked = false;
  #timed: { entries?: ReadonlySet<string>; notBefore: number | undefined } = { notBefore: undefined };
  #adding: Promise<void> = Promise.resolve();

  constructor(place: RevocationPlace, options: RevocationOptions) {
    const { log, mayBeMissing = !place.isConfigured } = options;
    this.#place = place;
    this.#log = log;
    this.#openState = options.openState ?? (() => openStateDir(dirname(place.path)));
    this.#version = versionOf(place.path);
    const reading: Reading = this.#version === MISSING && mayBeMissing ? { entries: new Set() } : this.#read();
    if ("fault" in reading) throw unusable(place, reading);
    warnOfOther(place, this.#version === MISSING, log);
    this.#entries = reading.entries;
    if (reading.stat !== undefined && isOpenToOthers(reading.stat, "write")) {
      log.warn({}, "Others may write the revocation list, and take entries out. Make its mode 0600");
    }
  }

  get size(): number {
    this.#refresh();
    return this.#entries.size;
  }

  get notBefore(): number | undefined {
    this.#refresh();
    if (this.#timed.entries !== this.#entries) {
      this.#timed = { entries: this.#entries, notBefore: notBeforeOf(this.#entries) };
    }
    return this.#timed.notBefore;
  }

  has(idOrDid: string): boolean {
    this.#refresh();
    return this.#entries.has(idOrDid);
  }

  add(entries: readonly string[]): Promise<void> {
    const added = this.#adding.then(() => this.#append(entries));
    this.#adding = added.catch(() => {});
    return added;
  }

  /** Stats the file at most once per turn: verifying a chain queries each of its links. */
  #refresh(): void {
    if (this.#isChecked) return;
    this.#isChecked = true;
    queueMicrotask(() => {
      this.#isChecked = false;
    });
    const version = versionOf(this.#place.path);
    if (version === this.#version) return;
    this.#version = version;
    const reading = this.#read();
    if ("entries" in reading) this.#entries = reading.entries;
    else if (reading.missing !== true || this.#entries.size > 0) {
      this.#log.error({ reason: reading.fault }, "revocation list not read again: the old one stays in force");
    }
  }

  #read(): Reading {
    const file = readSecretFile(this.#place.path, this.#fileOptions());
    if ("fault" in file) return file;
    const parsed = parseRevocations(file.text);
    if ("malformedLine" in parsed) return { fault: faultOfLine(parsed.malformedLine), exitStatus: 78 };
    return { entries: new Set(parsed.entries), stat: file.stat };
  }

  /** A configured list may be a symbolic link: files are mounted in containers as links. */
  #fileOptions() {
    return { maxBytes: MAX_BYTES, follow: this.#place.isConfigured };
  }

  async #append(entries: readonly string[]): Promise<void> {
    const wanted = [...new Set(entries)];
    if (!wanted.every(isRevocable)) throw new RangeError("Cannot revoke: neither a token id nor a DID");
    const { path, isConfigured } = this.#place;
    if (!isConfigured) this.#openState();
    // A deleted list is recreated with all entries in force; else the next refresh would drop them.
    const make = () => linesOf([...new Set([...this.#entries, ...wanted])]);
    const file = openSecretFile(path, { ...this.#fileOptions(), make });
    if ("fault" in file) throw unusable(this.#place, file);
    const known = looseEntries(file.text);
    const missing = wanted.filter((entry) => !known.has(entry));
    const lines = (file.text === "" || file.text.endsWith("\n") ? "" : "\n") + linesOf(missing);
    if (missing.length > 0 && Buffer.byteLength(file.text) + lines.length > MAX_BYTES) {
      throw unusable(this.#place, { fault: "it is full", exitStatus: 78 });
    }
    if (missing.length > 0) await this.#write(lines);
    this.#version = versionOf(path);
    const reading = this.#read();
    this.#entries = "entries" in reading ? reading.entries : new Set([...this.#entries, ...wanted]);
  }

  /** Appends in a single write, so that other processes may append too. */
  async #write(lines: string): Promise<void> {
    const { path, isConfigured } = this.#place;
    let handle: FileHandle | undefined;
    try {
      const flags = constants.O_WRONLY | constants.O_APPEND | constants.O_NONBLOCK;
      handle = await open(path, flags | (isConfigured ? 0 : constants.O_NOFOLLOW));
      await handle.appendFile(lines);
      await handle.sync();
    } catch (error) {
      const errno = errnoOf(error);
      if (errno === undefined) throw error;
      throw unusable(this.#place, { fault: `it cannot be written: ${errno}`, exitStatus: 66 });
    } finally {
      await handle?.close();
    }
  }
}

const MISSING = "missing";

/**
 * Warns that a list is no longer read, since revoked tokens would silently become valid when venues share a process.
 */
function warnOfOther({ path, ofOneVenue }: RevocationPlace, isMissing: boolean, log: Log): void {
  if (!isMissing || ofOneVenue === undefined || versionOf(ofOneVenue) === MISSING) return;
  log.warn({}, `This venue does not follow ${ofOneVenue} any more. Copy it to ${path} if it should`);
}

/** Includes ctime, since tools can set mtime. */
function versionOf(path: string): string {
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

function unusable({ path, isConfigured }: RevocationPlace, { fault, exitStatus }: FileFault): ConfigError {
  const what = isConfigured
    ? "'auth.ucan.revocations' cannot be used"
    : `'stateDir' has a list '${NAME}' that cannot be used`;
  return new ConfigError([`${what}: ${fault}: ${escapeText(path)}`], exitStatus);
}
