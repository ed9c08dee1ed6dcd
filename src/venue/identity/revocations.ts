// The revocation list: a text file, reread when it changes. Once revoked, nothing becomes valid through a read error, nor
// because the file is shorter: that takes a command, which the guard tells of.

import { dirname } from "node:path";
import { counted } from "../../core/errors/wording.js";
import type { Log } from "../../core/ports/log.js";
import { codeOf, isFull } from "../../core/unknown.js";
import { errnoOf } from "../../jail/sys.js";
import type { Revocations } from "../../ucan/verify/proof.js";
import { isEntry, notBeforeOf } from "../../ucan/verify/revocation-list.js";
import { type FileFault, isOpenToOthers, openStateDir } from "../start/state/state-dir.js";
import type { Identity } from "./identity.js";
import {
  appendToList,
  faultOfWriting,
  MISSING,
  type Reading,
  readList,
  unusable,
  versionOf,
} from "./revocation-file.js";
import { digestOf, type Guarded, readGuard, writeGuard } from "./revocation-guard.js";
import type { RevocationPlace } from "./revocation-place.js";

/** Revoked token ids and DIDs, kept in a file. */
export interface RevocationList extends Revocations {
  readonly size: number;
  /** All in force; another set once they change. */
  readonly entries: ReadonlySet<string>;
  /**
   * Appends entries to the file and puts them into force; entries already in the file are not written again.
   *
   * @param entries token ids or DIDs, or moments
   * @throws RangeError for any other entry; ConfigError when the file cannot be written: they are in force all the same, in
   * this process. {@link isFull}: for want of room
   */
  add(entries: readonly string[]): Promise<void>;
}

/** The list in force, whichever a reload puts in its place. Revoking either DID of the venue revokes both. */
export class CurrentRevocations implements RevocationList {
  readonly #names: readonly string[];
  #list: RevocationList | undefined;

  constructor({ did, keyDid }: Pick<Identity, "did" | "keyDid">) {
    this.#names = [did, keyDid];
  }

  /** @param list of this process alone */
  over(list: RevocationList): void {
    this.#list = list;
  }

  get size(): number {
    return this.list.size;
  }

  get entries(): ReadonlySet<string> {
    return this.list.entries;
  }

  get notBefore(): number | undefined {
    return this.list.notBefore;
  }

