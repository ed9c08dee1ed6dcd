// The running jobs: admission by number and input size, cancellation, and draining at close.

import type { Abortable } from "../../core/call/abortable.js";
import type { Cancellation } from "../../core/call/scope.js";
import { Overloaded } from "../../core/errors/errors.js";
import type { KeptJob } from "./kept-job.js";
import { estimateBytes } from "./record-size.js";

/** Maximum bytes of input of all running jobs; a single job may always exceed it if it runs alone. */
const MAX_INPUT_BYTES = 256 * 1024 * 1024;
/** Suggested delay before retrying, in milliseconds: jobs are short. */
const RETRY_MS = 1000;

/** The running jobs, with or without a record: bounded in number and input size, and all of them can be aborted. */
export class RunningJobs {
  readonly #most: number;
  readonly #runs = new Map<string, JobRun>();
  #inputBytes = 0;
  #onIdle: () => void = () => {};

  /** @param most maximum number of concurrent jobs */
  constructor(most: number) {
    this.#most = most;
  }

  get size(): number {
    return this.#runs.size;
  }

  /** @throws Overloaded */
  start(id: string, input: unknown, submitter: Abortable | undefined): JobRun {
    // Capped, so that a larger input can run when nothing else does.
    const inputBytes = Math.min(estimateBytes(input), MAX_INPUT_BYTES);
    const isHeavy = this.#inputBytes + inputBytes > MAX_INPUT_BYTES;
    if (isHeavy || this.#runs.size >= this.#most) throw new Overloaded("Too many jobs are running", RETRY_MS);
    const run = new JobRun(id, inputBytes, submitter);
    this.#runs.set(id, run);
    this.#inputBytes += inputBytes;
    return run;
  }

  end(run: JobRun): void {
    this.#runs.delete(run.id);
    this.#inputBytes -= run.inputBytes;
    run.end();
    if (this.#runs.size === 0) this.#onIdle();
  }

  /** Aborts a job if it is running. */
  abort(id: string): void {
    this.#runs.get(id)?.abort();
  }

  /** Waits `graceMs` for all jobs to end, then aborts the rest and waits `abortMs` for those. */
  async drain(graceMs: number, abortMs: number): Promise<void> {
    await this.#idle(graceMs);
    for (const run of this.#runs.values()) run.abort();
    await this.#idle(abortMs);
    for (const run of this.#runs.values()) run.job?.announce();
  }

  /** Resolves when nothing runs, or after `ms`. */
  async #idle(ms: number): Promise<void> {
    if (this.#runs.size === 0) return;
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, ms);
      this.#onIdle = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  }
}

/** A run of an operation. The venue and the submitter can each abort it. */
export class JobRun implements Cancellation {
  readonly id: string;
  /** Bytes the input keeps in memory until the run ends. */
  readonly inputBytes: number;
  /** The job with its record, if it has one; it may have been deleted. */
  job: KeptJob | undefined;
  #aborted = false;
  #controller: AbortController | undefined;
  readonly #submitter: Abortable | undefined;
  readonly #onAbort = () => this.abort();

  constructor(id: string, inputBytes: number, submitter: Abortable | undefined) {
    this.id = id;
    this.inputBytes = inputBytes;
    this.#submitter = submitter;
    if (submitter?.aborted === true) this.#aborted = true;
    else submitter?.addEventListener("abort", this.#onAbort, { once: true });
  }

  get aborted(): boolean {
    return this.#aborted;
  }

  get signal(): AbortSignal {
    if (this.#controller === undefined) {
      this.#controller = new AbortController();
      if (this.#aborted) this.#controller.abort();
    }
    return this.#controller.signal;
  }

  /** Aborts the operation before its next side effect. */
  abort(): void {
    this.#aborted = true;
    this.#controller?.abort();
  }

  /** Removes the listener from the submitter's signal, which may live much longer. */
  end(): void {
    this.#submitter?.removeEventListener("abort", this.#onAbort);
  }
}
