// The entries of one root in LMDB, shared by all processes with one state directory. Writes wait a moment for others.

import { join } from "node:path";
import { beginAfter } from "../core/entry-id.js";
import type { EntryNote, JournalFault } from "../core/ports/changes/journal.js";
import type { Kept } from "../core/ports/changes/journal-writer.js";
import { overwriteFree } from "../database/overwrite-free.js";
import { hasDamaged, INDEX, keepTrashKey, keptTrashKey, markClosed, stillThere } from "./check-tables.js";
import { type LeftNotes, PendingLog } from "./pending-log.js";
import { type EntryRow, type KeptRow, keptRowOf, type PendingRow, removeOne, resizeKept } from "./rows.js";
import { decode, encode, key, openTables, sharesOf, type Tables, type Totals, totalsOf, trashKeyOf } from "./tables.js";
import { type IndexText, putWaiting, type Waiting, WaitingEntries } from "./waiting-entries.js";
import { idsAtPath, newestIds, oldestIds } from "./walk-ids.js";

/** How long an entry waits for others, so that they share a transaction. */
const WAIT_MS = 10;
/** Pauses before what could not be written is tried again, the first and the longest. */
const FIRST_PAUSE_MS = 100;
const LONGEST_PAUSE_MS = 30_000;

/** Told of what happens in a store. */
export interface StoreUser {
  /** Entries could not be written, or the store cannot be read. */
  readonly onFault: (error: unknown) => void;
  /** Entries were written. */
  readonly onWritten: () => void;
}

/** Stores that are open in this process, by folder: LMDB must not open one twice. */
const OPEN = new Map<string, JournalStore>();

/** Opens a store, or shares the open one. The user leaves it with {@link JournalStore.leave}. @throws Error */
export function openStore(folder: string, user: StoreUser, open = openTables): JournalStore {
  const known = OPEN.get(folder);
  const store = known?.isThere() === true ? known : new JournalStore(folder, open);
  OPEN.set(folder, store);
  store.join(user);
  return store;
}

/** Reads and writes rows. No method but the constructor throws; what cannot be read counts as absent. */
export class JournalStore {
  readonly #folder: string;
  readonly #tables: Tables;
  readonly #pending: PendingLog;
  readonly #users = new Set<StoreUser>();
  readonly trashKey: string;
  /** Whether the file of the tables is still in its folder: writes to a removed file would be lost. */
  readonly isThere: () => boolean;
  readonly #waiting = new WaitingEntries();
  #timer: NodeJS.Timeout | undefined;
  /** Before the next try; 0: the last one has worked. */
  #pauseMs = 0;
  #isDamaged = false;
  #isOpen = true;
  /** Entries that could not be written. */
  lost = 0;
  /** Runs of `settleLeft` for the roots of the store, one after the other. */
  settling: Promise<void> = Promise.resolve();

