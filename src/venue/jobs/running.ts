// The running jobs: admission by number and input size, cancellation, and draining at close.

import { CALLER_SHARE } from "../../core/call/limits.js";
import { Overloaded } from "../../core/errors/errors.js";
import { Job, MAX_INPUT_BYTES, type Run } from "./job.js";

/** Minimum limit on running jobs, where fewer records than this are kept, and on those of one caller. */
const LEAST_RUNNING = 64;
/** Limit for one caller; a single job may exceed it if it runs alone. */
const MAX_CALLER_INPUT_BYTES = MAX_INPUT_BYTES * CALLER_SHARE;
/** Suggested delay before retrying, in milliseconds: jobs are short. */
const RETRY_MS = 1000;

/** The running jobs of one caller. */
interface Load {
  runs: number;
  inputBytes: number;
}

/** The running jobs, with or without a record: bounded in number and input size, in all and by caller; all can be aborted. */
export class RunningJobs {
  readonly #most: number;
  readonly #mostOfCaller: number;
  readonly #runs = new Map<string, Run>();
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
  start<T extends Run>(run: T): T {
    const { id, caller, inputBytes } = run;
    const isHeavy = this.#inputBytes + inputBytes > MAX_INPUT_BYTES;
    if (isHeavy || this.#runs.size >= this.#most) throw new Overloaded("Too many jobs are running", RETRY_MS);
    const own = this.#callers.get(caller) ?? { runs: 0, inputBytes: 0 };
    const isAlone = own.runs === 0;
    if (!isAlone && (own.runs >= this.#mostOfCaller || own.inputBytes + inputBytes > MAX_CALLER_INPUT_BYTES))
      throw new Overloaded("Too many jobs of this caller are running", RETRY_MS);
    this.#runs.set(id, run);
    this.#inputBytes += inputBytes;
    own.runs += 1;
    own.inputBytes += inputBytes;
    this.#callers.set(caller, own);
    run.begin();
    return run;
  }

  end(run: Run): void {
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
    for (const run of this.#runs.values()) if (run instanceof Job) run.announce();
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