  has(entry: string): boolean {
    const { list } = this;
    return list.has(entry) || (this.#names.includes(entry) && this.#names.some((name) => list.has(name)));
  }

  add(entries: readonly string[]): Promise<void> {
    return this.list.add(entries);
  }

  protected get list(): RevocationList {
    if (this.#list === undefined) throw new Error("The revocation list is not open yet");
    return this.#list;
  }
}

export interface RevocationOptions {
  readonly log: Log;
  /** Whether a missing file counts as an empty list. Default: unless it is configured. */
  readonly mayBeMissing?: boolean;
  /** Creates the state directory for the list. Default: creates that directory only. */
  readonly openState?: () => void;
  /** Whether to reserve room for a full disk, and note the entries in force. Default: once an entry is added. */
  readonly reserves?: boolean;
  /** Whether a list that lacks entries in force is accepted. */
  readonly mayBeFewer?: boolean;
}

/**
 * Opens the list; it is reread whenever the file has changed. While it cannot be read, the last list stays in force, so
 * that a mistake never makes a revoked token valid. Entries that are gone from it stay in force too, until
 * {@link acceptRevocations}.
 *
 * @throws ConfigError 66 when it cannot be read, 78 when a line is neither a token id nor a DID, or entries are gone
 */
export function openRevocations(place: RevocationPlace, options: RevocationOptions): RevocationList {
  return new RevocationFile(place, options);
}

/** Takes a list as it is, whatever was in force; also where a venue runs. @returns its size @throws ConfigError */
export function acceptRevocations(place: RevocationPlace): number {
  const reading = readList(place);
  if ("fault" in reading && reading.missing !== true) throw unusable(place, reading);
  const listed: ReadonlySet<string> = "entries" in reading ? reading.entries : new Set();
  const { entries } = guardedAt(place) ?? { entries: [] };
  const count = new Set([...listed, ...entries]).size;
  try {
    if (place.guard !== undefined) writeGuard(place.guard, { count, accepted: digestOf(listed), entries });
  } catch (error) {
    // Without a state directory nothing was noted.
    if (codeOf(error) !== "ENOENT") throw unusable(place, faultOfWriting(error));
  }
  return count;
}

class RevocationFile implements RevocationList {
  readonly #place: RevocationPlace;
  readonly #log: Log;
  readonly #openState: () => void;
  #reserves: boolean;
  #entries: ReadonlySet<string>;
  /** Revocations that hold in this process alone. */
  readonly #unkept = new Set<string>();
  /** How many entries were gone already when it was opened. */
  #lost: number;
  /** Version of the file as last read, see {@link versionOf}. */
  #version: string;
  #isChecked = false;
  /** The list that was read last, if entries are gone from it: the log says so once. */
  #told: string | undefined;
  #timed: { entries?: ReadonlySet<string>; notBefore: number | undefined } = { notBefore: undefined };
  #adding: Promise<void> = Promise.resolve();

  constructor(place: RevocationPlace, options: RevocationOptions) {
    const { log, mayBeMissing = !place.isConfigured } = options;
    this.#place = place;
    this.#log = log;
    this.#openState = options.openState ?? (() => openStateDir(dirname(place.path)));
    this.#reserves = options.reserves ?? false;
    this.#version = this.#versions();
    const isMissing = versionOf(place.path) === MISSING;
    const reading: Reading = isMissing && mayBeMissing ? { entries: new Set() } : readList(place);
    if ("fault" in reading) throw unusable(place, reading);
    warnOfOther(place, isMissing, log);
    const guarded = guardedAt(place);
    this.#entries = new Set([...reading.entries, ...(guarded?.entries ?? [])]);
    const { size } = this.#entries;
    this.#lost = Math.max(0, (guarded?.count ?? 0) - size);
    if (this.#lost > 0 && options.mayBeFewer !== true) throw unusable(place, fewer(this.#lost, size));
    if (this.#reserves) this.#note(guarded, reading.entries);
    if (reading.stat !== undefined && isOpenToOthers(reading.stat, "write")) {
      log.warn({}, "Others may write the revocation list, and take entries out. Make its mode 0600");
    }
  }

  get size(): number {
    this.#refresh();
    return this.#entries.size;
  }

  get entries(): ReadonlySet<string> {
    this.#refresh();
    return this.#entries;
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

  async add(entries: readonly string[]): Promise<void> {
    const wanted = [...new Set(entries)];
    if (!wanted.every(isEntry)) throw new RangeError("Cannot revoke: neither a token id nor a DID");
    // At once, whatever the disk does.
    for (const entry of wanted) if (!this.#entries.has(entry)) this.#unkept.add(entry);
    this.#entries = new Set([...this.#entries, ...wanted]);
    const added = this.#adding.then(() => this.#keep(wanted));
    this.#adding = added.catch(() => {});
    await added;
  }

  /** Stats the files at most once per turn: verifying a chain queries each of its links. */
  #refresh(): void {
    if (this.#isChecked) return;
    this.#isChecked = true;
    queueMicrotask(() => {
      this.#isChecked = false;
    });
    const version = this.#versions();
    if (version === this.#version) return;
    this.#version = version;
    const reading = readList(this.#place);
    if ("entries" in reading) this.#take(reading.entries);
    else if (reading.missing !== true || this.#entries.size > 0) {
      this.#log.error({ reason: reading.fault }, "revocation list not read again: the old one stays in force");
    }
  }

  #versions(): string {
    const { path, guard } = this.#place;
    return guard === undefined ? versionOf(path) : `${versionOf(path)}, ${versionOf(guard)}`;
  }

  /** Puts the entries of the list into force. Entries that are gone from it lapse only if that was accepted. */
  #take(listed: ReadonlySet<string>): void {
    const guarded = guardedAt(this.#place);
    const next = new Set([...listed, ...(guarded?.entries ?? []), ...this.#unkept]);
    const gone = [...this.#entries].filter((entry) => !next.has(entry));
    const digest = gone.length === 0 ? undefined : digestOf(listed);
    if (digest !== undefined && guarded?.accepted !== digest) {
      for (const entry of gone) next.add(entry);
      const text = `entries are gone from the revocation list, and stay in force. ${ACCEPT}`;
      if (this.#told !== digest) this.#log.error({ entries: gone.length }, text);
    }
    this.#told = digest;
    this.#entries = next;
    if (this.#reserves) this.#note(guarded, listed);
  }

  /** Notes the number of kept entries, and those that are not in the list. */
  #note({ count, entries }: Guarded = { count: -1, entries: [] }, listed: ReadonlySet<string>): void {
    const { guard } = this.#place;
    const left = entries.filter((entry) => !listed.has(entry));
    const kept = this.#kept;
    if (guard === undefined || (kept <= count && left.length === entries.length)) return;
    try {
      writeGuard(guard, { count: Math.max(kept, count), entries: left });
    } catch (error) {
      // The count is a second lock: the list itself is there.
      if (codeOf(error) !== "ENOENT") this.#log.warn({ err: error }, "no room can be kept for revocations");
    }
  }

  /** How many entries are on disk, or should be. */
  get #kept(): number {
    return this.#entries.size - this.#unkept.size + this.#lost;
  }

  /** Writes entries into the list, or if the disk is full, into the room reserved in the guard file. */
  async #keep(wanted: readonly string[]): Promise<void> {
    this.#reserves = true;
    const all = [...new Set([...(guardedAt(this.#place)?.entries ?? []), ...wanted])];
    try {
      if (!this.#place.isConfigured) this.#openState();
      await appendToList(this.#place, all, this.#entries);
    } catch (error) {
      if (!isFull(error) || !this.#reserve(all)) throw error;
    }
    for (const entry of all) this.#unkept.delete(entry);
    // Take the version before the read: entries that others add meanwhile are then seen by the next look.
    this.#version = this.#versions();
    const reading = readList(this.#place);
    if ("entries" in reading) this.#take(reading.entries);
  }

  #reserve(entries: readonly string[]): boolean {
    const { guard } = this.#place;
    const kept = this.#kept + entries.filter((entry) => this.#unkept.has(entry)).length;
    const count = Math.max(kept, guardedAt(this.#place)?.count ?? 0);
    try {
      return guard !== undefined && writeGuard(guard, { count, entries });
    } catch (error) {
      if (errnoOf(error) === undefined) throw error;
      return false;
    }
  }
}

const guardedAt = ({ guard }: RevocationPlace): Guarded | undefined =>
  guard === undefined ? undefined : readGuard(guard);

const ACCEPT = "Put them back, or let them go by: venue-files revoke --accept-list --config FILE";

const fewer = (lost: number, size: number): FileFault => ({
  fault: `it lacks ${lost} of the ${counted(size + lost, "entry", "entries")} in force`,
  exitStatus: 78,
  advice: ACCEPT,
});

/**
 * Warns that a list is no longer read, since revoked tokens would silently become valid when venues share a process.
 */
function warnOfOther({ path, ofOneVenue }: RevocationPlace, isMissing: boolean, log: Log): void {
  if (!isMissing || ofOneVenue === undefined || versionOf(ofOneVenue) === MISSING) return;
  log.warn({}, `This venue does not follow ${ofOneVenue} any more. Copy it to ${path} if it should`);
}
