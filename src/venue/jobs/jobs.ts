import type { Caller } from "../../core/call/caller.js";
import type { Page, Paged } from "../../core/call/page.js";
import type { Clock } from "../../core/clock.js";
import { FileAdapterError } from "../../core/errors/errors.js";
import { Overloaded } from "../../core/errors/overload.js";
import { internalError, unknownOperation } from "../../core/errors/texts.js";
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
import { JobCallers } from "./callers.js";
import { createJobIds } from "./id.js";
import { KeptJob } from "./kept.js";
import { answered, failure, type Outcome, recordBytes, startRecord } from "./record.js";
import { JobRetention, type RetentionLimits } from "./retention.js";
import type { JobRun } from "./run.js";
import { RunningJobs } from "./running.js";

export interface JobLimits extends RetentionLimits {
  /** How long a cancellation waits for the job to end, in milliseconds. */
  readonly inlineWaitMs: number;
}

export interface JobsOptions {
  readonly catalogue: Catalogue;
  readonly clock: Clock;
  readonly limits: JobLimits;
  /** Whom callers without credentials are taken for. */
  readonly publicDid: string;
  /** Whether they see a list of their jobs, which are those of all of them. */
  readonly listsAnonymous: boolean;
  /** Told of a failure that reaches its caller only as `INTERNAL`. The second argument is what the caller was shown. */
  readonly logInternal: (error: unknown, requestId: string) => void;
}

/** The jobs of a venue, in memory only. Ids here are bare lower-case hex. */
export interface Jobs extends CallerJobs {
  /** Number of records, running jobs included. */
  readonly size: number;
  /** Estimated size of the finished records, in bytes. */
  readonly bytes: number;
  /** Number of callers with jobs that are listed. */
  readonly users: number;
  /** Number of jobs that have not ended, those without a record included. */
  readonly running: number;
  /** Starts a job. @throws UNKNOWN_OPERATION, Overloaded; then there is no job */
  submit(submission: Submission): RecordedJob;
  /** The same without a record, for callers who could never ask for it. */
  run(submission: Submission): StartedJob;
  /** The record as it stands, for the host of the venue. `undefined`: never known, or dropped. */
  record(id: string): JobRecord | undefined;
  /** Takes no more jobs, lets those that run end for a while, cancels the others, and forgets every record. */
  close(graceMs: number): Promise<void>;
}

/** Creates the job store of a venue. */
export function createJobs(options: JobsOptions): Jobs {
  return new JobStore(options);
}

/** Jobs that may run at once where fewer records than this are kept. */
const LEAST_RUNNING = 64;
/** Open streams; each takes one of the connections of the venue. */
const MOST_WATCHERS = 512;
const MOST_WATCHERS_OF_JOB = 32;
/** When what was refused may be tried again. */
const RETRY_MS = 1000;
/** How long a store that closes waits for jobs it has cancelled: what they have committed may need a flush. */
const STOP_MS = 1000;

class JobStore implements Jobs {
  readonly #options: JobsOptions;
  readonly #nextId = createJobIds();
  readonly #jobs = new Map<string, KeptJob>();
  readonly #callers = new JobCallers();
  readonly #retention: JobRetention;
  readonly #running: RunningJobs;
  readonly #onDelivered = (job: KeptJob) => this.#delivered(job);
  #watchers = 0;
  #closing: Promise<void> | undefined;

