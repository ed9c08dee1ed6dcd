// Keeps a journal within its quota: gives up the oldest content and entries, in turns, away from the calls.

import { timeOfId } from "../core/entry-id.js";
import { yieldToLoop } from "../core/io.js";
import type { TrashFolder } from "../core/ports/changes/journal-writer.js";
import type { KeptRow } from "./rows.js";
import type { JournalStore } from "./store.js";

/** Limits of a journal. */
export interface PruneRules {
  /** Of kept content. */
  readonly bytes: number;
  readonly entries: number;
  readonly days: number;
}

const DAY_MS = 86_400_000;
/** Ids that are given up in one transaction. */
const TURN = 64;
const WAKE_MS = 500;
/** How often it looks for what has become too old. */
const LOOK_MS = 3_600_000;

export interface PrunerOptions {
  readonly store: JournalStore;
  readonly bin: TrashFolder;
  readonly rules: PruneRules;
  /** Nothing goes before its time. */
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
  #lookedMs = 0;
  #isClosed = false;

  constructor(options: PrunerOptions) {
    this.#options = options;
  }

  /** Whether content of this size may be kept at all. */
  room(bytes: number): "yes" | "apart" | "no" {
    const { rules, isBinding, store } = this.#options;
    if (isBinding) return store.totals.bytes + bytes <= rules.bytes ? "yes" : "no";
    return this.isApart(bytes) ? "apart" : "yes";
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
    // It must not keep the process alive: a later start looks again.
    this.#timer.unref();
  }

  /** Gives up the oldest content in the trash, for room on its disk. @returns whether there was any */
  async freeSpace(): Promise<boolean> {
    const { store, isBinding } = this.#options;
    if (isBinding) return false;
    store.flush();
    const oldest = store.allKept().filter(([, row]) => row.in === "trash");
    if (oldest.length === 0) return false;
    await this.#giveUp(oldest.slice(0, 1).map(([id]) => id));
    return true;
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    clearTimeout(this.#timer);
    await this.#running;
  }

  async #run(): Promise<void> {
    const { store, rules, isBinding, nowMs } = this.#options;
    const { entries, bytes } = store.totals;
    const isDue = nowMs() - this.#lookedMs > LOOK_MS;
    if (entries <= rules.entries && (bytes <= rules.bytes || isBinding) && !isDue) return;
    this.#lookedMs = nowMs();
    if (isDue) await this.#dropUnknown();
    await this.#giveUpContent();
    await this.#dropEntries();
  }

  /** Content that is too old, then the oldest until the rest fits. */
  async #giveUpContent(): Promise<void> {
    const { store, rules, isBinding, nowMs } = this.#options;
    const oldestMs = nowMs() - rules.days * DAY_MS;
    const kept = store.allKept();
    const newestApart = kept.findLast(([, row]) => row.apart === true)?.[0];
    let excess = isBinding ? 0 : store.totals.bytes - rules.bytes;
    const gone = kept.filter(([id, row]) => {
      if (row.apart === true) return id !== newestApart || timeOfId(id) < nowMs() - DAY_MS;
      const isGone = timeOfId(id) < oldestMs || excess > 0;
      if (isGone) excess -= row.size;
      return isGone;
    });
    await this.#inTurns(
      gone.map(([id]) => id),
      (ids) => this.#giveUp(ids),
    );
  }

  async #dropEntries(): Promise<void> {
    const { store, rules, isBinding, nowMs } = this.#options;
    const oldestMs = nowMs() - rules.days * DAY_MS;
    let excess = store.totals.entries - rules.entries;
    const gone: string[] = [];
    for (const id of store.oldest()) {
      const isOld = timeOfId(id) < oldestMs;
      if (!isOld && (excess <= 0 || (isBinding && store.kept(id) !== undefined))) break;
      gone.push(id);
      excess -= 1;
    }
    await this.#inTurns(gone, async (ids) => {
      await this.#removeTrash(ids);
      store.remove(ids, true);
    });
  }

  /** Content without an entry goes with its age too. */
  async #dropUnknown(): Promise<void> {
    const { store, bin, rules, trashPrefix, nowMs } = this.#options;
    const isUnknown = (name: string): boolean => store.kept(name.slice(trashPrefix.length)) === undefined;
    // Only these are looked at: a trash can hold many.
    const items = await bin.list(trashPrefix, isUnknown);
    const oldestMs = nowMs() - rules.days * DAY_MS;
    const gone = items.filter(({ changed }) => changed < oldestMs);
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

  async #inTurns(ids: readonly string[], work: (ids: readonly string[]) => Promise<void>): Promise<void> {
    for (let start = 0; start < ids.length && !this.#isClosed; start += TURN) {
      await work(ids.slice(start, start + TURN));
      await yieldToLoop();
    }
  }
}
