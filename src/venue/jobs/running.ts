import { Overloaded } from "../../core/errors/overload.js";
import { estimateBytes } from "./record-size.js";
import { JobRun } from "./run.js";

/** Maximum bytes of input of all running jobs; a single job may always exceed it if it runs alone. */
const MOST_INPUT_BYTES = 256 * 1024 * 1024;
/** Suggested delay before retrying, in milliseconds: jobs are short. */
const RETRY_MS = 1000;

/** The running jobs, with or without a record: bounded in number and input size, and all of them can be aborted. */
export class RunningJobs {
  readonly #most: number;
  readonly #runs = new Map<string, JobRun>();
  #inputBytes = 0;
  #whenIdle: () => void = () => {};

  /** @param most maximum number of concurrent jobs */
  constructor(most: number) {
    this.#most = most;
  }

  get size(): number {
    return this.#runs.size;
  }

  /** @throws Overloaded */
  start(id: string, input: unknown, submitter: AbortSignal | undefined): JobRun {
    // Capped, so that a larger input can run when nothing else does.
    const inputBytes = Math.min(estimateBytes(input), MOST_INPUT_BYTES);
    const isHeavy = this.#inputBytes + inputBytes > MOST_INPUT_BYTES;
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
    if (this.#runs.size === 0) this.#whenIdle();
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
      this.#whenIdle = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  }
}
