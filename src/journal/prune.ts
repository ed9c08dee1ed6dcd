// Keeps a journal within its quota: gives up the oldest content and entries, in turns, away from the calls.

import { type AgeLooks, lookAgain, oldestMs } from "../core/age-looks.js";
import { timeOfId } from "../core/entry-id.js";
import { yieldToLoop } from "../core/io.js";
import type { TrashFolder } from "../core/ports/changes/journal-writer.js";
import type { KeptRow } from "./rows.js";
import type { JournalStore } from "./store.js";
import { decode, encode, type Tables } from "./tables.js";

export interface PruneRules {
  /** Most bytes of kept content. */
  readonly bytes: number;
  readonly entries: number;
  readonly days: number;
}

/** Ids that are given up in one transaction. */
const TURN = 64;
const WAKE_MS = 500;
/** How often it looks for expired content and entries. */
const LOOK_MS = 3_600_000;

export interface PrunerOptions {
  readonly store: JournalStore;
  readonly bin: TrashFolder;
  readonly rules: PruneRules;
  /** `trash: "required"`: no content goes before its time. */
  readonly isBinding: boolean;
  readonly trashName: (id: string) => string;
  readonly trashPrefix: string;
  readonly nowMs: () => number;
  readonly inBackground: (work: Promise<unknown>) => void;
}

export class Pruner {
  readonly #options: PrunerOptions;
  #timer: NodeJS.Timeout | undefined;
  #running: Promise<void> | undefined;
  #freeing: Promise<unknown> = Promise.resolve();
  #lookedMs = 0;
  #looks: AgeLooks;
  #isClosed = false;

