import type { Clock } from "../core/clock.js";
import { FileAdapterError } from "../core/errors.js";
import type { JobRecord, RecordedJob, StartedJob, Submission } from "../core/job.js";
import { internalError, unknownOperation } from "../core/texts.js";
import type { Catalogue, HostedOperation } from "./catalogue.js";
import { createJobIds } from "./job-id.js";
import { estimateBytes } from "./record-size.js";

/** How many records a venue keeps. Running jobs count, but are never dropped. */
export interface JobLimits {
  /** Most records. */
  readonly max: number;
  /** Most bytes of input and output in finished records, as estimated by `record-size.ts`. */
  readonly maxBytes: number;
  /** How long a finished record is kept, in milliseconds. */
  readonly ttlMs: number;
}

export interface JobsOptions {
  readonly catalogue: Catalogue;
  readonly clock: Clock;
  readonly limits: JobLimits;
  /** Told of a failure that reaches its caller only as `INTERNAL`. The second argument is what the caller was shown. */
  readonly logInternal: (error: unknown, requestId: string) => void;
}

/** The jobs of a venue, in memory only. Ids here are bare lower-case hex. */
export interface Jobs {
  /** Starts a job. @throws UNKNOWN_OPERATION when no adapter has the operation; then there is no job */
  submit(submission: Submission): RecordedJob;
  /** The same without a record, for callers who could never ask for it. */
  run(submission: Submission): StartedJob;
  /** The record as it stands. `undefined`: never known, or dropped. */
  get(id: string): JobRecord | undefined;
  /** Says that its owner has been given the record: that of a finished private job is then forgotten. */
  delivered(id: string): void;
  /** Number of records, running jobs included. */
  readonly size: number;
  /** Forgets every record. Running jobs go on. */
  close(): void;
}

/** Creates the job store of a venue. */
export function createJobs(options: JobsOptions): Jobs {
  return new JobStore(options);
}

/** Timers of Node fire at once when they are asked to wait longer than this. */
const LONGEST_TIMER_MS = 2_147_483_647;
/** What a record costs besides its input and output. */
const RECORD_BYTES = 512;
/** Forgotten jobs that may stand at the head of the queue before it is moved up. */
const HEAD_ROOM = 256;

type Outcome = Pick<JobRecord, "status" | "output" | "error" | "errorCode" | "errorData">;

/** A finished job in the queue of those to be dropped; of one that is forgotten, nothing else may stay in memory. */
interface Finished {
  readonly id: string;
  readonly expiresAtMs: number;
}

class JobStore implements Jobs {
  readonly #options: JobsOptions;
  readonly #nextId = createJobIds();
  readonly #jobs = new Map<string, Job>();
  /**
   * Finished jobs, oldest first, so that whatever has to go stands at the head; some may have been forgotten before.
   * No Map: finding its first entry takes a walk over all that were deleted in front of it.
   */
  #finished: Finished[] = [];
  #head = 0;
  #bytes = 0;
  #timer: NodeJS.Timeout | undefined;

  constructor(options: JobsOptions) {
    this.#options = options;
  }

  get size(): number {
    return this.#jobs.size;
  }

