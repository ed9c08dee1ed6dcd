// Serialises the changes of one owner and commits them in groups.

import type { Clock } from "../../core/clock.js";
import { adapterError } from "../../core/errors/errors.js";
import type { Log } from "../../core/ports/log.js";
import { cellOf, encode } from "../cad3/encoding/cell.js";
import type { CadMap } from "../cad3/maps/hash-map.js";
import type { OwnerKey, OwnerKeys } from "../keys/owner-keys.js";
import type { CellStore } from "../store/cell-store.js";
import { type CellPool, createScope } from "./cells.js";
import type { DriveLimits, LogQuota } from "./drives.js";
import { explain, quotaExceeded, storeUnavailable } from "./fault.js";
import { appendToLog, type LogChange } from "./log/append.js";
import type { Noted } from "./log/entry.js";
import { type DraftBase, type Made, usedBytesOf, withSizes } from "./owner/change-results.js";
import type { Usage } from "./quota.js";
import { drivesOf, loadState, type OwnerState, type PinnedState, stampOf } from "./state.js";
import { createWriteSet, putNew, type WriteSet } from "./write-set.js";

/** Parts shared by all owners. */
export interface EngineParts {
  readonly store: CellStore;
  readonly pool: CellPool;
  readonly usage: Usage;
  readonly keys: OwnerKeys;
  readonly clock: Clock;
  readonly limits: DriveLimits;
  readonly staleMs: number;
  /** How far ahead of the clock times of an import may lie, in ms. */
  readonly futureSkewMs: number;
  readonly logQuota: LogQuota;
  readonly log: Log;
}

/** The drives of an owner during a change. */
export interface Draft extends DraftBase {
  drives: CadMap;
  /** Clock time in ms since the epoch. */
  readonly at: number;
  readonly notes: Noted[];
  /** Changes of entries of the log, in the same swap. */
  readonly edits: LogChange["edits"][number][];
  /** Bytes of all files after the change minus before, where they are known without looking at the trees. */
  addedBytes?: number | undefined;
}

interface Job {
  readonly drive: string;
  /** Replaces the map of drives in the draft, or leaves it unchanged; again where another process was faster. */
  readonly work: (draft: Draft) => Promise<void>;
  /** Answers with what the last run of the work has resolved to. */
  resolve(): void;
  reject(error: unknown): void;
}

/** Maximum changes committed with one swap. */
const MAX_GROUP = 64;
const MAX_WAITING = 1024;
/** Most swaps that others may win where nobody else shares the root. */
const MAX_TRIES = 8;
/**
 * Limits where venues share a root: others can win many times in a row, so a venue retries for this long (ms), half of what a
 * call may take. The most only ends what a store answers without any delay.
 */
const SHARED_TRIES = { ms: 15_000, least: 2, most: 5_000 };

/** Runs the changes of one owner in sequence and knows the current drives. */
export class OwnerQueue {
  readonly #did: string;
  readonly #parts: EngineParts;
  #waiting: Job[] = [];
  #running: Promise<void> | undefined;
  #known: OwnerState | undefined;
  #knownAt = Number.NEGATIVE_INFINITY;
  /** Incremented by every commit: what was read before a commit must not count as newer. */
  #commits = 0;

  constructor(did: string, parts: EngineParts) {
    this.#did = did;
    this.#parts = parts;
  }

  get isIdle(): boolean {
    return this.#running === undefined;
  }