  constructor(options: JobsOptions) {
    this.#options = options;
    this.#running = new RunningJobs(Math.max(LEAST_RUNNING, options.limits.max));
    const jobs = this.#jobs;
    this.#retention = new JobRetention(options.clock, options.limits, {
      get size() {
        return jobs.size;
      },
      has: (id) => jobs.has(id),
      drop: (id) => this.#takeOut(id),
    });
  }

  get size(): number {
    return this.#jobs.size;
  }

  get bytes(): number {
    return this.#retention.bytes;
  }

  get users(): number {
    return this.#callers.size;
  }

  get running(): number {
    return this.#running.size;
  }

  run(submission: Submission): StartedJob {
    const operation = this.#operation(submission);
    const run = this.#start(submission);
    return { id: run.id, result: this.#perform(run, operation, submission) };
  }

  submit(submission: Submission): RecordedJob {
    const operation = this.#operation(submission);
    const run = this.#start(submission);
    const { id } = run;
    const record = startRecord({ id, operation, submission, nowMs: this.#options.clock.nowMs() });
    const job = new KeptJob(record, submission.private === true, this.#onDelivered);
    job.hidesOutput = operation.metadata.hiddenOutput !== undefined;
    run.job = job;
    this.#jobs.set(id, job);
    if (!job.isPrivate) this.#callers.add(job.caller, id);
    job.start(this.#perform(run, operation, submission));
    return job;
  }

  record(id: string): JobRecord | undefined {
    this.#retention.sweep();
    return this.#jobs.get(id)?.record();
  }

  list(page: Page, caller: Caller): Paged<string> {
    this.#retention.sweep();
    const { publicDid, listsAnonymous } = this.#options;
    // Where strangers share one name, a list would hand the jobs of each to all.
    if (caller.did === publicDid && !listsAnonymous) return { items: [], total: 0, ...page };
    return { items: this.#callers.newest(caller.did, page), total: this.#callers.count(caller.did), ...page };
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
    if (this.#watchers >= MOST_WATCHERS || job.watchers >= MOST_WATCHERS_OF_JOB) {
      throw new Overloaded("Too many streams are open", RETRY_MS);
    }
    this.#watchers += 1;
    job.watchers += 1;
    const unlisten = job.whenEnded((record) => {
      listener(record);
      if (record !== undefined) this.#show(job, caller);
    });
    let open = true;
    // Its place is free only now: until a client has read the end, that is kept for it.
    const stop = () => {
      if (!open) return;
      open = false;
      unlisten();
      this.#watchers -= 1;
      job.watchers -= 1;
    };
    return { found: job.record(), stop };
  }

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
  #start({ input, context }: Submission): JobRun {
    if (this.#closing !== undefined) throw new Overloaded("The venue is closing", RETRY_MS);
    return this.#running.start(this.#nextId(this.#options.clock.nowMs()), input, context.signal);
  }

  /** Runs the operation, and puts its end on record. @throws FileAdapterError */
  async #perform(run: JobRun, operation: HostedOperation, submission: Submission): Promise<unknown> {
    let output: unknown;
    try {
      const context = { ...submission.context, jobId: run.id, cancellation: run };
      output = await operation.adapter.invoke(submission.operation, submission.input, context);
    } catch (error) {
      const fault = this.#faultOf(error, run.id);
      this.#end(run, failure(fault, run.id));
      throw fault;
    }
    this.#end(run, answered(output, operation.metadata.hiddenOutput, run));
    return output;
  }

  #faultOf(error: unknown, id: string): FileAdapterError {
    if (error instanceof FileAdapterError) return error;
    this.#options.logInternal(error, id);
    return internalError(id);
  }

  #end(run: JobRun, outcome: Outcome): void {
    if (run.job !== undefined) this.#finish(run.job, outcome);
    this.#running.end(run);
  }

  #finish(job: KeptJob, outcome: Outcome): void {
    const record = job.finish(outcome, this.#options.clock.nowMs());
    // Absent when it was deleted, or the store closed, meanwhile.
    if (this.#jobs.has(job.id)) {
      job.bytes = recordBytes(record);
      if (!this.#retention.keep(job.id, job.bytes)) this.#takeOut(job.id);
    }
    job.announce();
  }

  #lookUp(id: string, caller: Caller): KeptJob | JobRefusal {
    this.#retention.sweep();
    const job = this.#jobs.get(id);
    if (job === undefined) return { refused: "unknown" };
    return job.caller === caller.did || caller.isOperator ? job : { refused: "denied" };
  }

  /** Shows a job. To the operator, a finished private one of somebody else has not been delivered. */
  #show(job: KeptJob, caller: Caller): { readonly found: JobRecord } {
    const found = job.record();
    if (job.caller === caller.did) this.#delivered(job);
    return { found };
  }

  #delivered(job: KeptJob): void {
    if (job.isPrivate && job.finished) this.#forget(job);
  }

  #forget(job: KeptJob): void {
    if (!this.#jobs.has(job.id)) return;
    const bytes = this.#takeOut(job.id);
    if (job.finished) this.#retention.forgotten(bytes);
  }

  #takeOut(id: string): number {
    const job = this.#jobs.get(id);
    if (job === undefined) return 0;
    this.#jobs.delete(id);
    this.#callers.remove(job.caller, id);
    return job.bytes;
  }

  async #shutDown(graceMs: number): Promise<void> {
    await this.#running.drain(graceMs, STOP_MS);
    this.#jobs.clear();
    this.#callers.clear();
    this.#retention.clear();
  }
}
