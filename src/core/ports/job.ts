import type { Caller } from "../call/caller.js";
import type { Page, Paged } from "../call/page.js";
import type { SurfaceContext } from "./adapter.js";

export type JobStatus = "PENDING" | "STARTED" | "COMPLETE" | "FAILED" | "CANCELLED";

/** One run of an operation as its owner sees it. */
export interface JobRecord {
  /** `0x` and 32 hex digits. */
  readonly id: string;
  /** Asset id of the operation: 64 hex digits. */
  readonly op: string;
  /** Title of the operation. */
  readonly name: string;
  /** Catalogue path, `v/ops/file/read`. */
  readonly operation: string;
  readonly status: JobStatus;
  /** Milliseconds since the epoch. */
  readonly created: number;
  readonly updated: number;
  readonly caller: string;
  /** With file content replaced by `HIDDEN`. */
  readonly input: unknown;
  readonly output?: unknown;
  readonly error?: string;
  /** Also beside an output that tells of a failure. */
  readonly errorCode?: string;
  readonly errorData?: unknown;
}

/** A call as a surface hands it to the venue. */
export interface Submission {
  /** Dispatch name of a resolved operation. */
  readonly operation: string;
  /** Asset id by which the operation was named, if it is not the operation's own. */
  readonly asset?: string;
  readonly input: unknown;
  readonly caller: string;
  /** Caller and limits for the adapter; `callerDID` left out means the operator. */
  readonly context: SurfaceContext;
  /** Never listed, and forgotten once its terminal state has been delivered. */
  readonly private?: boolean;
}

/** A job that has been started. */
export interface StartedJob {
  /** Bare hex. */
  readonly id: string;
  /** Settles with the output or rejects with the FileAdapterError. */
  readonly result: Promise<unknown>;
}

/** A job with a record, which its owner may ask for later. */
export interface RecordedJob extends StartedJob {
  record(): JobRecord;
  /**
   * The record as soon as it is terminal, or as it stands after `ms`. An end that is returned counts as delivered,
   * unless `gone` was aborted meanwhile: then nobody is left to be told.
   */
  settled(ms: number, gone?: AbortSignal): Promise<JobRecord>;
}

/** A job that is not shown. `unknown`: never known, or dropped. `denied`: somebody else's. */
export interface JobRefusal {
  readonly refused: "denied" | "unknown";
}

/** What a job id leads to for one caller. */
export type JobLookup = { readonly found: JobRecord } | JobRefusal;

/** A job being watched: `found` is its state now, every later state goes to the listener, in order. */
export type JobWatch = { readonly found: JobRecord; stop(): void } | JobRefusal;

/** Told of a later state. `undefined`: there will be none, because the venue closes. Does not throw. */
export type JobListener = (record: JobRecord | undefined) => void;

/**
 * The jobs of a venue as its callers reach them: each its own, the operator all. Ids are bare lower-case hex. A finished
 * private job is forgotten once its end has been delivered to its own caller.
 */
export interface CallerJobs {
  /** The caller's own jobs, newest first, without private ones. */
  list(page: Page, caller: Caller): Paged<string>;
  /** The job as it stands, for a decision about it; its end does not count as delivered. */
  find(id: string, caller: Caller): JobLookup;
  /** The same for the caller to see. */
  get(id: string, caller: Caller): JobLookup;
  /** Stops a job before its next side effect. @returns the record once it has ended, or as it stands after a while */
  cancel(id: string, caller: Caller): Promise<JobLookup>;
  /** Cancels a job that runs, and forgets it. @returns its last record */
  delete(id: string, caller: Caller): JobLookup;
  /** The end of the job counts as delivered once the listener, or `found`, has it. @throws Overloaded */
  watch(id: string, caller: Caller, listener: JobListener): JobWatch;
}

const TERMINAL: ReadonlySet<JobStatus> = new Set(["COMPLETE", "FAILED", "CANCELLED"]);

/** Whether a job has ended. */
export const isTerminal = (status: JobStatus): boolean => TERMINAL.has(status);
