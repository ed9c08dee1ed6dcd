// Notes of the changes that this process is about to make, in files beside the tables: one short write for each, where a
// transaction of its own would take longer than the whole change. A process that is killed leaves them to the next one; a
// power failure may lose them.

import { randomBytes } from "node:crypto";
import {
  closeSync,
  ftruncateSync,
  openSync,
  readdirSync,
  readFileSync,
  readSync,
  renameSync,
  unlinkSync,
  writeSync,
} from "node:fs";
import { join } from "node:path";
import { timeOfId } from "../core/entry-id.js";
import { attempt } from "../core/io.js";
import type { IdentifiedRecord } from "../core/ports/changes/journal-writer.js";
import { mayRun, ownToken } from "../process/identity.js";
import { END, readRecord, type Told, writeRecord } from "./note-records.js";
import type { PendingRow } from "./rows.js";

const PREFIX = "pending-";
/** Ends the name of a file that lacks notes: a rename needs no room. */
const LACKING = "-lacking";
/** A file with more than this (bytes) gets no more notes, and goes once all its notes have ended. */
const MAX_BYTES = 1_048_576;
/** Notes that have ended stay in a file for this long (ms). */
const CUT_MS = 1_000;
/** The first record of a file, with what names its process, is shorter. */
const FIRST_BYTES = 512;
/** A noted change. `bytes`: the content from before it. */
export interface LeftNote extends Pick<PendingRow, "inode" | "kept" | "reason"> {
  readonly planned: IdentifiedRecord;
  readonly bytes?: Buffer | undefined;
}

/** Notes of processes that died. */
export interface LeftNotes {
  readonly notes: readonly LeftNote[];
  /** Some changes could not be noted. */
  readonly isLacking: boolean;
  /** Called once their entries are added; {@link PendingLog.dropSettled} then removes their files. */
  settle(): void;
}

interface NoteFile {
  readonly fd: number;
  path: string;
  /** Where its first note begins, and the next one. */
  readonly start: number;
  at: number;
  /** How many of its notes have not ended. */
  open: number;
}

export class PendingLog {
  readonly #folder: string;
  /** Files by the ids of their notes that have not ended. */
  readonly #open = new Map<string, NoteFile | undefined>();
  /** Ids of notes that end with the next ones. */
  readonly #over = new Set<string>();
  /** Paths of files of others whose notes are settled. */
  readonly #settled = new Set<string>();
  #file: NoteFile | undefined;
  #lacks = false;
  #cutting: NodeJS.Timeout | undefined;

  /**
   * Makes the file at once: it tells others that this process has the journal open.
   * @param folder of the journal
   */
  constructor(folder: string) {
    this.#folder = folder;
    this.#file = attempt(() => this.#create());
  }

  /**
   * @param bytes the content from before the change, where it is kept as a value
   * @throws system errors; the change counts as begun all the same
   */
  begin(row: PendingRow, bytes?: Buffer): void {
    const { id } = row;
    const before = this.#open.get(id);
    if (before !== undefined) before.open--;
    this.#over.delete(id);
    try {
      const file = this.#current();
      append(file, { row }, bytes);
      file.open++;
      this.#open.set(id, file);
    } catch (error) {
      this.#open.set(id, undefined);
      this.#markLacking();
      throw error;
    }
  }

  /** Whether a change was begun and has not ended. */
  has(id: string): boolean {
    return this.#open.has(id) && !this.#over.has(id);
  }

  /** Whether the next process would know of a change. */
  tells(id: string): boolean {
    return this.#open.get(id) !== undefined;
  }

  /** Marks the file of notes as lacking a change that is neither noted nor written, so that the next process says so. */
  lack(): void {
    this.#lacks = true;
    this.#markLacking();
  }

  /** The change was not made: its note ends with the next {@link end}. */
  cancel(id: string): void {
    this.#over.add(id);
  }

