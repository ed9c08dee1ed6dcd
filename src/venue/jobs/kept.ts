import type { JobListener, JobRecord, RecordedJob } from "../../core/ports/job.js";
import { isTerminal } from "../../core/ports/job.js";
import type { Outcome } from "./record.js";

/** Timers of Node fire at once when they are asked to wait longer than this. */
const LONGEST_TIMER_MS = 2_147_483_647;

const MOST_TURNS = 8;

/** A job with its record, and those who wait for its end. */
export class KeptJob implements RecordedJob {
  readonly id: string;
  readonly isPrivate: boolean;
  readonly #onDelivered: (job: KeptJob) => void;
  /** Told once, when the job ends. Most jobs end before anybody waits. */
  #waiting: Set<JobListener> | undefined;
  #record: JobRecord;
  #result: Promise<unknown> = Promise.resolve();
  /** Estimated size of the finished record; 0 while it is not counted. */
  bytes = 0;
  /** Its record does not have all of the output: that goes only to who waits from the start. */
  hidesOutput = false;
  /** Streams that are open on it. */
  watchers = 0;

  constructor(record: JobRecord, isPrivate: boolean, onDelivered: (job: KeptJob) => void) {
    this.id = record.id.slice(2);
    this.isPrivate = isPrivate;
    this.#record = record;
    this.#onDelivered = onDelivered;
  }

  get caller(): string {
    return this.#record.caller;
  }

  get finished(): boolean {
    return isTerminal(this.#record.status);
  }

  get result(): Promise<unknown> {
    return this.#result;
  }

  start(result: Promise<unknown>): void {
    this.#result = result;
    if (this.hidesOutput) void result.catch(() => {}).finally(() => this.#letGo());
    // The record keeps the failure; a surface that asks only for the record must not bring the process down.
    result.catch(() => {});
  }

  /** Keeps nothing of what the record hides. */
  #letGo(): void {
    this.#result = Promise.resolve();
  }

  finish(outcome: Outcome, updated: number): JobRecord {
    const { id, op, name, operation, created, caller, input } = this.#record;
    const common = { id, op, name, operation, status: outcome.status, created, updated, caller, input };
    this.#record = { ...common, ...outcome };
    return this.#record;
  }

  record(): JobRecord {
    return this.#record;
  }

  /** Tells those who wait: the record if it is terminal, else that they wait in vain. */
  announce(): void {
    const record = this.finished ? this.#record : undefined;
    const waiting = this.#waiting ?? [];
    this.#waiting = undefined;
    for (const listener of waiting) listener(record);
  }

  /** @returns takes the listener out again */
  whenEnded(listener: JobListener): () => void {
    this.#waiting ??= new Set();
    this.#waiting.add(listener);
    return () => this.#waiting?.delete(listener);
  }

  /** The record once the job has ended, or as it stands after `ms` or when nobody is left to be told. */
  ended(ms: number, gone?: AbortSignal): Promise<JobRecord> {
    if (this.finished || gone?.aborted === true) return Promise.resolve(this.#record);
    return new Promise((resolve) => {
      const end = () => {
        clearTimeout(timer);
        forget();
        gone?.removeEventListener("abort", end);
        resolve(this.#record);
      };
      const timer = setTimeout(end, Math.min(ms, LONGEST_TIMER_MS));
      const forget = this.whenEnded(end);
      gone?.addEventListener("abort", end, { once: true });
    });
  }

  async settled(ms: number, gone?: AbortSignal): Promise<JobRecord> {
    const result = this.#result;
    // A call that waits for nothing ends within a few turns of the microtask queue: then it needs no timer.
    for (let turn = 0; turn < MOST_TURNS && !this.finished; turn += 1) await undefined;
    const record = await this.ended(ms, gone);
    if (isTerminal(record.status) && gone?.aborted !== true) this.#onDelivered(this);
    if (!this.hidesOutput || record.status !== "COMPLETE") return record;
    return { ...record, output: (await result) ?? record.output };
  }
}