  /** Resolves when no change is waiting or running. */
  async drain(): Promise<void> {
    while (this.#running !== undefined) await this.#running;
  }

  /** The current drives, protected from garbage collection until released. @throws STORE_UNAVAILABLE, BAD_FORMAT */
  async load(options: { readonly mayBeStale: boolean }): Promise<PinnedState> {
    const { clock, staleMs, keys } = this.#parts;
    const isFresh = this.#known !== undefined && clock.monotonicMs() - this.#knownAt < staleMs;
    if (options.mayBeStale && isFresh && this.#known !== undefined) return { state: this.#known, release() {} };
    const commits = this.#commits;
    const accounts = await keys.accounts(this.#did);
    const pinned = await loadState(accounts, this.#parts, this.#known);
    if (commits === this.#commits) this.#know(pinned.state);
    return pinned;
  }

  #know(state: OwnerState): void {
    this.#known = state;
    this.#knownAt = this.#parts.clock.monotonicMs();
  }

  /** Resolves when the change is durable. `work` runs again if another process was faster; if it throws, the change is dropped. */
  change<T>(drive: string, work: (draft: Draft) => Promise<T>): Promise<T> {
    if (this.#waiting.length >= MAX_WAITING) return Promise.reject(storeUnavailable(drive));
    return new Promise((resolve, reject) => {
      const job: Job = {
        drive,
        async work(draft) {
          const value = await work(draft);
          job.resolve = () => resolve(value);
        },
        resolve() {},
        reject,
      };
      this.#waiting.push(job);
      this.#start();
    });
  }

  #start(): void {
    if (this.#running !== undefined || this.#waiting.length === 0) return;
    this.#running = this.#run().finally(() => {
      this.#running = undefined;
      this.#start();
    });
  }

  async #run(): Promise<void> {
    const jobs = this.#waiting.splice(0, MAX_GROUP);
    const open = new Set(jobs);
    try {
      await this.#commit(jobs, open);
      for (const job of open) job.resolve();
    } catch (error) {
      for (const job of open) job.reject(explain(error, { drive: job.drive, path: [] }));
    }
  }

  /**
   * Makes the changes and commits them with one swap. If another process was faster, they are repeated on its result,
   * so that preconditions and existence checks still hold.
   *
   * @param open unanswered jobs; failed ones are removed
   */
  async #commit(jobs: readonly Job[], open: Set<Job>): Promise<void> {
    const { store, clock } = this.#parts;
    let writes = createWriteSet(store);
    const since = clock.monotonicMs();
    const mayTry = (tries: number): boolean => {
      if (store.sharesRoots !== true) return tries < MAX_TRIES;
      const isEarly = tries < SHARED_TRIES.least || clock.monotonicMs() - since < SHARED_TRIES.ms;
      return isEarly && tries < SHARED_TRIES.most;
    };
    for (let tries = 0; mayTry(tries); tries += 1) {
      const waiting = jobs.filter((job) => open.has(job));
      if (await this.#attempt(waiting, open, writes)) return;
      writes = writes.again();
    }
    throw adapterError("CONFLICT", "The drives of the owner changed too often meanwhile");
  }

  /** @returns false if it must be repeated */
  async #attempt(jobs: readonly Job[], open: Set<Job>, writes: WriteSet): Promise<boolean> {
    const { keys, usage } = this.#parts;
    const pinned = await this.load({ mayBeStale: false });
    try {
      // Before any content is requested: fails if the key cannot be opened.
      const active = await keys.active(this.#did);
      const base = this.#base(pinned.state, writes);
      const before = await drivesOf(pinned.state, base.scope);
      const usedBefore = usedBytesOf(pinned.state);
      if (usedBefore !== undefined) usage.learn(before, usedBefore);
      const made = await this.#make(jobs, open, { before, base });
      if (made.drives === before && made.edits.length === 0) return true;
      const key = active ?? (await keys.create(this.#did));
      return await this.#swap(made, pinned.state, { base, key });
    } finally {
      pinned.release();
    }
  }

  async #make(
    jobs: readonly Job[],
    open: Set<Job>,
    { before, base }: { readonly before: CadMap; readonly base: DraftBase },
  ): Promise<Made> {
    let made: Made = { drives: before, usedBytes: undefined, notes: [], edits: [] };
    for (const job of jobs) {
      const { drives } = made;
      const draft: Draft = { ...base, drives, at: this.#parts.clock.nowMs(), notes: [], edits: [] };
      try {
        await job.work(draft);
        if (draft.drives === drives && draft.edits.length === 0) continue;
        await putNew(draft.drives, base);
        const { used: usedBytes, freed } = await this.#checkQuota(draft, drives, job.drive);
        made = {
          ...{ drives: draft.drives, usedBytes },
          ...{ notes: [...made.notes, ...withSizes(draft.notes, freed)], edits: [...made.edits, ...draft.edits] },
        };
      } catch (error) {
        open.delete(job);
        job.reject(explain(error, { drive: job.drive, path: [] }));
      }
    }
    return made;
  }

  #base({ merged }: OwnerState, writes: WriteSet): DraftBase {
    const { find, settle } = writes.overlay;
    const overlay = { settle, find: (hash: string) => find(hash) ?? merged.get(hash) };
    return { writes, overlay, scope: createScope(this.#parts.pool, overlay) };
  }

  /** @returns bytes of all files after the change, and of those that are gone */
  async #checkQuota({ drives, overlay, addedBytes }: Draft, before: CadMap, drive: string) {
    const { usage, limits } = this.#parts;
    const usedBefore = await usage.bytesIn(before, overlay);
    if (addedBytes !== undefined) usage.learn(drives, Math.max(0, usedBefore + addedBytes));
    const { bytes: used, freed } = await usage.bytesAfter(drives, { drives: before, bytes: usedBefore }, overlay);
    if (used <= limits.maxDriveBytes || used <= usedBefore) return { used, freed };
    const requested = used - usedBefore;
    throw quotaExceeded(drive, { used: usedBefore, limit: limits.maxDriveBytes, requested, unit: "bytes" });
  }

  /** Makes a map of drives the owner's current one. @returns false if another process was faster */
  async #swap(
    { drives, usedBytes, ...made }: Made,
    state: OwnerState,
    { base: { scope, writes }, key }: { readonly base: DraftBase; readonly key: OwnerKey },
  ): Promise<boolean> {
    const { logQuota: quota, clock, pool } = this.#parts;
    await writes.putTree(Array.from(state.merged, ([hash, bytes]) => ({ hash, bytes })));
    const bytes = encode(key.sign(drives));
    const own = state.roots.get(key.publicKey) ?? null;
    const ground = { own, all: [...state.roots.values()], scope, writes, quota, nowMs: clock.nowMs() };
    const log = (await appendToLog(made, ground))?.bytes;
    const record = await writes.commit(key.publicKey, own, bytes, { usedBytes, log });
    if (record === "conflict") return false;
    for (const [hash, cell] of writes.smallChange()) pool.keep(hash, cell);
    const roots = new Map(state.roots).set(key.publicKey, record);
    this.#commits += 1;
    this.#know({ stamp: stampOf(roots), roots, drives: cellOf(drives).ref, merged: new Map() });
    return true;
  }
}
