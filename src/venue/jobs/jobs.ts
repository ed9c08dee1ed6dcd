// The job store of a venue: starts, tracks, cancels and forgets jobs; records are in memory only and bounded.

import type { Caller } from "../../core/call/caller.js";
import type { Page, Paged } from "../../core/call/page.js";
import type { Clock } from "../../core/clock.js";
import { Overloaded } from "../../core/errors/errors.js";
import { unknownOperation } from "../../core/errors/texts.js";
import type {
  CallerJobs,
  JobListener,
  JobLookup,
  JobRecord,
  JobRefusal,
  JobWatch,
  RecordedJob,
  StartedJob,
  Submission,
} from "../../core/ports/job.js";
import type { Catalogue, HostedOperation } from "../catalogue/catalogue.js";
import {
  type CallersJob,
  createJobIds,
  failureOf,
  JobCallers,
  type Outcome,
  outcomeOf,
  recordBytes,
  startRecord,
} from "./record.js";
import { JobRetention, type RetentionLimits } from "./retention.js";
import { type HearJob, type JobRun, KeptJob, RunningJobs } from "./running.js";

export interface JobLimits extends RetentionLimits {
  /** Time a cancellation waits for the job to end, in milliseconds. */
  readonly inlineWaitMs: number;
}

export interface JobsOptions {
  readonly catalogue: Catalogue;
  readonly clock: Clock;
  readonly limits: JobLimits;
  /** DID that anonymous callers share. */
  readonly publicDid: string;
  readonly onChange?: HearJob | undefined;
  /** Whether anonymous callers may list jobs; the list has the jobs of all anonymous callers. */
  readonly listsAnonymous: boolean;
  /** Logs a failure its caller sees only as `INTERNAL`. The second argument is the id the caller was shown. */
  readonly logInternal: (error: unknown, requestId: string) => void;
}

/** Creates the job store of a venue. */
export function createJobs(options: JobsOptions): Jobs {
  return new Jobs(options);
}

/** Maximum open event streams; each occupies a connection. */
const MAX_WATCHERS = 512;
const MAX_WATCHERS_OF_JOB = 32;
/** Suggested delay before retrying a refused request, in milliseconds. */
const RETRY_MS = 1000;
/** Time that closing waits for cancelled jobs, in milliseconds: a commit in progress may need a flush. */
const STOP_MS = 1000;

/** Whose jobs a caller sees. */
const ownerOf = ({ did, narrowedTo = did }: Caller): string => narrowedTo;

const NOWHERE: readonly CallersJob[] = [];

/** The job store of a venue, in memory only: starts, tracks, cancels and forgets jobs. Ids are bare lower-case hex. */
export class Jobs implements CallerJobs {
  readonly #options: JobsOptions;
  readonly #nextId = createJobIds();
  readonly #jobs = new Map<string, KeptJob>();
  readonly #callers = new JobCallers();
  readonly #retention: JobRetention;
  readonly #running: RunningJobs;
  readonly #onSettled = (job: KeptJob, isDelivered: boolean) => (isDelivered ? this.#delivered(job) : this.#keep(job));
  #watchers = 0;
  #closing: Promise<void> | undefined;

