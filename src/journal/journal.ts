// The journal of one root: entries in a store, content in the store or in the trash of the root, within a quota.

import { newEntryId } from "../core/entry-id.js";
import type { Awaitable } from "../core/io.js";
import {
  type EntryNote,
  type Image,
  isChosen,
  type Journal,
  type JournalEntry,
  type JournalFacts,
  type JournalPage,
  type JournalQuery,
  type KeptState,
  type NotUndoable,
  type Purge,
  type Purged,
  type Side,
  type TrashEntry,
} from "../core/ports/changes/journal.js";
import type {
  IdentifiedRecord,
  JournalWriter,
  Kept,
  Planned,
  TrashFolder,
  TrashItem,
  TrashMode,
} from "../core/ports/changes/journal-writer.js";
import type { OpenFile } from "../core/ports/open-file.js";
import { type PruneRules, Pruner } from "./prune.js";
import { queryStore, rowsSince } from "./query.js";
import { settleLeft } from "./recover.js";
import { entryOf, fileOf, type KeptRow, lossOf, rowOf } from "./rows.js";
import { type JournalStore, openStore, type StoreUser } from "./store.js";

export interface RootJournalOptions {
  /** Name of the root. */
  readonly root: string;
  /** Folder of its store; exists. */
  readonly folder: string;
  readonly mode: "metadata" | "on";
  readonly trash: TrashMode;
  readonly quota: PruneRules;
  readonly bin: TrashFolder;
  readonly isMoved: boolean;
  readonly onFault: (error: unknown) => void;
  /** Runs work that no call waits for. */
  readonly inBackground: (work: Promise<unknown>) => void;
}

export class RootJournal implements Journal, JournalWriter {
  readonly mode: "metadata" | "on";
  readonly trashMode: TrashMode;
  readonly isMoved: boolean;
  readonly #options: RootJournalOptions;
  readonly #store: JournalStore;
  readonly #user: StoreUser;
  readonly #pruner: Pruner;
  #unkept = 0;