  constructor(options: PrunerOptions) {
    this.#options = options;
    const [newest] = options.store.ids(undefined);
    this.#looks = { believed: newest === undefined ? options.nowMs() : timeOfId(newest) };
    // Before this process adds anything: its clock may be the wrong one.
    options.store.transact((tables) => beginLooks(tables, this.#looks));
  }

  /** Whether content of this size may be kept at all. */
  hasRoom(bytes: number): boolean {
    const { rules, isBinding, store } = this.#options;
    return !isBinding || store.totals.bytes + bytes <= rules.bytes;
  }

  /** Content that takes most of the quota by itself does not displace others. */
  isApart(bytes: number): boolean {
    return !this.#options.isBinding && bytes > this.#options.rules.bytes / 2;
  }

  /** Looks soon whether something has to go. */
  wake(): void {
    if (this.#isClosed || this.#timer !== undefined) return;
    this.#timer = setTimeout(() => {
      this.#timer = undefined;
      this.#running ??= this.#run().finally(() => {
        this.#running = undefined;
      });
      this.#options.inBackground(this.#running);
    }, WAKE_MS);
    // The timer must not keep the process alive: a later start looks again.
    this.#timer.unref();
  }

  /** See {@link JournalWriter.freeSpace}. One call after the other: two of them must not count on the same content. */
  freeSpace(bytes: number, mayGiveUp: (path: readonly string[]) => boolean): Promise<boolean> {
    const freeing = this.#freeing.then(() => this.#free(bytes, mayGiveUp));
    this.#freeing = freeing.catch(() => {});
    return freeing;
  }

  async #free(bytes: number, mayGiveUp: (path: readonly string[]) => boolean): Promise<boolean> {
    const { store, isBinding, bin, trashName } = this.#options;
    store.flush();
    if (isBinding || !this.#mayHold(bytes)) return false;
    const ids: string[] = [];
    let missing = bytes;
    let looked = 0;
    for (const id of store.oldest("kept")) {
      if (++looked % TURN === 0) await yieldToLoop();
      const entry = store.kept(id)?.in === "trash" ? store.entry(id) : undefined;
      if (entry === undefined || !mayGiveUp(entry.path)) continue;
      const { bytes: freed } = await bin.measure(trashName(id), true);
      if (freed === 0) continue;
      ids.push(id);
      missing -= freed;
      if (missing > 0) continue;
      await this.#inTurns(ids, (some) => this.#giveUp(some));
      return true;
    }
    return false;
  }

  /** Whether all kept content together may be large enough, so that measuring it is worth it. */
  #mayHold(bytes: number): boolean {
    const { store } = this.#options;
    let most = store.totals.bytes;
    for (const id of store.ids(undefined, { by: "k", text: "" })) most += store.kept(id)?.size ?? 0;
    return most >= bytes;
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    clearTimeout(this.#timer);
    await this.#running;
    await this.#freeing;
  }

  async #run(): Promise<void> {
    const { store, rules, isBinding, nowMs } = this.#options;
    const { entries, bytes } = store.totals;
    const isDue = Math.abs(nowMs() - this.#lookedMs) > LOOK_MS;
    if (entries <= rules.entries && (bytes <= rules.bytes || isBinding) && !isDue) return;
    if (isDue) this.#look();
    if (isDue) await this.#dropUnknown();
    await this.#giveUpContent();
    await this.#dropEntries();
  }

  #look(): void {
    const { store, rules, nowMs } = this.#options;
    this.#lookedMs = nowMs();
    const at = { nowMs: this.#lookedMs, days: rules.days };
    const before = this.#looks;
    // If the write below fails, the looks of this process alone count.
    this.#looks = lookAgain(before, at.nowMs, at.days);
    store.transact((tables) => {
      this.#looks = lookInto(tables, before, at);
    });
  }

  /** Gives up expired content, then content of the actors that keep most, until the rest fits. */
  async #giveUpContent(): Promise<void> {
    const giveUp = (ids: readonly string[]): Promise<void> => this.#giveUp(ids);
    await this.#inTurns(this.#apartToGive(), giveUp);
    await this.#inTurns(this.#tooOld("kept"), giveUp);
    await this.#inTurns(this.#contentToGive(), giveUp);
  }

  /** Expired entries. Ends at the first that stays, so that a look costs only as much as it gives up. */
  *#tooOld(of: "kept" | "entries"): Iterable<string> {
    const { store, rules, nowMs } = this.#options;
    const since = oldestMs(this.#looks, nowMs(), rules.days);
    for (const id of store.oldest(of)) {
      if (timeOfId(id) >= since) return;
      yield id;
    }
  }

  /** Content kept apart, except the newest within a day. */
  *#apartToGive(): Iterable<string> {
    const { store, nowMs } = this.#options;
    const since = oldestMs(this.#looks, nowMs(), 1);
    let isNewest = true;
    for (const id of store.ids(undefined, { by: "k", text: "" })) {
      if (!isNewest || timeOfId(id) < since) yield id;
      isNewest = false;
    }
  }

  #contentToGive(): Iterable<string> {
    const { store, rules, isBinding } = this.#options;
    const { totals, shares } = store;
    const sizes = new Map([...shares].map(([actor, { bytes }]) => [actor, bytes]));
    const excess = isBinding ? 0 : totals.bytes - rules.bytes;
    return this.#ofLargest("o", { shares: sizes, excess }, (id) => store.kept(id)?.size ?? 0);
  }

  /** Ids of the largest actors, the oldest of each first, until the excess is gone. @param sizeOf `undefined`: it stays */
  *#ofLargest(
    by: "o" | "a",
    { shares, excess }: { readonly shares: ReadonlyMap<string, number>; readonly excess: number },
    sizeOf: (id: string) => number | undefined,
  ): Iterable<string> {
    let whole = excess;
    for (const { actor, most } of excesses(shares, excess)) {
      let own = most;
      for (const id of this.#options.store.oldest({ by, text: actor })) {
        const size = sizeOf(id);
        if (own <= 0 || whole <= 0 || size === undefined) break;
        own -= size;
        whole -= size;
        yield id;
      }
    }
  }

  async #dropEntries(): Promise<void> {
    const drop = async (ids: readonly string[]): Promise<void> => {
      await this.#removeTrash(ids);
      this.#options.store.remove(ids, true);
    };
    await this.#inTurns(this.#tooOld("entries"), drop);
    await this.#inTurns(this.#entriesToDrop(), drop);
  }

  #entriesToDrop(): Iterable<string> {
    const { store, rules, isBinding } = this.#options;
    const { totals, shares } = store;
    const counts = new Map([...shares].map(([actor, { entries }]) => [actor, entries]));
    const excess = totals.entries - rules.entries;
    return this.#ofLargest("a", { shares: counts, excess }, (id) => (isBinding && store.hasKept(id) ? undefined : 1));
  }

  /** Content without an entry goes with its age too. */
  async #dropUnknown(): Promise<void> {
    const { store, bin, rules, trashPrefix, nowMs } = this.#options;
    const isUnknown = (name: string): boolean => !store.hasKept(name.slice(trashPrefix.length));
    // Only these are looked at: a trash can hold many.
    const items = await bin.list(trashPrefix, isUnknown);
    const since = oldestMs(this.#looks, nowMs(), rules.days);
    const gone = items.filter(({ changed }) => changed < since);
    if (gone.length > 0) await bin.remove(gone.map(({ name }) => name));
  }

  async #giveUp(ids: readonly string[]): Promise<void> {
    await this.#removeTrash(ids);
    this.#options.store.remove(ids);
  }

  async #removeTrash(ids: readonly string[]): Promise<void> {
    const { store, bin, trashName } = this.#options;
    const isInTrash = (row: KeptRow | undefined): boolean => row?.in === "trash";
    const names = ids.filter((id) => isInTrash(store.kept(id))).map(trashName);
    if (names.length > 0) await bin.remove(names);
  }

  async #inTurns(ids: Iterable<string>, work: (ids: readonly string[]) => Promise<void>): Promise<void> {
    for (const some of inGroups(ids)) {
      if (this.#isClosed) return;
      await work(some);
      await yieldToLoop();
    }
  }
}

