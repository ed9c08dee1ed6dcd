// The running jobs: admission by number and input size, cancellation, and draining at close.

import { CALLER_SHARE } from "../../core/call/limits.js";
import type { Abortable, Cancellation } from "../../core/call/scope.js";
import { Overloaded } from "../../core/errors/errors.js";
import {
  isTerminal,
  type JobListener,
  type JobRecord,
  type RecordedJob,
  type Submission,
} from "../../core/ports/job.js";
import { type CallersJob, endRecord, estimateBytes, type Outcome } from "./record.js";

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

/** setTimeout's maximum delay (2^31 - 1 ms); longer delays fire immediately. */
const LONGEST_TIMER_MS = 2_147_483_647;

const MAX_TURNS = 8;

/** Hears of each job that begins and ends, but for private ones. It must not throw. @param owners as of {@link KeptJob} */
export type HearJob = (record: JobRecord, owners: readonly string[]) => void;

/** What goes with a job besides its record. */
export interface JobFacts {
  /** Bare hex. */
  readonly id: string;
  readonly isPrivate: boolean;
  /** Who else owns it: the maker of the access token that it was called with, or the UCANs that narrow the caller. */
  readonly others: readonly (string | undefined)[];
  readonly hear?: HearJob | undefined;
}

/** A job with its record and the listeners waiting for its end. */
export class KeptJob implements RecordedJob {
  readonly id: string;
  readonly isPrivate: boolean;
  /** Who may see it: DIDs, and `narrowedTo` of a caller. */
  readonly owners: readonly string[];
  readonly #onSettled: (job: KeptJob, isDelivered: boolean) => void;
  #awaiting = 0;
  /** Listeners, called once when the job ends. Created lazily: most jobs end before anyone waits. */
  #waiting: Set<JobListener> | undefined;
  #record: JobRecord;
  #result: Promise<unknown> = Promise.resolve();
  /** Estimated bytes of the finished record; 0 while it is not counted. */
  bytes = 0;
  /** The record lacks part of the output, which only callers waiting from the start receive. */
  hidesOutput = false;
  /** Its places in the lists of its owners. */
  listed: readonly CallersJob[] = [];
  /** Number of event streams open on the job. */
  watchers = 0;

  readonly #hear: HearJob | undefined;

  constructor(
    record: JobRecord,
    { id, isPrivate, others, hear }: JobFacts,
    onSettled: (job: KeptJob, isDelivered: boolean) => void,
  ) {
    this.id = id;
    this.isPrivate = isPrivate;
    this.owners = [...new Set([record.caller, ...others])].filter((one) => one !== undefined);
    this.#record = record;
    this.#hear = isPrivate ? undefined : hear;
    this.#onSettled = onSettled;
  }

  get caller(): string {
    return this.#record.caller;
  }

  get finished(): boolean {
    return isTerminal(this.#record.status);
  }

  /** Whether somebody waits in {@link settled}. */
  get isAwaited(): boolean {
    return this.#awaiting > 0;
  }

  get result(): Promise<unknown> {
    return this.#result;
  }

  start(result: Promise<unknown>): void {
    this.#hear?.(this.#record, this.owners);
    this.#result = result;
    if (this.hidesOutput) void result.catch(() => {}).finally(() => this.#dropOutput());
    // The record keeps the failure; without a handler the rejection would crash the process.
    result.catch(() => {});
  }

  /** Drops the reference to output that the record leaves out. */
  #dropOutput(): void {
    this.#result = Promise.resolve();
  }

  finish(outcome: Outcome, updated: number): void {
    this.#record = endRecord(this.#record, outcome, updated);
  }

  record(): JobRecord {
    return this.#record;
  }

  /** Notifies listeners: with the record if it is terminal, else with `undefined`, as no end will come. */
  announce(): void {
    const record = this.finished ? this.#record : undefined;
    const waiting = this.#waiting ?? [];
    this.#waiting = undefined;
    for (const listener of waiting) listener(record);
    if (this.finished) this.#hear?.(this.#record, this.owners);
  }

  /** Registers a listener for the end. @returns a function that removes it */
  onEnd(listener: JobListener): () => void {
    this.#waiting ??= new Set();
    this.#waiting.add(listener);
    return () => this.#waiting?.delete(listener);
  }

  /** Resolves with the record once the job has ended, after `ms`, or when `gone` aborts, whichever is first. */
  ended(ms: number, gone?: Abortable): Promise<JobRecord> {
    if (this.finished || gone?.aborted === true) return Promise.resolve(this.#record);
    return new Promise((resolve) => {
      const end = () => {
        clearTimeout(timer);
        forget();
        gone?.removeEventListener("abort", end);
        resolve(this.#record);
      };
      const timer = setTimeout(end, Math.min(ms, LONGEST_TIMER_MS));
      const forget = this.onEnd(end);
      gone?.addEventListener("abort", end, { once: true });
    });
  }

  async settled(ms: number, gone?: Abortable): Promise<JobRecord> {
    const result = this.#result;
    this.#awaiting += 1;
    // Operations without I/O end within a few microtasks, and then no timer is needed.
    for (let turn = 0; turn < MAX_TURNS && !this.finished; turn += 1) await undefined;
    const record = this.finished ? this.#record : await this.ended(ms, gone);
    this.#awaiting -= 1;
    // It may have ended in the instant since the wait did.
    if (this.finished) this.#onSettled(this, isTerminal(record.status) && gone?.aborted !== true);
    if (!this.hidesOutput || record.status !== "COMPLETE") return record;
    return { ...record, output: (await result) ?? record.output };
  }
}