  /** @throws Error if the store cannot be opened */
  constructor(options: RootJournalOptions) {
    this.#options = options;
    this.mode = options.mode;
    this.trashMode = options.trash;
    this.isMoved = options.isMoved;
    this.#user = { onFault: options.onFault, onWritten: () => this.#pruner.wake() };
    this.#store = openStore(options.folder, this.#user);
    this.#pruner = new Pruner({
      ...{ store: this.#store, bin: options.bin, rules: options.quota, nowMs: () => Date.now() },
      isBinding: options.trash === "required",
      trashName: (id) => this.trashName(id),
      trashPrefix: this.#prefix,
      inBackground: options.inBackground,
    });
    this.#pruner.wake();
  }

  get #prefix(): string {
    return `${this.trashKey}-`;
  }

  get trashKey(): string {
    return this.#store.trashKey;
  }

  get isThere(): boolean {
    return this.#store.isThere();
  }

  get keepsDeleted(): boolean {
    return this.trashMode === "required";
  }

  newId(): string {
    return newEntryId(Date.now());
  }

  trashName(id: string): string {
    return `${this.#prefix}${id}`;
  }

  hasRoom(bytes: number): boolean {
    return this.#pruner.hasRoom(bytes);
  }

  begin(id: string, { origin, change, inode, kept }: Planned): boolean {
    const reason = kept?.in === "nothing" ? kept.reason : undefined;
    const row = { id, origin, change, inode, kept: kept?.in, reason };
    const isNoted = this.#store.begin(row, kept?.in === "value" ? kept.bytes : undefined);
    // Without a note the entry waits in memory, which is too little where all has to be kept.
    if (this.#store.hasRoom && (isNoted || !this.keepsDeleted)) return true;
    this.cancel(id);
    return false;
  }

  cancel(id: string): void {
    this.#store.cancel(id);
  }

  get facts(): JournalFacts {
    const { totals, lost, fault } = this.#store;
    return { ...totals, unkept: this.#unkept, lost, ...(fault === undefined ? {} : { fault }) };
  }

  add(record: IdentifiedRecord, kept?: Kept, reason?: NotUndoable): boolean {
    if (kept?.in === "nothing" && !isChosen(kept.reason)) this.#unkept += 1;
    const row = rowOf(record, this.mode, kept, reason);
    const content = this.mode === "on" && kept?.in !== "nothing" ? kept : undefined;
    const size = content?.in === "value" ? content.bytes.length : (content?.size ?? 0);
    const isAdded = this.#store.add(row, content, this.#pruner.isApart(size));
    if (content?.in === "trash" && record.kind === "directory") this.#options.inBackground(this.#measure(record.id));
    return isAdded;
  }

  madeSince(time: number): Iterable<IdentifiedRecord> {
    this.#store.flush();
    return rowsSince(this.#store, time);
  }

  freeSpace(bytes: number, mayGiveUp: (path: readonly string[]) => boolean): Promise<boolean> {
    return this.#pruner.freeSpace(bytes, mayGiveUp);
  }

  async query(query: JournalQuery): Promise<JournalPage> {
    await this.settle();
    this.#store.flush();
    return queryStore(this.#store, query);
  }

  waiting(sees: (entry: JournalEntry) => boolean): JournalEntry | undefined {
    const entries = this.#store.waiting().map(({ row, kept }) => entryOf(row, kept));
    return entries.find(sees);
  }

  entry(id: string): JournalEntry | undefined {
    this.#store.flush();
    const row = this.#store.entry(id);
    return row === undefined ? undefined : entryOf(row, this.#store.kept(id));
  }

  group(id: string): readonly JournalEntry[] {
    this.#store.flush();
    const members = [...this.#store.ids(undefined, { by: "g", text: id })].map((member) => this.entry(member));
    return members.filter((entry) => entry !== undefined).reverse();
  }

  async image(entry: JournalEntry, side: Side): Promise<Image | NotUndoable> {
    this.#store.flush();
    if (side === "after" || entry.kind !== "file" || entry.before === null) return "not_kept";
    const kept = this.#store.kept(entry.id);
    // On another device the content is kept, and only an undo is not possible.
    if (!entry.undoable && (entry.reason !== "other_device" || kept === undefined)) return entry.reason ?? "not_kept";
    if (kept === undefined) return "not_kept";
    const { size } = kept;
    if (kept.in === "value") {
      const bytes = this.#store.image(entry.id);
      return bytes === undefined ? "pruned" : { size, open: () => fileOf(bytes, entry) };
    }
    return this.#imageIn(this.trashName(entry.id), kept.version);
  }

  imageBelow(entry: JournalEntry, names: readonly string[], version: string): Awaitable<Image | NotUndoable> {
    this.#store.flush();
    if (!entry.undoable) return entry.reason ?? "not_kept";
    return this.#inTrash(entry) ? this.#imageIn(this.trashName(entry.id), version, names) : "pruned";
  }

  stateBelow(entry: JournalEntry, names: readonly string[]): Awaitable<KeptState | undefined> {
    return this.#inTrash(entry) ? this.#options.bin.look(this.trashName(entry.id), names) : undefined;
  }

  async asKept(entry: JournalEntry): Promise<JournalEntry> {
    const kept = this.#inTrash(entry);
    const reason = kept && lossOf(entry, kept, await this.stateBelow(entry, []));
    return reason === undefined ? entry : { ...entry, undoable: false, reason };
  }

  #inTrash({ id, undoable }: JournalEntry): KeptRow | undefined {
    this.#store.flush();
    const kept = undoable ? this.#store.kept(id) : undefined;
    return kept?.in === "trash" ? kept : undefined;
  }

  async #imageIn(name: string, version: string | undefined, below?: readonly string[]): Promise<Image | NotUndoable> {
    const { bin } = this.#options;
    const found = await bin.open(name, version, below);
    if (typeof found === "string") return found === "missing" ? "pruned" : "altered";
    found.close();
    const open = async (): Promise<OpenFile> => {
      const file = await bin.open(name, version, below);
      if (typeof file === "string") throw Object.assign(new Error("The content is gone"), { code: "NOT_FOUND" });
      return file;
    };
    return { size: found.size, open };
  }

  keptAt(entry: JournalEntry): readonly string[] | undefined {
    return this.#inTrash(entry) && [...this.#options.bin.folder, this.trashName(entry.id)];
  }

  note(ids: readonly string[], note: EntryNote): void {
    this.#store.note(ids, note);
  }

  async trash(): Promise<readonly TrashEntry[]> {
    this.#store.flush();
    const items = await this.#options.bin.list(this.#prefix);
    const found = items.map((item) => this.#trashEntry(item)).filter((entry) => entry !== undefined);
    return found.sort((a, b) => (a.id < b.id ? 1 : -1));
  }

  async purge(ids: readonly string[] | "all", by: Purge): Promise<Purged> {
    this.#store.flush();
    const every = new Set(await this.#everyId());
    const purged = ids === "all" ? [...every] : ids.filter((id) => every.has(id));
    if (purged.length > 0) await this.#purge(purged, by);
    // Content pruned before is overwritten too.
    await this.#store.overwriteRemoved();
    return { purged };
  }

  async #purge(purged: readonly string[], by: Purge): Promise<void> {
    await this.#options.bin.remove(purged.map((id) => this.trashName(id)));
    const rows = purged.map((id) => this.#store.entry(id)).filter((row) => row?.isKept === true);
    this.#store.update(rows.flatMap((row) => (row === undefined ? [] : [{ ...row, reason: "purged" as const }])));
    this.#store.remove(purged);
    const what = { action: "deleted", kind: "other", before: null, after: null, files: purged.length } as const;
    const record = { ...by, ...what, op: "purge", id: this.newId(), time: Date.now() };
    this.add(record, { in: "nothing", reason: "purged" });
  }

  async close(): Promise<void> {
    await this.#pruner.close();
    await this.#store.leave(this.#user);
  }

  async #everyId(): Promise<string[]> {
    const items = await this.#options.bin.list(this.#prefix);
    const inTrash = items.map(({ name }) => name.slice(this.#prefix.length));
    const waiting = this.#store.waiting().filter(({ kept }) => kept !== undefined);
    return [...new Set([...inTrash, ...this.#store.oldest("kept"), ...waiting.map(({ row }) => row.id)])];
  }

  /** Replaced entries lie in the trash as well, but only deleted ones are listed. */
  #trashEntry({ name, kind, size, changed }: TrashItem): TrashEntry | undefined {
    const id = name.slice(this.#prefix.length);
    const row = this.#store.entry(id);
    const sizePart = kind === "file" ? { size } : {};
    if (row === undefined) return { id, path: [], kind, ...sizePart, deleted: changed, by: "unknown" };
    if (row.action !== "deleted" || row.undoneBy !== undefined) return undefined;
    return { id, path: row.path, kind, ...sizePart, deleted: row.time, by: row.actor };
  }

  async #measure(id: string): Promise<void> {
    const { bytes: size, files } = await this.#options.bin.measure(this.trashName(id));
    this.#store.flush();
    this.#store.resize(id, size);
    const row = this.#store.entry(id);
    if (row !== undefined) this.#store.update([{ ...row, files }]);
    this.#pruner.wake();
  }

  /** Completes the entries of processes that have died. Their changes precede all that is made or looked at from now on. */
  settle(): Promise<void> {
    const { bin, root, onFault } = this.#options;
    const names = { root, trashPrefix: this.#prefix, newId: () => this.newId() };
    const parts = { bin, ...names, store: this.#store, add: this.add.bind(this) };
    this.#store.settling = this.#store.settling.then(() => settleLeft(parts)).catch(onFault);
    return this.#store.settling;
  }
}
