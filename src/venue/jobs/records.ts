// The records of jobs, in memory only: by id and by owner. Finished ones are bounded by age, number and size.

import type { Page } from "../../core/call/page.js";
import type { Clock } from "../../core/clock.js";
import { Oldest } from "../../drive/oldest.js";
import type { Job } from "./job.js";
import { recordBytes } from "./record.js";

/** Limits on the records a venue keeps. Running jobs count towards `max`, but are never dropped. */
export interface RetentionLimits {
  /** Maximum number of records. */
  readonly max: number;
  /** Maximum bytes of finished records, as estimated by `recordBytes`. */
  readonly maxBytes: number;
  /** How long a finished record is kept, in milliseconds. */
  readonly ttlMs: number;
}

interface Finished {
  readonly bytes: number;
  readonly expiresAtMs: number;
}

/** setTimeout's maximum delay (2^31 - 1 ms); longer delays fire immediately. */
const LONGEST_TIMER_MS = 2_147_483_647;

export class JobRecords {
  readonly #clock: Clock;
  readonly #limits: RetentionLimits;
  readonly #jobs = new Map<string, Job>();
  /** Ids of jobs that are not private, by owner, oldest first. */
  readonly #owned = new Map<string, Set<string>>();
  /** Finished jobs by id, in the order in which they expire. */
  readonly #finished = new Map<string, Finished>();
  readonly #oldest = new Oldest(this.#finished);
  #bytes = 0;
  #timer: NodeJS.Timeout | undefined;

  constructor(clock: Clock, limits: RetentionLimits) {
    this.#clock = clock;
    this.#limits = limits;
  }

  /** Number of records, running jobs included. */
  get size(): number {
    return this.#jobs.size;
  }

  /** Estimated bytes of all finished records. */
  get bytes(): number {
    return this.#bytes;
  }

  /** Number of owners of listed jobs. */
  get owners(): number {
    return this.#owned.size;
  }

  /** Drops records that have expired before it looks. */
  get(id: string): Job | undefined {
    this.sweep();
    return this.#jobs.get(id);
  }

  /** A page of an owner's job ids, newest first, and how many there are. */
  list(owner: string, { offset, limit }: Page): { items: string[]; total: number } {
    this.sweep();
    const ids = [...(this.#owned.get(owner) ?? [])].reverse();
    return { items: ids.slice(offset, offset + limit), total: ids.length };
  }

  add(job: Job): void {
    this.#jobs.set(job.id, job);
    if (job.isPrivate) return;
    for (const owner of job.owners) {
      const ids = this.#owned.get(owner);
      if (ids === undefined) this.#owned.set(owner, new Set([job.id]));
      else ids.add(job.id);
    }
  }

  /** Bounds a record that has become terminal. One that is too large by itself is dropped: it must not evict all others first. */
  keep(job: Job): void {
    // Missing if it was deleted, or the store closed, meanwhile.
    if (!this.#jobs.has(job.id) || this.#finished.has(job.id)) return;
    const bytes = recordBytes(job.record(), job.recordedInputBytes);
    if (bytes > this.#limits.maxBytes) {
      this.remove(job.id);
      return;
    }
    this.#bytes += bytes;
    this.#finished.set(job.id, { bytes, expiresAtMs: this.#clock.monotonicMs() + this.#limits.ttlMs });
    this.sweep();
  }

  remove(id: string): void {
    const job = this.#jobs.get(id);
    if (job === undefined) return;
    this.#jobs.delete(id);
    this.#bytes -= this.#finished.get(id)?.bytes ?? 0;
    this.#finished.delete(id);
    for (const owner of job.isPrivate ? [] : job.owners) {
      const ids = this.#owned.get(owner);
      ids?.delete(id);
      if (ids?.size === 0) this.#owned.delete(owner);
    }
  }

  /** Drops expired records and those over the limits, the oldest first. */
  sweep(): void {
    const { max, maxBytes } = this.#limits;
    const nowMs = this.#clock.monotonicMs();
    for (let id = this.#oldest.key; id !== undefined; id = this.#oldest.key) {
      const { expiresAtMs = 0 } = this.#finished.get(id) ?? {};
      if (expiresAtMs > nowMs && this.#jobs.size <= max && this.#bytes <= maxBytes) {
        this.#sweepLater(expiresAtMs - nowMs);
        return;
      }
      this.remove(id);
    }
  }

  clear(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    for (const id of this.#jobs.keys()) this.remove(id);
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
