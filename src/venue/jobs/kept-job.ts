// One kept job: its record, its result, and the listeners that wait for its end.

import type { Abortable } from "../../core/call/abortable.js";
import type { JobListener, JobRecord, RecordedJob } from "../../core/ports/job.js";
import { isTerminal } from "../../core/ports/job.js";
import type { CallersJob } from "./callers.js";
import { endRecord, type Outcome } from "./record.js";

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
