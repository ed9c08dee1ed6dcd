import { Overloaded } from "../../core/errors/overload.js";
import { estimateBytes } from "./record-size.js";
import { JobRun } from "./run.js";

/** Input of all that runs, in bytes; one job alone may always have more. */
const MOST_INPUT_BYTES = 256 * 1024 * 1024;
/** What is refused is told to come back so soon: jobs are short. */
const RETRY_MS = 1000;

/** The jobs that run at this moment, with or without a record: a bounded number, all of which can be stopped. */
export class RunningJobs {
  readonly #most: number;
  readonly #runs = new Map<string, JobRun>();
  #inputBytes = 0;
  #whenIdle: () => void = () => {};

  /** @param most how many may run at once */
  constructor(most: number) {
    this.#most = most;
  }

  get size(): number {
    return this.#runs.size;
  }

  /** @throws Overloaded */
  start(id: string, input: unknown, submitter: AbortSignal | undefined): JobRun {
    // Cut off, so that one with more can run when nothing else does.
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

  /** Stops one that runs, if it does. */
  abort(id: string): void {
    this.#runs.get(id)?.abort();
  }

  /** Lets all of them end for a while, then stops those that have not, and lets these end for another while. */
  async drain(graceMs: number, abortMs: number): Promise<void> {
    await this.#idle(graceMs);
    for (const run of this.#runs.values()) run.abort();
    await this.#idle(abortMs);
    for (const run of this.#runs.values()) run.job?.announce();
  }

  /** Settles when nothing runs, or after `ms`. */
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
