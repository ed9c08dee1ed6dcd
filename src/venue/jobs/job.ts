// One run of an operation: its cancellation, and its record where it has one. The runs under way, and who may begin one.

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
import type { JobKeeper, KeptJob } from "./keeper.js";
import { endRecord, estimateBytes, type Outcome } from "./record.js";

/** Maximum bytes of input of all running jobs; a single job may exceed it if it runs alone. */
const MAX_INPUT_BYTES = 256 * 1024 * 1024;
/** setTimeout's maximum delay (2^31 - 1 ms); longer delays fire immediately. */
const LONGEST_TIMER_MS = 2_147_483_647;

const MAX_TURNS = 8;

/** A run of an operation without a record. The venue and the submitter can each abort it. */
export class Run implements Cancellation {
  readonly id: string;
  readonly caller: string;
  /** Bytes the input keeps in memory until the run ends. */
  readonly inputBytes: number;
  #aborted = false;
  #controller: AbortController | undefined;
  readonly #submitter: Abortable | undefined;
  readonly #onAbort = () => this.abort();

  constructor(id: string, { input, caller, context, signal = context.signal }: Submission) {
    this.id = id;
    this.caller = caller;
    // Capped, so that a larger input can run when nothing else does.
    this.inputBytes = Math.min(estimateBytes(input), MAX_INPUT_BYTES);
    this.#submitter = signal;
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

  /** Follows the submitter's signal. */
  begin(): void {
    if (this.#submitter?.aborted === true) this.#aborted = true;
    else this.#submitter?.addEventListener("abort", this.#onAbort, { once: true });
  }

  /** Removes the listener from the submitter's signal, which may live much longer. */
  end(): void {
    this.#submitter?.removeEventListener("abort", this.#onAbort);
  }
}

/** Hears of each job that begins and ends, but for private ones. The function must not throw. @param owners as of {@link Job} */
export type HearJob = (record: JobRecord, owners: readonly string[]) => void;

/** How a job ends: its hooks and rules. */
export interface JobSettling {
  readonly hear: HearJob | undefined;
  readonly keeper: JobKeeper | undefined;
  readonly hidesInput: boolean;
  /** The record lacks part of the output, which only callers waiting from the start receive. */
  readonly hidesOutput: boolean;
  onSettled(job: Job, isDelivered: boolean): void;
}

/** A run with its record and the listeners waiting for its end. */
export class Job extends Run implements RecordedJob, KeptJob {
  readonly isPrivate: boolean;
  /**
   * Callers that may see the job: DIDs, and `narrowedTo` of a caller. Besides the caller, the maker of its access token, or the
   * UCANs that narrow it.
   */
  readonly owners: readonly string[];
  readonly #settling: JobSettling;
  #awaiting = 0;
  /** Listeners, called once when the job ends. Created lazily: most jobs end before anyone waits. */
  #waiting: Set<JobListener> | undefined;
  #record: JobRecord;
  #result: Promise<unknown> = Promise.resolve();
  /** Number of event streams open on the job. */
  watchers = 0;
  /** Why its caller has cancelled it. */
  cancelReason: string | undefined;
  /** Whether it has a keeper, since its id was told while it ran. */
  isKept = false;

  constructor(id: string, submission: Submission, record: JobRecord, settling: JobSettling) {
    super(id, submission);
    const { access, narrowedTo } = submission.context;
    this.isPrivate = submission.private === true;
    this.owners = [...new Set([record.caller, access?.maker, narrowedTo])].filter((one) => one !== undefined);
    this.#record = record;
    this.#settling = settling;
  }

  /** Bytes of the input as the record has it; `undefined`: less than were sent. */
  get recordedInputBytes(): number | undefined {
    return this.#settling.hidesInput ? undefined : this.inputBytes;
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
    this.#tell();
    this.#result = result;
    const dropOutput = () => {
      if (this.#settling.hidesOutput) this.#result = Promise.resolve();
    };
    // The record keeps the failure; without a handler the rejection would crash the process.
    result.then(dropOutput, dropOutput);
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
    if (this.finished) this.#tell();
  }

  #tell(): void {
    if (!this.isPrivate) this.#settling.hear?.(this.#record, this.owners);
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
    const { keeper } = this.#settling;
    let record = this.finished ? this.#record : await this.ended(ms, gone);
    if (keeper !== undefined && !isTerminal(record.status)) {
      this.isKept = true;
      await keeper.begin(this);
      record = this.#record;
    }
    this.#awaiting -= 1;
    // The job may have ended just after the wait did.
    if (this.finished) this.#settling.onSettled(this, isTerminal(record.status) && gone?.aborted !== true);
    if (!this.#settling.hidesOutput || record.status !== "COMPLETE") return record;
    return { ...record, output: (await result) ?? record.output };
  }
}

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
  readonly #runs = new Set<Run>();
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
    const { caller, inputBytes } = run;
    const isHeavy = this.#inputBytes + inputBytes > MAX_INPUT_BYTES;
    if (isHeavy || this.#runs.size >= this.#most) throw new Overloaded("Too many jobs are running", RETRY_MS);
    const own = this.#callers.get(caller) ?? { runs: 0, inputBytes: 0 };
    const isAlone = own.runs === 0;
    if (!isAlone && (own.runs >= this.#mostOfCaller || own.inputBytes + inputBytes > MAX_CALLER_INPUT_BYTES))
      throw new Overloaded("Too many jobs of this caller are running", RETRY_MS);
    this.#runs.add(run);
    this.#inputBytes += inputBytes;
    own.runs += 1;
    own.inputBytes += inputBytes;
    this.#callers.set(caller, own);
    run.begin();
    return run;
  }

  end(run: Run): void {
    this.#runs.delete(run);
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

  /** Waits `graceMs` for all jobs to end, then aborts the rest and waits `abortMs` for those. */
  async drain(graceMs: number, abortMs: number): Promise<void> {
    await this.#idle(graceMs);
    for (const run of this.#runs) run.abort();
    await this.#idle(abortMs);
    for (const run of this.#runs) if (run instanceof Job) run.announce();
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
