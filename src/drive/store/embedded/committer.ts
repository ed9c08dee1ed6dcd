// Group commit of the embedded store.

import type { Tables } from "../tables.js";
import type { PackWriter } from "./pack-writer.js";

/** Maximum jobs per transaction. */
const MAX_JOBS = 64;

interface Waiting {
  readonly run: () => void;
  readonly done: () => void;
  readonly fail: (error: unknown) => void;
}

/**
 * Runs waiting jobs in one transaction. Files are flushed first, so that the transaction references only durable data.
 */
export class Committer {
  readonly #tables: Tables;
  readonly #packs: PackWriter;
  #waiting: Waiting[] = [];
  #running: Promise<void> | undefined;

  constructor(tables: Tables, packs: PackWriter) {
    this.#tables = tables;
    this.#packs = packs;
  }

  /** @param job runs inside a transaction, synchronously; if it throws, all jobs of the transaction fail */
  run<T>(job: () => T): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      const results: T[] = [];
      const done = (): void => results.slice(-1).forEach((result) => void resolve(result));
      this.#waiting.push({ run: () => void results.push(job()), done, fail: reject });
      this.#running ??= this.#drain();
    });
  }

  /** Waits for all started transactions. */
  async idle(): Promise<void> {
    await this.#running;
  }

  async #drain(): Promise<void> {
    // Jobs of the same tick share a transaction.
    await Promise.resolve();
    for (let jobs = this.#waiting.splice(0, MAX_JOBS); jobs.length > 0; jobs = this.#waiting.splice(0, MAX_JOBS)) {
      await this.#commit(jobs);
    }
    this.#running = undefined;
  }

  async #commit(jobs: readonly Waiting[]): Promise<void> {
    try {
      const durable = await this.#packs.sync();
      this.#tables.env.transactionSync(() => {
        if (durable !== undefined) this.#packs.record(durable);
        for (const { run } of jobs) run();
      });
    } catch (error) {
      for (const { fail } of jobs) fail(error);
      return;
    }
    for (const { done } of jobs) done();
  }
}