  run(submission: Submission): StartedJob {
    const operation = this.#operation(submission);
    const id = this.#nextId(this.#options.clock.nowMs());
    const result = this.#invoke(id, operation, submission).catch((error: unknown) => {
      throw this.#faultOf(error, id);
    });
    return { id, result };
  }

  submit(submission: Submission): RecordedJob {
    const operation = this.#operation(submission);
    const nowMs = this.#options.clock.nowMs();
    const id = this.#nextId(nowMs);
    const job = new Job(id, submission.private === true, startRecord({ id, operation, submission, nowMs }), (id) =>
      this.delivered(id),
    );
    this.#jobs.set(id, job);
    this.#sweep();
    job.start(this.#run(job, operation, submission));
    return job;
  }

  get(id: string): JobRecord | undefined {
    this.#sweep();
    return this.#jobs.get(id)?.record();
  }

  delivered(id: string): void {
    const job = this.#jobs.get(id);
    if (job?.isPrivate === true && job.finished) this.#forget(id);
  }

  close(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#jobs.clear();
    this.#finished = [];
    this.#head = 0;
    this.#bytes = 0;
  }

  async #run(job: Job, operation: HostedOperation, submission: Submission): Promise<unknown> {
    let output: unknown;
    try {
      output = await this.#invoke(job.id, operation, submission);
    } catch (error) {
      const fault = this.#faultOf(error, job.id);
      this.#finish(job, failure(fault, job.id));
      throw fault;
    }
    this.#finish(job, { status: "COMPLETE", output });
    return output;
  }

  #operation(submission: Submission): HostedOperation {
    const operation = this.#options.catalogue.named(submission.operation);
    if (operation === undefined) throw unknownOperation(submission.operation);
    return operation;
  }

  #invoke(jobId: string, operation: HostedOperation, submission: Submission): Promise<unknown> {
    return operation.adapter.invoke(submission.operation, submission.input, { ...submission.context, jobId });
  }

  #faultOf(error: unknown, id: string): FileAdapterError {
    if (error instanceof FileAdapterError) return error;
    this.#options.logInternal(error, id);
    return internalError(id);
  }

  #finish(job: Job, outcome: Outcome): void {
    const { clock, limits } = this.#options;
    const record = job.finish(outcome, clock.nowMs());
    // Absent when the store was closed meanwhile.
    if (!this.#jobs.has(job.id)) return;
    job.bytes = RECORD_BYTES + estimateBytes(record.input) + estimateBytes(record.output);
    // One that can never be kept must not drive out all the others first.
    if (job.bytes > limits.maxBytes) {
      this.#jobs.delete(job.id);
      return;
    }
    this.#bytes += job.bytes;
    this.#finished.push({ id: job.id, expiresAtMs: clock.monotonicMs() + limits.ttlMs });
    this.#sweep();
  }

  /** Drops what is too old or too much. */
  #sweep(): void {
    const { clock, limits } = this.#options;
    const nowMs = clock.monotonicMs();
    for (let next = this.#finished[this.#head]; next !== undefined; next = this.#finished[this.#head]) {
      if (next.expiresAtMs > nowMs && this.#jobs.size <= limits.max && this.#bytes <= limits.maxBytes) {
        this.#sweepLater(next.expiresAtMs - nowMs);
        break;
      }
      this.#forget(next.id);
      this.#head += 1;
    }
    if (this.#head >= HEAD_ROOM && this.#head * 2 >= this.#finished.length) {
      this.#finished.splice(0, this.#head);
      this.#head = 0;
    }
  }

  /** An idle venue drops old records too: they may hold what somebody read. */
  #sweepLater(delayMs: number): void {
    if (this.#timer !== undefined) return;
    this.#timer = setTimeout(
      () => {
        this.#timer = undefined;
        this.#sweep();
      },
      Math.min(delayMs + 1, LONGEST_TIMER_MS),
    );
    this.#timer.unref();
  }

  #forget(id: string): void {
    this.#bytes -= this.#jobs.get(id)?.bytes ?? 0;
    this.#jobs.delete(id);
  }
}

class Job implements RecordedJob {
  readonly id: string;
  readonly isPrivate: boolean;
  readonly #onDelivered: (id: string) => void;
  #record: JobRecord;
  #result: Promise<unknown> = Promise.resolve();
  finished = false;
  bytes = 0;

  constructor(id: string, isPrivate: boolean, record: JobRecord, onDelivered: (id: string) => void) {
    this.id = id;
    this.isPrivate = isPrivate;
    this.#record = record;
    this.#onDelivered = onDelivered;
  }

  get result(): Promise<unknown> {
    return this.#result;
  }

  start(result: Promise<unknown>): void {
    this.#result = result;
    // The record keeps the failure; a surface that asks only for the record must not bring the process down.
    result.catch(() => {});
  }

  finish(outcome: Outcome, updated: number): JobRecord {
    this.#record = { ...this.#record, ...outcome, updated };
    this.finished = true;
    return this.#record;
  }

  record(): JobRecord {
    return this.#record;
  }

  settled(ms: number): Promise<JobRecord> {
    return new Promise((resolve) => {
      let waiting = true;
      const end = () => {
        // The end of a job nobody waits for any more has not been delivered to anybody.
        if (!waiting) return;
        waiting = false;
        clearTimeout(timer);
        this.#onDelivered(this.id);
        resolve(this.#record);
      };
      const timer = setTimeout(end, Math.min(ms, LONGEST_TIMER_MS));
      this.#result.then(end, end);
    });
  }
}

function startRecord(options: {
  id: string;
  operation: HostedOperation;
  submission: Submission;
  nowMs: number;
}): JobRecord {
  const { id, operation, submission, nowMs } = options;
  return {
    id: `0x${id}`,
    name: operation.metadata.title,
    operation: operation.path,
    status: "STARTED",
    created: nowMs,
    updated: nowMs,
    caller: submission.caller,
    input: hide(submission.input, operation.metadata.hidden),
  };
}

/** A copy of the input for the record, without file content. */
function hide(input: unknown, hidden: readonly string[]): unknown {
  if (typeof input !== "object" || input === null || Array.isArray(input)) return input;
  const shown: Record<string, unknown> = { ...input };
  for (const field of hidden) {
    if (Object.hasOwn(shown, field)) shown[field] = "HIDDEN";
  }
  return shown;
}

function failure(fault: FileAdapterError, id: string): Outcome {
  if (fault.code === "ABORTED") return { status: "CANCELLED", error: `Job cancelled: ${id}`, errorCode: fault.code };
  const outcome: Outcome = { status: "FAILED", error: fault.message, errorCode: fault.code };
  return Object.keys(fault.data).length === 0 ? outcome : { ...outcome, errorData: fault.data };
}