  /** @throws Error if it cannot be opened */
  constructor(folder: string, open: typeof openTables) {
    this.#folder = folder;
    this.#pending = new PendingLog(folder);
    try {
      this.#tables = open(join(folder, INDEX));
      this.trashKey = trashKeyOf(this.#tables, keptTrashKey(folder));
    } catch (error) {
      this.#pending.close();
      throw error;
    }
    keepTrashKey(folder, this.trashKey);
    this.isThere = stillThere(folder);
    this.#isDamaged = hasDamaged(folder);
    const [newest] = this.ids(undefined);
    if (newest !== undefined) beginAfter(newest);
  }

  join(user: StoreUser): void {
    this.#users.add(user);
  }

  /** Closes the store with its last user. */
  async leave(user: StoreUser): Promise<void> {
    this.flush();
    if (!this.#users.delete(user) || this.#users.size > 0) return;
    this.#isOpen = false;
    clearTimeout(this.#timer);
    if (OPEN.get(this.#folder) === this) OPEN.delete(this.#folder);
    if (this.#waiting.newest().some(({ row }) => !this.#pending.tells(row.id))) this.#pending.lack();
    this.#pending.close();
    await this.#tables.env.close();
    markClosed(this.#folder);
  }

  /** Why it is not whole. */
  get fault(): JournalFault | undefined {
    return this.#isDamaged ? "damaged" : this.lost > 0 ? "lost" : this.#pauseMs > 0 ? "waiting" : undefined;
  }

  /** Whether one more entry can be written, or wait for it. */
  get hasRoom(): boolean {
    return !this.#waiting.isFull;
  }

  get totals(): Totals {
    return this.#read((tables) => totalsOf(tables)) ?? { entries: 0, bytes: 0 };
  }

  /** Adds an entry; it is written within some milliseconds, or as soon as that is possible. `false`: there is no room. */
  add(row: EntryRow, kept: Kept | undefined, apart: boolean): boolean {
    if (!this.#isOpen) return false;
    if (this.#waiting.isFull && !this.#pending.has(row.id)) {
      this.lost += 1;
      this.#pending.lack();
      return false;
    }
    const image = kept?.in === "value" ? kept.bytes : undefined;
    this.#waiting.add({ row, kept: keptRowOf(kept, apart), image });
    this.#flushSoon();
    return true;
  }

  /** Notes something on entries, together with what waits. */
  note(ids: readonly string[], note: EntryNote): void {
    if (!this.#isOpen) return;
    this.#waiting.note(ids, note);
    this.#flushSoon();
  }

  #flushSoon(): void {
    if (this.#waiting.isBatch && this.#pauseMs === 0) this.flush();
    else this.#timer ??= setTimeout(() => this.flush(), WAIT_MS);
  }

  /** Entries that are not written yet, newest first. */
  waiting(): readonly Pick<Waiting, "row" | "kept">[] {
    return this.#waiting.newest();
  }

  /** Writes what waits. Where that fails it waits on. */
  flush(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    while (!this.#waiting.isEmpty) {
      const batch = this.#waiting.batch();
      if (!this.transact((tables) => putWaiting(tables, batch, this.#waiting.notes))) {
        this.#pauseMs = Math.min(Math.max(FIRST_PAUSE_MS, this.#pauseMs * 2), LONGEST_PAUSE_MS);
        this.#timer = setTimeout(() => this.flush(), this.#pauseMs);
        // A process that is done does not wait for it.
        this.#timer.unref();
        return;
      }
      this.#pauseMs = 0;
      this.#waiting.end(batch);
      this.#pending.end(batch.map(({ row }) => row.id));
      for (const user of this.#users) user.onWritten();
    }
    this.#pending.dropSettled();
  }

  /** Notes a pending entry at once. @returns whether that worked */
  begin(row: PendingRow, bytes: Buffer | undefined): boolean {
    if (!this.#isOpen) return false;
    try {
      this.#pending.begin(row, bytes);
      return true;
    } catch (error) {
      this.#tell(error);
      return false;
    }
  }

  /** Forgets a pending entry, once all that was added before is written. */
  cancel(id: string): void {
    this.#pending.cancel(id);
    if (this.#waiting.isEmpty) this.#pending.end([]);
  }

  /** Pending entries of dead processes; `undefined`: there are none. */
  takePending(): LeftNotes | undefined {
    return this.#isOpen ? this.#pending.takeOver() : undefined;
  }

  entry(id: string): EntryRow | undefined {
    return this.#waiting.get(id)?.row ?? this.#get<EntryRow>((tables) => tables.entries, id);
  }

  kept(id: string): KeptRow | undefined {
    const waiting = this.#waiting.get(id);
    return waiting === undefined ? this.#get<KeptRow>((tables) => tables.kept, id) : waiting.kept;
  }

  image(id: string): Buffer | undefined {
    return this.#waiting.get(id)?.image ?? this.#read(({ images }) => images.get(key(id)));
  }

  get shares(): ReadonlyMap<string, Totals> {
    return this.#read((tables) => sharesOf(tables)) ?? new Map();
  }

  hasKept(id: string): boolean {
    return this.#read(({ kept }) => kept.doesExist(key(id))) === true;
  }

  /** Ids of entries, newest first. @param before ids older than this one @param index absent: all entries */
  ids(before: string | undefined, index?: IndexText): Iterable<string> {
    return this.#waiting.among(
      newestIds((look) => this.#read(look), before, index),
      before,
      index,
    );
  }

  /** Ids of all entries, those whose content is kept, or those in an index, oldest first; those removed meanwhile are left out. */
  oldest(of: "entries" | "kept" | IndexText): Iterable<string> {
    return oldestIds((look) => this.#read(look), of);
  }

  /** Ids of the entries at a path and below it, newest first; `undefined`: there are more than `limit`. */
  idsAt(path: string, before: string | undefined, limit: number): Iterable<string> | undefined {
    const written = idsAtPath((look) => this.#read(look), path, { before, limit });
    // The caller compares the paths of waiting entries.
    return written && this.#waiting.among(written, before);
  }

  /** Replaces rows in one transaction. @returns whether that worked */
  update(changes: readonly EntryRow[]): boolean {
    const written = changes.filter((row) => !this.#waiting.change(row.id, { row }));
    return this.transact((tables) => {
      for (const row of written) tables.entries.putSync(key(row.id), encode(row));
    });
  }

  /** Overwrites removed content, so that no file holds it any more. @throws ENOSPC if the files cannot be written */
  async overwriteRemoved(): Promise<void> {
    this.#pending.cut();
    await overwriteFree(this.#tables).catch((error: unknown) => {
      throw Object.assign(new Error("The journal cannot be written", { cause: error }), { code: "ENOSPC" });
    });
  }

  /** Removes the kept content of entries from the store, and with `entries` the entries too. */
  remove(ids: readonly string[], entries = false): boolean {
    for (const id of ids) this.#waiting.change(id, { kept: undefined, image: undefined });
    return this.transact((tables) => {
      for (const id of ids) removeOne(tables, id, entries);
    });
  }

  /** The size of a kept tree was measured. */
  resize(id: string, size: number): void {
    const [row, entry] = [this.kept(id), this.entry(id)];
    if (row === undefined || entry === undefined) return;
    const next = { ...row, size };
    if (!this.#waiting.change(id, { kept: next })) this.transact((tables) => resizeKept(tables, entry, row, next));
  }

  #get<T>(tableOf: (tables: Tables) => Tables["entries"], id: string): T | undefined {
    const row = this.#read((tables) => tableOf(tables).get(key(id)));
    const value = row && decode<T>(row);
    if (value !== "damaged") return value;
    this.#isDamaged = true;
    return undefined;
  }

  /** Sees what other processes have written. */
  #read<T>(work: (tables: Tables) => T): T | undefined {
    if (!this.#isOpen) return undefined;
    try {
      this.#tables.env.resetReadTxn();
      return work(this.#tables);
    } catch (error) {
      this.#isDamaged = true;
      this.#tell(error);
      return undefined;
    }
  }

  /** Works on the tables in one transaction. @returns whether that worked */
  transact(work: (tables: Tables) => void): boolean {
    if (!this.#isOpen) return false;
    try {
      this.#tables.env.transactionSync(() => work(this.#tables));
      return true;
    } catch (error) {
      if (this.#pauseMs === 0) this.#tell(error);
      return false;
    }
  }

  #tell(error: unknown): void {
    for (const user of this.#users) user.onFault(error);
  }
}
