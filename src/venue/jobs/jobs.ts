// The jobs of a venue: starts, tracks, cancels and forgets them.

import type { Caller } from "../../core/call/caller.js";
import type { Page, Paged } from "../../core/call/page.js";
import type { Clock } from "../../core/clock.js";
import { type FileAdapterError, Overloaded, venueCloses } from "../../core/errors/errors.js";
import { unknownOperation } from "../../core/errors/texts.js";
import { type Awaitable, after } from "../../core/io.js";
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
import { type HearJob, Job, type JobSettling, Run, RunningJobs } from "./job.js";
import type { JobKeeper, KeptJob } from "./keeper.js";
import { createJobIds, endRecord, failureOf, type Outcome, outcomeOf, startRecord } from "./record.js";
import { JobRecords, type RetentionLimits } from "./records.js";

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
  /** Absent: the venue is one process. */
  readonly keeper?: JobKeeper | undefined;
  /** Whether anonymous callers may list jobs; the list has the jobs of all anonymous callers. */
  readonly listsAnonymous: boolean;
  /** Logs a failure its caller sees only as `INTERNAL`. The second argument is the id the caller was shown. */
  readonly logInternal: (error: unknown, requestId: string) => void;
}

/** Maximum open event streams; each occupies a connection. */
const MAX_WATCHERS = 512;
const MAX_WATCHERS_OF_JOB = 32;
/** Suggested delay before retrying a refused request, in milliseconds. */
const RETRY_MS = 1000;
/** Time that closing waits for cancelled jobs, in milliseconds: a commit in progress may need a flush. */
const STOP_MS = 1000;

/** The callers whose jobs a caller sees. */
export const ownerOf = ({ did, narrowedTo = did }: Caller): string => narrowedTo;

const isKept = (run: Run): run is Job => run instanceof Job && run.isKept;

/** A cancellation with the reason that its caller gave. */
const explained = (outcome: Outcome, { cancelReason: error }: Job): Outcome =>
  outcome.status === "CANCELLED" && error !== undefined ? { ...outcome, error } : outcome;

/** The jobs of a venue: starts, tracks, cancels and forgets jobs. Ids are bare lower-case hex. */
export class Jobs implements CallerJobs {
  readonly #options: JobsOptions;
  readonly #nextId: ReturnType<typeof createJobIds>;
  readonly #records: JobRecords;
  readonly #running: RunningJobs;
  readonly #settling: Pick<JobSettling, "hear" | "keeper" | "onSettled">;
  #watchers = 0;
  #closing: Promise<void> | undefined;

  constructor(options: JobsOptions) {
    this.#options = options;
    const { keeper } = options;
    this.#nextId = createJobIds(keeper && (() => keeper.instance));
    this.#running = new RunningJobs(options.limits.max);
    this.#records = new JobRecords(options.clock, options.limits);
    const onSettled = (job: Job, isDelivered: boolean): void =>
      isDelivered ? this.#delivered(job) : this.#records.keep(job);
    this.#settling = { hear: options.onChange, keeper, onSettled };
  }

  /** Number of records, running jobs included. */
  get size(): number {
    return this.#records.size;
  }

  /** Estimated bytes of all finished records. */
  get bytes(): number {
    return this.#records.bytes;
  }

  /** Number of callers with listed jobs. */
  get users(): number {
    return this.#records.owners;
  }

  /** Number of running jobs, including those without a record. */
  get running(): number {
    return this.#running.size;
  }