  constructor(options: JobsOptions) {
    this.#options = options;
    this.#running = new RunningJobs(options.limits.max);
    const jobs = this.#jobs;
    this.#retention = new JobRetention(options.clock, options.limits, {
      get size() {
        return jobs.size;
      },
      has: (id) => jobs.has(id),
      drop: (id) => this.#takeOut(id),
    });
  }

  /** Number of records, running jobs included. */
  get size(): number {
    return this.#jobs.size;
  }

  /** Estimated bytes of all finished records. */
  get bytes(): number {
    return this.#retention.bytes;
  }

  /** Number of callers with listed jobs. */
  get users(): number {
    return this.#callers.size;
  }

  /** Number of running jobs, including those without a record. */
  get running(): number {
    return this.#running.size;
  }

  /** Starts a job without a record, for callers who could never ask for it. @throws as `submit` does */
  run(submission: Submission): StartedJob {
    const operation = this.#operation(submission);
    const run = this.#start(submission);
    return { id: run.id, result: this.#perform(run, operation, submission) };
  }

  /** Starts a job. @throws UNKNOWN_OPERATION, Overloaded; no job exists then */
  submit(submission: Submission): RecordedJob {
    const operation = this.#operation(submission);
    const run = this.#start(submission);
    const { id } = run;
    const record = startRecord({ id, operation, submission, nowMs: this.#options.clock.nowMs() });
    const { access, narrowedTo } = submission.context;
    const others = [access?.maker, narrowedTo];
    const facts = { id, isPrivate: submission.private === true, others, hear: this.#options.onChange };
    const job = new KeptJob(record, facts, this.#onSettled);
    job.hidesOutput = operation.metadata.hiddenOutput !== undefined;
    run.job = job;
    this.#jobs.set(id, job);
    if (!job.isPrivate) job.listed = job.owners.map((one) => this.#callers.add(one, id));
    job.start(this.#perform(run, operation, submission));
    return job;
  }

  /** The current record, for the venue's host; `undefined`: unknown or dropped. */
  record(id: string): JobRecord | undefined {
    this.#retention.sweep();
    return this.#jobs.get(id)?.record();
  }

  list(page: Page, caller: Caller): Paged<string> {
    this.#retention.sweep();
    const { publicDid, listsAnonymous } = this.#options;
    // Anonymous callers share one DID, so a list would show each the jobs of the others.
    if (caller.did === publicDid && !listsAnonymous) return { items: [], total: 0, ...page };
    const owner = ownerOf(caller);
    return { items: this.#callers.newest(owner, page), total: this.#callers.count(owner), ...page };
  }

  find(id: string, caller: Caller): JobLookup {
    const job = this.#lookUp(id, caller);
    return job instanceof KeptJob ? { found: job.record() } : job;
  }

  get(id: string, caller: Caller): JobLookup {
    const job = this.#lookUp(id, caller);
    return job instanceof KeptJob ? this.#show(job, caller) : job;
  }

  async cancel(id: string, caller: Caller): Promise<JobLookup> {
    const job = this.#lookUp(id, caller);
    if (!(job instanceof KeptJob)) return job;
    if (!job.finished) {
      this.#running.abort(id);
      await job.ended(this.#options.limits.inlineWaitMs);
    }
    return this.#show(job, caller);
  }

  delete(id: string, caller: Caller): JobLookup {
    const job = this.#lookUp(id, caller);
    if (!(job instanceof KeptJob)) return job;
    if (!job.finished) this.#running.abort(id);
    this.#forget(job);
    return { found: job.record() };
  }

  watch(id: string, caller: Caller, listener: JobListener): JobWatch {
    const job = this.#lookUp(id, caller);
    if (!(job instanceof KeptJob)) return job;
    if (job.finished) return { ...this.#show(job, caller), stop: () => {} };
    if (this.#watchers >= MAX_WATCHERS || job.watchers >= MAX_WATCHERS_OF_JOB) {
      throw new Overloaded("Too many streams are open", RETRY_MS);
    }
    this.#watchers += 1;
    job.watchers += 1;
    const unlisten = job.onEnd((record) => {
      listener(record);
      if (record !== undefined) this.#show(job, caller);
    });
    let open = true;
    // Released only now: the slot stays taken until the client has read the final event.
    const stop = () => {
      if (!open) return;
      open = false;
      unlisten();
      this.#watchers -= 1;
      job.watchers -= 1;
    };
    return { found: job.record(), stop };
  }

  /** Refuses new jobs, waits `graceMs` for running ones, cancels the rest, and forgets all records. */
  close(graceMs: number): Promise<void> {
    this.#closing ??= this.#shutDown(graceMs);
    return this.#closing;
  }

  #operation(submission: Submission): HostedOperation {
    const operation = this.#options.catalogue.named(submission.operation);
    if (operation === undefined) throw unknownOperation(submission.operation);
    return operation;
  }

  /** @throws Overloaded */
  #start({ input, caller, context, signal = context.signal }: Submission): JobRun {
    if (this.#closing !== undefined) throw new Overloaded("The venue is closing", RETRY_MS);
    return this.#running.start(this.#nextId(this.#options.clock.nowMs()), { input, caller, signal });
  }

  /** Runs the operation and records its outcome. @throws FileAdapterError */
  async #perform(run: JobRun, operation: HostedOperation, { operation: name, input, context }: Submission) {
    let output: unknown;
    let outcome: Outcome;
    try {
      output = await operation.adapter.invoke(name, input, { ...context, jobId: run.id, cancellation: run });
      outcome = outcomeOf(output, operation.metadata.hiddenOutput, run);
    } catch (error) {
      const failed = failureOf(error, run.id, this.#options.logInternal);
      this.#end(run, failed.outcome);
      throw failed.fault;
    }
    this.#end(run, outcome);
    return output;
  }

  #end(run: JobRun, outcome: Outcome): void {
    const { job } = run;
    job?.finish(outcome, this.#options.clock.nowMs());
    // A private job is not kept for the request that waits for it, unless that turns out to be gone.
    if (job !== undefined && !(job.isPrivate && job.isAwaited)) this.#keep(job);
    job?.announce();
    this.#running.end(run);
  }

  #keep(job: KeptJob): void {
    // Missing if it was deleted, or the store closed, meanwhile.
    if (!this.#jobs.has(job.id) || job.bytes > 0) return;
    job.bytes = recordBytes(job.record());
    if (!this.#retention.keep(job.id, job.bytes)) this.#takeOut(job.id);
  }

  #lookUp(id: string, caller: Caller): KeptJob | JobRefusal {
    this.#retention.sweep();
    const job = this.#jobs.get(id);
    if (job === undefined) return { refused: "unknown" };
    return job.owners.includes(ownerOf(caller)) || caller.isOperator ? job : { refused: "denied" };
  }

  /** Returns a record. The operator seeing another caller's finished private job does not count as delivery. */
  #show(job: KeptJob, caller: Caller): { readonly found: JobRecord } {
    const found = job.record();
    if (job.caller === caller.did) this.#delivered(job);
    return { found };
  }

  #delivered(job: KeptJob): void {
    if (job.isPrivate && job.finished) this.#forget(job);
  }

  #forget(job: KeptJob): void {
    const bytes = this.#takeOut(job.id);
    if (bytes > 0) this.#retention.noteRemoved(bytes);
  }

  #takeOut(id: string): number {
    const job = this.#jobs.get(id);
    if (job === undefined) return 0;
    this.#jobs.delete(id);
    for (const one of job.listed) this.#callers.remove(one);
    job.listed = NOWHERE;
    return job.bytes;
  }

  async #shutDown(graceMs: number): Promise<void> {
    await this.#running.drain(graceMs, STOP_MS);
    this.#jobs.clear();
    this.#callers.clear();
    this.#retention.clear();
  }
}
