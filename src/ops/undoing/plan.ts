// Plans the undo of entries of one root, newest first: the steps of one atomic group, or the entries that block it.

import type { Ability } from "../../core/call/capability.js";
import { yieldToLoop } from "../../core/io.js";
import type { At, Backend, GroupChange, Standing, WriteOptions } from "../../core/ports/backend.js";
import type { JournalEntry } from "../../core/ports/changes/journal.js";
import type { PathCall, Resolve } from "../../core/ports/operation.js";
import { notUndoable, type PastContent, PastContents, streamOf } from "../history/past-content.js";
import { readsIn } from "../history/version.js";
import type { JournalView } from "../history/visible-entries.js";
import { isOfTree, type StandingParts, standsAsRoot, standsAt } from "./conflict-check.js";
import { type Outlook, OutlookOfRoot } from "./planned-state.js";
import { TreeHistory } from "./tree-history.js";

/** Entries that are named as blocked. */
const MAX_BLOCKED = 100;
const PAGE = 50;
/** Entries that are planned before others get their turn. */
const TURN = 100;

/** A file before and after the undo. `undefined`: there is none; `kept`: it comes back as it was kept. */
export interface FileTurn {
  readonly path: readonly string[];
  readonly now: PastContent | undefined;
  readonly next: PastContent | "kept" | undefined;
  /** The content gets another path, or is no file: there is no difference to show. */
  readonly isPlain?: boolean;
}

/** An entry that prevents an undo. */
export interface Blocked {
  /** Entry that cannot be undone. */
  readonly id: string;
  readonly path: string;
  /** Actor of the later change, or `external` where no journal entry explains it. */
  readonly by: string;
  /** The entry of that change. */
  readonly laterId?: string;
}

/** The planned changes in one root. */
export interface UndoPlan {
  readonly of: JournalView;
  /** Backend that makes the changes; it may ask a person first. */
  readonly backend: Backend;
  readonly entries: readonly JournalEntry[];
  readonly changes: readonly GroupChange[];
  /** Paths that change, each once. */
  readonly turns: readonly FileTurn[];
  readonly blocked: readonly Blocked[];
  readonly blockedCount: number;
}

/** @throws NOT_SUPPORTED for an entry that cannot be undone; CAPABILITY_DENIED, DENIED_BY_POLICY, READ_ONLY_ROOT */
export async function planUndo(of: JournalView, entries: readonly JournalEntry[], at: Resolve): Promise<UndoPlan> {
  const planner = new Planner(of, at);
  for (const entry of entries) await planner.add(entry);
  return { of, entries, ...planner.result() };
}

class Planner {
  readonly #of: JournalView;
  readonly #at: Resolve;
  readonly #reads: (path: readonly string[]) => PathCall | undefined;
  readonly #outlook: OutlookOfRoot;
  readonly #pasts: PastContents;
  readonly #changes: GroupChange[] = [];
  readonly #turns = new Map<string, FileTurn>();
  readonly #blocked: Blocked[] = [];
  /** Ids of entries whose undo is planned. */
  readonly #planned = new Set<string>();
  readonly #parts: StandingParts;
  #backend: Backend;
  #blockedCount = 0;
  #added = 0;

  constructor(of: JournalView, at: Resolve) {
    this.#of = of;
    this.#backend = of.view.root.backend;
    this.#at = at;
    this.#reads = readsIn(of.view.root.name, at);
    this.#outlook = new OutlookOfRoot(this.#reads, of.journal);
    this.#pasts = new PastContents(of.journal, this.#reads);
    const { journal } = of;
    this.#parts = { journal, history: new TreeHistory(journal), reads: this.#reads, planned: this.#planned };
  }