  /** Ends the notes of changes whose entries are written. */
  end(ids: readonly string[]): void {
    const ended = new Map<NoteFile, string[]>();
    for (const id of [...ids, ...this.#over]) {
      const file = this.#open.get(id);
      this.#open.delete(id);
      if (file === undefined) continue;
      file.open--;
      const others = ended.get(file);
      if (others === undefined) ended.set(file, [id]);
      else others.push(id);
    }
    this.#over.clear();
    for (const [file, own] of ended) {
      if (file.open > 0) attempt(() => append(file, { ended: own }));
      else if (file === this.#file) this.#startOver(file);
      else remove(file);
    }
  }

  /** All notes have ended: none is read again, and the next one takes the place of the first. */
  #startOver(file: NoteFile): void {
    file.at = file.start;
    attempt(() => writeSync(file.fd, END, 0, END.length, file.at));
    this.#cutting ??= setTimeout(() => this.cut(), CUT_MS).unref();
  }

  /** Removes notes that have ended, with the content they kept, from the file. */
  cut(): void {
    clearTimeout(this.#cutting);
    this.#cutting = undefined;
    const file = this.#file;
    if (file === undefined) return;
    if (file.open === 0) attempt(() => ftruncateSync(file.fd, file.start));
    // The old file is removed once its notes have ended.
    else attempt(() => this.#renew());
  }

  /** Notes that are still open stay, and tell the next process what was under way. */
  close(): void {
    clearTimeout(this.#cutting);
    const files = new Set([this.#file, ...this.#open.values()]);
    const own = this.#file;
    this.#file = undefined;
    // The descriptors are others' from now on: a change that ends later finds no note of its own.
    this.#open.clear();
    for (const file of files) {
      if (file === undefined) continue;
      if (file.open === 0 && !(this.#lacks && file === own)) remove(file);
      else closeSync(file.fd);
    }
  }

  /** Takes over the notes of dead processes, so that no other process settles them too. `undefined`: there are none. */
  takeOver(): LeftNotes | undefined {
    const notes: LeftNote[] = [];
    const taken: string[] = [];
    let isLacking = false;
    for (const name of namesIn(this.#folder)) {
      const path = join(this.#folder, name);
      if (path === this.#file?.path || this.#settled.has(path) || mayBeInUse(path)) continue;
      const lacks = name.endsWith(LACKING);
      const mine = join(this.#folder, newName() + (lacks ? LACKING : ""));
      if (attempt(() => renameSync(path, mine) ?? true) === undefined) continue;
      taken.push(mine);
      isLacking ||= lacks;
      notes.push(...(attempt(() => readNotes(readFileSync(mine))) ?? []));
    }
    if (taken.length === 0) return undefined;
    return { notes, isLacking, settle: () => taken.forEach((path) => void this.#settled.add(path)) };
  }

  /** Removes the settled notes of dead processes, whose entries are written now. */
  dropSettled(): void {
    for (const path of this.#settled) attempt(() => unlinkSync(path));
    this.#settled.clear();
  }

  /** The file for the next note. */
  #current(): NoteFile {
    const file = this.#file;
    return file !== undefined && file.at <= MAX_BYTES ? file : this.#renew();
  }

  #renew(): NoteFile {
    const file = this.#file;
    const next = this.#create();
    if (file?.open === 0) remove(file);
    this.#file = next;
    if (this.#lacks || file?.path.endsWith(LACKING) === true) this.#markLacking();
    return next;
  }

  #create(): NoteFile {
    const path = join(this.#folder, newName());
    const fd = openSync(path, "wx", 0o600);
    try {
      const start = writeRecord({ fd, at: 0 }, { process: ownToken() });
      return { fd, path, start, at: start, open: 0 };
    } catch (error) {
      remove({ fd, path });
      throw error;
    }
  }

  #markLacking(): void {
    const file = this.#file;
    if (file === undefined || file.path.endsWith(LACKING)) return;
    attempt(() => renameSync(file.path, file.path + LACKING));
    file.path += LACKING;
  }
}

/** @throws system errors; nothing of it is read then */
function append(file: NoteFile, told: Told, bytes?: Buffer): void {
  file.at += writeRecord(file, told, bytes);
}

function remove({ fd, path }: Pick<NoteFile, "fd" | "path">): void {
  closeSync(fd);
  attempt(() => unlinkSync(path));
}

/** Whether a running process has the journal in a folder open. */
export const hasLiveNotes = (folder: string): boolean =>
  namesIn(folder).some((name) => isAlive(ownerOf(join(folder, name))));

const isAlive = (owner: string | undefined): boolean => owner !== undefined && mayRun(owner);

/** A process that has just made its file has not yet written its name. */
function mayBeInUse(path: string): boolean {
  const owner = ownerOf(path);
  return owner === undefined || mayRun(owner);
}

/** The process that a file is of. */
function ownerOf(path: string): string | undefined {
  const fd = attempt(() => openSync(path, "r"));
  if (fd === undefined) return undefined;
  const head = Buffer.alloc(FIRST_BYTES);
  const length = attempt(() => readSync(fd, head)) ?? 0;
  closeSync(fd);
  return readRecord(head.subarray(0, length), 0)?.told.process;
}

const namesIn = (folder: string): string[] =>
  (attempt(() => readdirSync(folder)) ?? []).filter((name) => name.startsWith(PREFIX));

const newName = (): string => `${PREFIX}${randomBytes(8).toString("hex")}`;

/** The notes of a file that have not ended. */
function readNotes(file: Buffer): Iterable<LeftNote> {
  const found = new Map<string, LeftNote>();
  for (let one = readRecord(file, 0); one !== undefined; one = readRecord(file, one.next)) {
    const { row, ended = [] } = one.told;
    for (const id of ended) found.delete(id);
    if (row !== undefined) found.set(row.id, noteOf(row, one.content));
  }
  return found.values();
}

function noteOf({ id, origin, change, ...rest }: PendingRow, content: Buffer): LeftNote {
  const planned = { ...origin, ...change, id, time: timeOfId(id) };
  return { planned, ...rest, bytes: rest.kept === "value" ? content : undefined };
}
