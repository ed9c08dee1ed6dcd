import type { Clock } from "../../core/clock.js";

/** How many records a venue keeps. Running jobs count, but are never dropped. */
export interface RetentionLimits {
  /** Most records. */
  readonly max: number;
  /** Most bytes of finished records, as estimated by `job-record.ts`. */
  readonly maxBytes: number;
  /** How long a finished record is kept, in milliseconds. */
  readonly ttlMs: number;
}

/** What the records stand in. */
export interface RetainedRecords {
  /** Number of records, running jobs included. */
  readonly size: number;
  has(id: string): boolean;
  /** Takes a finished record out. @returns its bytes */
  drop(id: string): number;
}

/** Timers of Node fire at once when they are asked to wait longer than this. */
const LONGEST_TIMER_MS = 2_147_483_647;
/** Entries of dropped records that may stand in the queue before it is cleared of them. */
const MOST_GONE = 256;

/** A finished job in the queue of those to be dropped; of one that is forgotten, nothing else may stay in memory. */
interface Finished {
  readonly id: string;
  readonly expiresAtMs: number;
}

/** Decides which finished records are dropped: the oldest, when they are too old or too many. */
export class JobRetention {
  readonly #clock: Clock;
  readonly #limits: RetentionLimits;
  readonly #records: RetainedRecords;
  /**
   * Oldest first, so that whatever has to go stands at the head; some may have been forgotten before. No Map: finding
   * its first entry takes a walk over all that were deleted in front of it.
   */
  #finished: Finished[] = [];
  #head = 0;
  /** Entries at and after the head whose records were forgotten before their turn. */
  #gone = 0;
  #bytes = 0;
  #timer: NodeJS.Timeout | undefined;

  constructor(clock: Clock, limits: RetentionLimits, records: RetainedRecords) {
    this.#clock = clock;
    this.#limits = limits;
    this.#records = records;
  }

  /** Estimated size of all finished records. */
  get bytes(): number {
    return this.#bytes;
  }

  /** Takes a record that has just become terminal. @returns `false` when it is too large to be kept at all */
  keep(id: string, bytes: number): boolean {
    // One that can never be kept must not drive out all the others first.
    if (bytes > this.#limits.maxBytes) return false;
    this.#bytes += bytes;
    this.#finished.push({ id, expiresAtMs: this.#clock.monotonicMs() + this.#limits.ttlMs });
    this.sweep();
    return true;
  }

  /** Hears of a finished record that was taken out before its turn. */
  forgotten(bytes: number): void {
    this.#bytes -= bytes;
    this.#gone += 1;
    if (this.#gone >= MOST_GONE && this.#gone * 2 >= this.#finished.length - this.#head) this.#compact();
  }

  /** Drops what is too old or too much. */
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
    if (this.#head >= MOST_GONE && this.#head * 2 >= this.#finished.length) {
      this.#finished.splice(0, this.#head);
      this.#head = 0;
    }
  }

  /** Forgets everything. */
  clear(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#finished = [];
    this.#head = 0;
    this.#gone = 0;
    this.#bytes = 0;
  }

  /** Without this, a caller who deletes all its jobs, or has only private ones, would fill the queue. */
  #compact(): void {
    this.#finished = this.#finished.slice(this.#head).filter(({ id }) => this.#records.has(id));
    this.#head = 0;
    this.#gone = 0;
  }

  /** An idle venue drops old records too: they may hold what somebody read. */
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