  result(): Omit<UndoPlan, "of" | "entries"> {
    const [changes, turns, blocked] = [this.#changes, [...this.#turns.values()], this.#blocked];
    return { backend: this.#backend, changes, turns, blocked, blockedCount: this.#blockedCount };
  }

  async add(known: JournalEntry): Promise<void> {
    if (++this.#added % TURN === 0) await yieldToLoop();
    if (known.op === "purge") throw notUndoable(known.id, "purged");
    if (known.undoneBy !== undefined) return this.#block(known, known.path);
    const entry = (await this.#of.journal.asKept?.(known)) ?? known;
    if (!entry.undoable) throw notUndoable(entry.id, entry.reason ?? "not_kept");
    if (this.#isOfWholeDrive(entry)) await this.#putBack(entry);
    else if (entry.action === "deleted") await this.#bringBack(entry);
    else if (entry.action === "moved") await this.#moveBack(entry);
    else if (entry.before === null) await this.#takeAway(entry);
    else await this.#putContent(entry, await this.#standing(entry));
    for (const path of [...(entry.made ?? [])].reverse()) await this.#removeIfEmpty(entry, path);
    this.#planned.add(entry.id);
  }

  /** @returns the present state, if it is the one that the entry left; otherwise the entry is blocked */
  async #standing(entry: JournalEntry): Promise<(Outlook & { readonly isTail: boolean }) | undefined> {
    const found = await this.#outlook.at(entry.path);
    if (found === "unseen") {
      const { after, kind } = entry;
      // The entry comes back in its folder: the commit checks its version.
      if (after?.version !== undefined) return { state: after, kind, isUnseen: true, isTail: false };
      await this.#block(entry, entry.path);
      return undefined;
    }
    const stands = await standsAt(this.#parts, entry, found);
    if (found !== undefined && stands !== false) return { ...found, isTail: stands === "tail" };
    await this.#block(entry, entry.path);
    return undefined;
  }

  /** Undoes a creation: the created entry is deleted. */
  async #takeAway(entry: JournalEntry): Promise<void> {
    const { path, kind } = entry;
    const now = await this.#standing(entry);
    if (now === undefined) return;
    const isTree = kind === "directory" && isOfTree(entry);
    if (kind === "directory" && !isTree && !(await this.#outlook.isEmpty(path))) return this.#block(entry, path);
    const at = this.#placeOf(path, ["crud/delete"], entry);
    this.#changes.push({ kind: "remove", at, options: { recursive: isTree, ...versionOf(now) } });
    this.#turn(path, { now: this.#shownOf(now), next: undefined, isPlain: kind !== "file" });
    this.#outlook.put(path, "gone");
  }

  /** Undoes a replacement of content. */
  async #putContent(entry: JournalEntry, now: (Outlook & { readonly isTail: boolean }) | undefined): Promise<void> {
    if (now === undefined) return;
    const past = await this.#before(entry, now);
    const at = this.#placeOf(entry.path, ["crud/write"], entry);
    this.#write(entry, past, { at, now: this.#shownOf(now), parents: false, ...versionOf(now) });
  }

  /** Writes what an entry has replaced or deleted. @param options `now`: what is there */
  #write(
    entry: JournalEntry,
    past: PastContent,
    { at, now, ...options }: WriteOptions & Standing & Pick<FileTurn, "now"> & { readonly at: At },
  ): void {
    const { path, before } = entry;
    const { mode, modified } = past;
    const body = { load: () => streamOf(past) };
    this.#changes.push({ kind: "write", at, body, options: { mode, modified, ...options } });
    this.#turn(path, { now, next: past });
    this.#outlook.put(path, { state: before ?? past, kind: "file", content: past });
  }

  /** Only drives can be created, deleted and replaced as a whole. */
  #isOfWholeDrive({ path, kind }: JournalEntry): boolean {
    return path.length === 0 && kind === "directory" && this.#of.journal.differences !== undefined;
  }

  /** Undoes a change of a whole drive: an import, or its creation or deletion. */
  async #putBack(entry: JournalEntry): Promise<void> {
    if (!(await standsAsRoot(this.#parts, entry))) return this.#block(entry, []);
    const at = this.#placeOf([], ["crud/write", "crud/delete"], entry);
    this.#changes.push({ kind: "restore", kept: [entry.id], at, options: { parents: false } });
    this.#turn([], { now: undefined, next: entry.before === null ? undefined : "kept", isPlain: true });
    this.#outlook.replaceAll();
  }

  /** Undoes a deletion. */
  async #bringBack(entry: JournalEntry): Promise<void> {
    const { path, kind, before } = entry;
    const there = await this.#outlook.at(path);
    // In a folder that comes back, the commit finds out.
    if (there !== undefined && there !== "unseen") return this.#block(entry, path);
    const kept = await this.#of.journal.keptAt(entry);
    const at = this.#placeOf(path, ["crud/write"], entry);
    if (kept !== undefined) {
      this.#changes.push({ kind: "restore", kept, is: kind, at, options: { parents: true } });
      const past = kind === "file" ? await this.#pasts.before(entry) : "not_kept";
      const isPlain = kind !== "file";
      this.#turn(path, { now: undefined, next: typeof past === "string" ? "kept" : past, isPlain });
      const from = kind === "directory" ? { kept: { tree: entry, names: [] } } : {};
      if (before !== null) this.#outlook.put(path, { state: before, kind, isUnseen: true, ...from });
      return;
    }
    const past = await this.#pasts.before(entry);
    if (typeof past === "string") throw notUndoable(entry.id, past);
    this.#write(entry, past, { at, now: undefined, parents: true, expected: "nothing" });
  }

  /** Undoes a move, and brings back the entry it replaced. */
  async #moveBack(entry: JournalEntry): Promise<void> {
    const { path, from } = entry;
    if (from === undefined) throw notUndoable(entry.id, "not_kept");
    const now = await this.#standing(entry);
    if (now === undefined) return;
    const there = await this.#outlook.at(from);
    if (there !== undefined && there !== "unseen" && !isSameEntry(entry, there, now)) return this.#block(entry, from);
    const replaced = entry.before === null ? undefined : await this.#pasts.before(entry);
    if (typeof replaced === "string") throw notUndoable(entry.id, replaced);
    const source = this.#placeOf(path, ["crud/read", "crud/delete"], entry);
    const target = this.#placeOf(from, ["crud/write"], entry);
    const options = { parents: true, overwrite: false, ...versionOf(now) };
    this.#changes.push({ kind: "move", from: source, to: target, options });
    const content = this.#shownOf(now);
    this.#turn(path, { now: content, next: undefined, isPlain: true });
    this.#turn(from, { now: undefined, next: content ?? "kept", isPlain: true });
    const { isTail: _, ...entryNow } = now;
    this.#outlook.move(path, from, entryNow);
    if (replaced === undefined) return;
    const at = this.#placeOf(path, ["crud/write"], entry);
    this.#write(entry, replaced, { at, now: undefined, parents: false, expected: "nothing" });
  }

  /** Folders that were made for a change go with it, unless something else is in them. */
  async #removeIfEmpty(entry: JournalEntry, path: readonly string[]): Promise<void> {
    const found = await this.#outlook.at(path);
    if (found === undefined || found === "unseen" || found.kind !== "directory") return;
    if (!(await this.#outlook.isEmpty(path))) return;
    this.#changes.push({
      kind: "remove",
      at: this.#placeOf(path, ["crud/delete"], entry),
      options: { recursive: false },
    });
    this.#outlook.put(path, "gone");
  }

  /** The content that an entry has replaced. For an append it is the present content without the added bytes. */
  async #before(entry: JournalEntry, now: Outlook & { readonly isTail: boolean }): Promise<PastContent> {
    const { addition, before } = entry;
    const whole = addition === undefined || before === null ? undefined : this.#contentOf(now);
    const past =
      whole === undefined || addition === undefined || before === null
        ? await this.#pasts.before(entry)
        : PastContents.firstBytes(whole, { ...before, size: addition.offset });
    if (typeof past === "string") throw notUndoable(entry.id, past);
    return past;
  }

  /** The present content for the diff: none in a folder that comes back. */
  #shownOf(now: Outlook): PastContent | undefined {
    return now.kept === undefined ? this.#contentOf(now) : undefined;
  }

