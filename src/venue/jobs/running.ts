// The running jobs: admission by number and input size, cancellation, and draining at close.

import type { Abortable } from "../../core/call/abortable.js";
import { CALLER_SHARE } from "../../core/call/limits.js";
import type { Cancellation } from "../../core/call/scope.js";
import { Overloaded } from "../../core/errors/errors.js";
import type { Submission } from "../../core/ports/job.js";
import type { KeptJob } from "./kept-job.js";
import { estimateBytes } from "./record-size.js";

/** Minimum limit on running jobs, where fewer records than this are kept, and on those of one caller. */
const LEAST_RUNNING = 64;
/** Maximum bytes of input of all running jobs, and of those of one caller; a single job may exceed either if it runs alone. */
const MAX_INPUT_BYTES = 256 * 1024 * 1024;
const MAX_CALLER_INPUT_BYTES = MAX_INPUT_BYTES * CALLER_SHARE;
/** Suggested delay before retrying, in milliseconds: jobs are short. */
const RETRY_MS = 1000;

/** What runs of one caller. */
interface Load {
  runs: number;
  inputBytes: number;
}

/** The running jobs, with or without a record: bounded in number and input size, in all and by caller; all can be aborted. */
export class RunningJobs {
  readonly #most: number;
  readonly #mostOfCaller: number;
  readonly #runs = new Map<string, JobRun>();
  readonly #callers = new Map<string, Load>();
  #inputBytes = 0;
  #onIdle: () => void = () => {};

  /** @param most maximum number of concurrent jobs, at least {@link LEAST_RUNNING} */
  constructor(most: number) {
    this.#most = Math.max(LEAST_RUNNING, most);
    this.#mostOfCaller = Math.max(LEAST_RUNNING, this.#most * CALLER_SHARE);
  }

  get size(): number {
    return this.#runs.size;
  }

  /** @throws Overloaded */
  start(id: string, { input, caller, signal }: Pick<Submission, "input" | "caller" | "signal">): JobRun {
    // Capped, so that a larger input can run when nothing else does.
    const inputBytes = Math.min(estimateBytes(input), MAX_INPUT_BYTES);
    const isHeavy = this.#inputBytes + inputBytes > MAX_INPUT_BYTES;
    if (isHeavy || this.#runs.size >= this.#most) throw new Overloaded("Too many jobs are running", RETRY_MS);
    const own = this.#callers.get(caller);
    if (own !== undefined && (own.runs >= this.#mostOfCaller || own.inputBytes + inputBytes > MAX_CALLER_INPUT_BYTES))
      throw new Overloaded("Too many jobs of this caller are running", RETRY_MS);
    const run = new JobRun({ id, caller, inputBytes }, signal);
    this.#runs.set(id, run);
    this.#inputBytes += inputBytes;
    if (own === undefined) this.#callers.set(caller, { runs: 1, inputBytes });
    else {
      own.runs += 1;
      own.inputBytes += inputBytes;
    }
    return run;
  }

  end(run: JobRun): void {
    this.#runs.delete(run.id);
    this.#inputBytes -= run.inputBytes;
    const own = this.#callers.get(run.caller);
    if (own === undefined || own.runs === 1) this.#callers.delete(run.caller);
    else {
      own.runs -= 1;
      own.inputBytes -= run.inputBytes;
    }
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
  readonly caller: string;
  /** Bytes the input keeps in memory until the run ends. */
  readonly inputBytes: number;
  /** The job with its record, if it has one; it may have been deleted. */
  job: KeptJob | undefined;
  #aborted = false;
  #controller: AbortController | undefined;
  readonly #submitter: Abortable | undefined;
  readonly #onAbort = () => this.abort();

  constructor(facts: Pick<JobRun, "id" | "caller" | "inputBytes">, submitter: Abortable | undefined) {
    this.id = facts.id;
    this.caller = facts.caller;
    this.inputBytes = facts.inputBytes;
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
