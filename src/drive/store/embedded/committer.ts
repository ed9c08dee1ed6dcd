import type { Tables } from "../tables.js";
import type { PackWriter } from "./pack-writer.js";

/** Jobs of one transaction. */
const MAX_JOBS = 64;

interface Waiting {
  readonly run: () => void;
  readonly done: () => void;
  readonly fail: (error: unknown) => void;
}

/** Runs what waits in one transaction: files are flushed first, so that it names only what is durable. */
export class Committer {
  readonly #tables: Tables;
  readonly #packs: PackWriter;
  #waiting: Waiting[] = [];
  #running: Promise<void> | undefined;

  constructor(tables: Tables, packs: PackWriter) {
    this.#tables = tables;
    this.#packs = packs;
  }

  /** @param job is run inside a transaction and must not wait; when it throws, all of the transaction fail */
  run<T>(job: () => T): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      const results: T[] = [];
      const done = (): void => results.slice(-1).forEach((result) => void resolve(result));
      this.#waiting.push({ run: () => void results.push(job()), done, fail: reject });
      this.#running ??= this.#drain();
    });
  }

  /** Waits for what has been started. */
  async idle(): Promise<void> {
    await this.#running;
  }

  async #drain(): Promise<void> {
    // Those of the same turn go together.
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