  /** Starts a job without a record, for callers who could never ask for it. @throws as `submit` does */
  run(submission: Submission): StartedJob {
    const operation = this.#operation(submission);
    const run = this.#running.start(new Run(this.#nextId(this.#options.clock.nowMs()), submission));
    return { id: run.id, result: this.#perform(run, operation, submission) };
  }

  /** Starts a job. @throws UNKNOWN_OPERATION, Overloaded; no job exists then */
  submit(submission: Submission): RecordedJob {
    const operation = this.#operation(submission);
    const nowMs = this.#options.clock.nowMs();
    const id = this.#nextId(nowMs);
    const record = startRecord({ id, operation, submission, nowMs });
    const { hidden, hiddenOutput } = operation.metadata;
    const settling = { ...this.#settling, hidesInput: hidden.length > 0, hidesOutput: hiddenOutput !== undefined };
    const job = this.#running.start(new Job(id, submission, record, settling));
    this.#records.add(job);
    job.start(this.#perform(job, operation, submission));
    return job;
  }

  list(page: Page, caller: Caller): Paged<string> {
    const { publicDid, listsAnonymous } = this.#options;
    // Anonymous callers share one DID, so a list would show each the jobs of the others.
    if (caller.did === publicDid && !listsAnonymous) return { items: [], total: 0, ...page };
    return { ...this.#records.list(ownerOf(caller), page), ...page };
  }

  find(id: string, caller: Caller): JobLookup {
    const job = this.#lookUp(id, caller);
    return job instanceof Job ? { found: job.record() } : job;
  }

  get(id: string, caller: Caller): JobLookup {
    const job = this.#lookUp(id, caller);
    return job instanceof Job ? this.#show(job, caller) : job;
  }

  async cancel(id: string, caller: Caller, reason?: string): Promise<JobLookup> {
    const job = this.#lookUp(id, caller);
    if (!(job instanceof Job)) return job;
    if (!job.finished) {
      job.cancelReason = reason;
      job.abort();
      await job.ended(this.#options.limits.inlineWaitMs);
    }
    return this.#show(job, caller);
  }

  delete(id: string, caller: Caller): Awaitable<JobLookup> {
    const job = this.#lookUp(id, caller);
    if (!(job instanceof Job)) return job;
    if (!job.finished) job.abort();
    const found = job.record();
    return after(this.#remove(job), () => ({ found }));
  }

  /** Ends a kept job as others hold it to have ended; its run stops before its next side effect. */
  lose({ id }: Pick<KeptJob, "id">, record: JobRecord): void {
    const job = this.#records.get(id);
    if (job === undefined) return;
    job.abort();
    job.finish(record, record.updated);
    this.#records.keep(job);
    job.announce();
  }

  watch(id: string, caller: Caller, listener: JobListener): JobWatch {
    const job = this.#lookUp(id, caller);
    if (!(job instanceof Job)) return job;
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

  /** @throws UNKNOWN_OPERATION, Overloaded */
  #operation({ operation: name }: Submission): HostedOperation {
    const operation = this.#options.catalogue.named(name);
    if (operation === undefined) throw unknownOperation(name);
    if (this.#closing !== undefined) throw venueCloses();
    return operation;
  }

  /** Runs the operation and records its outcome. @throws FileAdapterError */
  async #perform(run: Run, operation: HostedOperation, { operation: name, input, context }: Submission) {
    let output: unknown;
    let ended: { readonly outcome: Outcome; readonly fault?: FileAdapterError };
    try {
      output = await operation.adapter.invoke(name, input, { ...context, jobId: run.id, cancellation: run });
      ended = { outcome: outcomeOf(output, operation.metadata.hiddenOutput, run) };
    } catch (error) {
      ended = failureOf(error, run.id, this.#options.logInternal);
    }
    if (isKept(run)) await this.#endKept(run, ended.outcome);
    else this.#end(run, ended.outcome);
    if (ended.fault !== undefined) throw ended.fault;
    return output;
  }

  /** The end of a kept job shows once all instances can see it. */
  async #endKept(job: Job, outcome: Outcome): Promise<void> {
    const record = endRecord(job.record(), explained(outcome, job), this.#options.clock.nowMs());
    const isWanted = !job.finished && this.#records.get(job.id) === job;
    if (isWanted) await this.#options.keeper?.end(job, record);
    this.#end(job, outcome, record.updated);
  }

  #end(run: Run, outcome: Outcome, updated = this.#options.clock.nowMs()): void {
    if (run instanceof Job && !run.finished) {
      run.finish(explained(outcome, run), updated);
      // A private job is not kept for the request that waits for it, unless that turns out to be gone.
      if (!run.isPrivate || !run.isAwaited) this.#records.keep(run);
      run.announce();
    }
    this.#running.end(run);
  }

  #lookUp(id: string, caller: Caller): Job | JobRefusal {
    const job = this.#records.get(id);
    if (job === undefined) return { refused: "unknown" };
    return job.owners.includes(ownerOf(caller)) || caller.isOperator ? job : { refused: "denied" };
  }

  /** Returns a record. The operator seeing another caller's finished private job does not count as delivery. */
  #show(job: Job, caller: Caller): { readonly found: JobRecord } {
    const found = job.record();
    if (job.caller === caller.did) this.#delivered(job);
    return { found };
  }

  #delivered(job: Job): void {
    if (job.isPrivate && job.finished) void this.#remove(job);
  }

  #remove(job: Job): Awaitable<void> {
    this.#records.remove(job.id);
    return job.isKept ? this.#options.keeper?.remove(job) : undefined;
  }

  async #shutDown(graceMs: number): Promise<void> {
    await this.#running.drain(graceMs, STOP_MS);
    this.#records.clear();
  }
}
