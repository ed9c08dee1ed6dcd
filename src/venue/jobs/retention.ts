// Bounds the records of finished jobs by age, number and size.

import type { Clock } from "../../core/clock.js";

/** Limits on the records a venue keeps. Running jobs count towards `max`, but are never dropped. */
export interface RetentionLimits {
  /** Maximum number of records. */
  readonly max: number;
  /** Maximum bytes of finished records, as estimated by `recordBytes` (`record.ts`). */
  readonly maxBytes: number;
  /** How long a finished record is kept, in milliseconds. */
  readonly ttlMs: number;
}

/** The collection the records are dropped from. */
export interface RetainedRecords {
  /** Number of records, running jobs included. */
  readonly size: number;
  has(id: string): boolean;
  /** Removes a finished record. @returns its bytes */
  drop(id: string): number;
}

/** setTimeout's maximum delay (2^31 - 1 ms); longer delays fire immediately. */
const LONGEST_TIMER_MS = 2_147_483_647;
/** Stale queue entries (of records already removed) from which the queue is compacted. */
const MAX_GONE = 256;

/** A queue entry of a finished job. It holds only the id: nothing else of a forgotten job may stay in memory. */
interface Finished {
  readonly id: string;
  readonly expiresAtMs: number;
}

/** Decides which finished records are dropped: the oldest, once they expire or exceed a limit. */
export class JobRetention {
  readonly #clock: Clock;
  readonly #limits: RetentionLimits;
  readonly #records: RetainedRecords;
  /**
   * Oldest first, so records to drop are at the head; some may have been removed already. Not a Map: finding its first
   * entry walks over all entries deleted before it.
   */
  #finished: Finished[] = [];
  #head = 0;
  /** Number of stale entries at or after the head. */
  #gone = 0;
  #bytes = 0;
  #timer: NodeJS.Timeout | undefined;

  constructor(clock: Clock, limits: RetentionLimits, records: RetainedRecords) {
    this.#clock = clock;
    this.#limits = limits;
    this.#records = records;
  }

  /** Estimated bytes of all finished records. */
  get bytes(): number {
    return this.#bytes;
  }

  /** Adds a record that has just become terminal. @returns `false` when it is too large to be kept at all */
  keep(id: string, bytes: number): boolean {
    // A record that cannot be kept must not evict all the others first.
    if (bytes > this.#limits.maxBytes) return false;
    this.#bytes += bytes;
    this.#finished.push({ id, expiresAtMs: this.#clock.monotonicMs() + this.#limits.ttlMs });
    this.sweep();
    return true;
  }

  /** Notes that a finished record was removed before it expired. */
  noteRemoved(bytes: number): void {
    this.#bytes -= bytes;
    this.#gone += 1;
    if (this.#gone >= MAX_GONE && this.#gone * 2 >= this.#finished.length - this.#head) this.#compact();
  }

  /** Drops expired records and those over the limits. */
  sweep(): void {
    const { max, maxBytes } = this.#limits;
    const nowMs = this.#clock.monotonicMs();
    for (let next = this.#finished[this.#head]; next !== undefined; next = this.#finished[this.#head]) {
      const isGone = !this.#records.has(next.id);
      if (!isGone && next.expiresAtMs > nowMs && this.#records.size <= max && this.#bytes <= maxBytes) {
        this.#sweepLater(next.expiresAtMs - nowMs);
        break;
      }
      this.#head += 1;
      if (isGone) this.#gone -= 1;
      else this.#bytes -= this.#records.drop(next.id);
    }
    if (this.#head >= MAX_GONE && this.#head * 2 >= this.#finished.length) {
      this.#finished.splice(0, this.#head);
      this.#head = 0;
    }
  }

  clear(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#finished = [];
    this.#head = 0;
    this.#gone = 0;
    this.#bytes = 0;
  }

  /**
   * Removes stale entries: a caller who deletes all its jobs, or has only private ones, would otherwise fill the
   * queue.
   */
  #compact(): void {
    this.#finished = this.#finished.slice(this.#head).filter(({ id }) => this.#records.has(id));
    this.#head = 0;
    this.#gone = 0;
  }

  /** Schedules a sweep: an idle venue must drop expired records too, since they may hold file contents. */
  #sweepLater(delayMs: number): void {
    if (this.#timer !== undefined) return;
    this.#timer = setTimeout(
      () => {
        this.#timer = undefined;
        this.sweep();
      },
      Math.min(delayMs + 1, LONGEST_TIMER_MS),
    );
    this.#timer.unref();
  }
}