  #contentOf(now: Outlook): PastContent | undefined {
    if (now.content !== undefined) return now.content;
    const call = now.kind === "file" && now.disk !== undefined ? this.#reads(now.disk) : undefined;
    if (call === undefined) return undefined;
    return { ...now.state, open: () => call.root.backend.open(call.path, call.access) };
  }

  #placeOf(path: readonly string[], abilities: readonly Ability[], { id }: JournalEntry): At {
    const root = this.#of.view.root.name;
    const place = this.#at({ root, path: path.join("/"), abilities, changes: true, isReal: true, undoes: [id] });
    if (place.root.backend !== this.#of.view.root.backend) this.#backend = place.root.backend;
    return place;
  }

  /** First and last state of a path. */
  #turn(path: readonly string[], { now, next, isPlain = false }: Omit<FileTurn, "path">): void {
    const key = path.join("/");
    const known = this.#turns.get(key);
    const first = known === undefined ? now : known.now;
    this.#turns.set(key, { path, now: first, next, isPlain: isPlain && (known?.isPlain ?? true) });
  }

  /** Names the actor of a later change, as far as the caller may know. */
  async #block(entry: JournalEntry, path: readonly string[]): Promise<void> {
    this.#blockedCount += 1;
    if (this.#blocked.length === MAX_BLOCKED) return;
    const sees = (one: JournalEntry): boolean => one.id > entry.id && this.#of.sees(one);
    const { entries } = await this.#of.journal.query({ path, since: entry.time, limit: PAGE, sees });
    const later = entries.find((one) => one.undoneBy === undefined) ?? entries[0];
    this.#blocked.push({
      ...{ id: entry.id, path: path.join("/"), by: later?.actor ?? "external" },
      ...(later === undefined ? {} : { laterId: later.id }),
    });
  }
}

/** After a change of case alone both names are of one entry, where names fold. */
function isSameEntry({ path, from = [] }: JournalEntry, one: Outlook, other: Outlook): boolean {
  const folded = (segments: readonly string[]): string => segments.join("/").normalize("NFKD").toLowerCase();
  const isSame = one.state.version !== undefined && one.state.version === other.state.version;
  return isSame && folded(path) === folded(from);
}

/** The version that an entry must still have, where no earlier step gives it another. */
const versionOf = (now: Outlook): { version?: string } =>
  now.isPlanned === true || now.kind === "directory" || now.state.version === undefined
    ? {}
    : { version: now.state.version };
