// Indexes jobs by caller.

import type { Page } from "../../core/call/page.js";

/** A job among those of one caller: a link of a list, which is quicker to add and to take out than an entry of a set. */
export interface CallersJob {
  readonly caller: string;
  readonly id: string;
  older: CallersJob | undefined;
  newer: CallersJob | undefined;
}

/** The jobs of one caller. */
interface Jobs {
  newest: CallersJob | undefined;
  count: number;
}

/** Indexes jobs by caller, so that listing one caller's jobs does not scan all of them. */
export class JobCallers {
  readonly #jobs = new Map<string, Jobs>();

  /** Number of callers with at least one job. */
  get size(): number {
    return this.#jobs.size;
  }

  /** Adds a job as the newest of its caller. @returns what {@link remove} takes */
  add(caller: string, id: string): CallersJob {
    let jobs = this.#jobs.get(caller);
    if (jobs === undefined) {
      jobs = { newest: undefined, count: 0 };
      this.#jobs.set(caller, jobs);
    }
    const job: CallersJob = { caller, id, older: jobs.newest, newer: undefined };
    if (jobs.newest !== undefined) jobs.newest.newer = job;
    jobs.newest = job;
    jobs.count += 1;
    return job;
  }

  /** Once for each job. */
  remove(job: CallersJob): void {
    const jobs = this.#jobs.get(job.caller);
    if (jobs === undefined) return;
    if (job.older !== undefined) job.older.newer = job.newer;
    if (job.newer === undefined) jobs.newest = job.older;
    else job.newer.older = job.older;
    jobs.count -= 1;
    if (jobs.count === 0) this.#jobs.delete(job.caller);
  }

  count(caller: string): number {
    return this.#jobs.get(caller)?.count ?? 0;
  }

  /** A page of a caller's job ids, newest first. */
  newest(caller: string, { offset, limit }: Page): string[] {
    const ids: string[] = [];
    let job = this.#jobs.get(caller)?.newest;
    for (let at = 0; job !== undefined && at < offset + limit; at++) {
      if (at >= offset) ids.push(job.id);
      job = job.older;
    }
    return ids;
  }

  clear(): void {
    this.#jobs.clear();
  }
}
