// Port of jobs: their records, how a surface submits a call, and what callers can do with their own jobs.

import type { Caller } from "../call/caller.js";
import type { Page, Paged } from "../call/page.js";
import type { Abortable } from "../call/scope.js";
import type { Awaitable } from "../io.js";
import type { SurfaceContext } from "./adapter.js";

export type JobStatus = "PENDING" | "STARTED" | "COMPLETE" | "FAILED" | "CANCELLED";

/** Record of one run of an operation, as shown to its owner. */
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
  /** File content is replaced by `HIDDEN`. */
  readonly input: unknown;
  readonly output?: unknown;
  readonly error?: string;
  /** Also present with an output that reports a failure. */
  readonly errorCode?: string;
  readonly errorData?: unknown;
}

/** A call submitted by a surface to the venue. */
export interface Submission {
  /** Dispatch name of a resolved operation. */
  readonly operation: string;
  /** Asset id the operation was called by, if not its own. */
  readonly asset?: string | undefined;
  readonly input: unknown;
  readonly caller: string;
  /** Caller and limits for the adapter; without `callerDID` the caller is the operator. */
  readonly context: SurfaceContext;
  /** Gives the job up. Default: that of the context. */
  readonly signal?: Abortable | undefined;
  /** Never listed, and dropped once its terminal state has been delivered. */
  readonly private?: boolean;
}

/** A job that has been started. */
export interface StartedJob {
  /** Bare hex. */
  readonly id: string;
  /** Settles with the output or rejects with the FileAdapterError. */
  readonly result: Promise<unknown>;
  /**
   * The record once it is terminal, or its current state after `ms`. A returned terminal state counts as delivered,
   * unless `gone` was aborted meanwhile, since then the client has disconnected. Absent: it has no record.
   */
  settled?(ms: number, gone?: Abortable): Promise<JobRecord>;
}

/** A job with a record that its owner can query later. */
export interface RecordedJob extends StartedJob {
  record(): JobRecord;
  settled: NonNullable<StartedJob["settled"]>;
}

/** Why a job is not shown. `unknown`: it never existed or was dropped. `denied`: it belongs to another caller. */
export interface JobRefusal {
  readonly refused: "denied" | "unknown";
}

/** Result of looking up a job id for one caller. */
export type JobLookup = { readonly found: JobRecord } | JobRefusal;

/** A watched job: `found` is its current state; later states go to the listener in order. */
export type JobWatch = { readonly found: JobRecord; stop(): void } | JobRefusal;

/** Receives later states. `undefined`: there will be no more, because the venue closes. Must not throw. */
export type JobListener = (record: JobRecord | undefined) => void;

/**
 * Access to jobs for callers: each to its own, the operator to all. Ids are bare lower-case hex. A finished private job
 * is dropped once its terminal state has been delivered to its own caller.
 */
export interface CallerJobs {
  /** The caller's own jobs, newest first, without private ones. */
  list(page: Page, caller: Caller): Paged<string>;
  /** The current record, for internal decisions; does not count as delivery of a terminal state. */
  find(id: string, caller: Caller): JobLookup;
  /** The current record for the caller; delivers a terminal state. */
  get(id: string, caller: Caller): JobLookup;
  /** Stops a job before its next side effect. @returns the record once it has ended, or its state after a short wait */
  cancel(id: string, caller: Caller, reason?: string): Promise<JobLookup>;
  /** Cancels a running job, and drops it. @returns its last record */
  delete(id: string, caller: Caller): Awaitable<JobLookup>;
  /** A terminal state counts as delivered once the listener, or `found`, has received it. @throws Overloaded */
  watch(id: string, caller: Caller, listener: JobListener): JobWatch;
}

const TERMINAL: ReadonlySet<JobStatus> = new Set(["COMPLETE", "FAILED", "CANCELLED"]);

/** Whether a job has ended. */
export const isTerminal = (status: JobStatus): boolean => TERMINAL.has(status);