/**
 * The most bytes that each actor gives up, so that no actor gives up content while another keeps more.
 * @param shares of each actor @param excess what all of them together have too much
 */
function excesses(shares: ReadonlyMap<string, number>, excess: number): { actor: string; most: number }[] {
  if (excess <= 0) return [];
  const sorted = [...shares].sort(([, one], [, other]) => other - one);
  let sum = 0;
  let level = 0;
  for (const [index, [, share]] of sorted.entries()) {
    // Actors from here on keep less than the level that larger ones are cut to.
    if (index > 0 && share <= level) break;
    sum += share;
    level = (sum - excess) / (index + 1);
  }
  return sorted.filter(([, share]) => share > level).map(([actor, share]) => ({ actor, most: share - level }));
}

function* inGroups(ids: Iterable<string>): Iterable<string[]> {
  let group: string[] = [];
  for (const id of ids) {
    if (group.push(id) < TURN) continue;
    yield group;
    group = [];
  }
  if (group.length > 0) yield group;
}

const LOOKS = Buffer.from("looks");

function looksIn({ meta }: Tables): AgeLooks | undefined {
  const row = meta.get(LOOKS);
  const looks = row === undefined ? "damaged" : decode<AgeLooks>(row);
  return looks === "damaged" ? undefined : looks;
}

/** Stores the looks of a new journal. Only inside a transaction, like {@link lookInto}. */
function beginLooks(tables: Tables, looks: AgeLooks): void {
  if (looksIn(tables) === undefined) tables.meta.putSync(LOOKS, encode(looks));
}

function lookInto(tables: Tables, before: AgeLooks, at: { nowMs: number; days: number }): AgeLooks {
  const looks = lookAgain(looksIn(tables) ?? before, at.nowMs, at.days);
  tables.meta.putSync(LOOKS, encode(looks));
  return looks;
}
