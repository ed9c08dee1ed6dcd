import type { SurfaceContext } from "./adapter.js";

export type JobStatus = "PENDING" | "STARTED" | "COMPLETE" | "FAILED" | "CANCELLED";

/** One run of an operation as its owner sees it. */
export interface JobRecord {
  /** `0x` and 32 hex digits. */
  readonly id: string;
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
  readonly errorCode?: string;
  readonly errorData?: unknown;
}

/** A call as a surface hands it to the venue. */
export interface Submission {
  /** Dispatch name of a resolved operation. */
  readonly operation: string;
  readonly input: unknown;
  readonly caller: string;
  /** Caller and limits for the adapter; `callerDID` left out means the operator. */
  readonly context: SurfaceContext;
  /** Forget the record once its terminal state has been delivered. */
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
  /** The record as soon as it is terminal, or as it stands after `ms`. */
  settled(ms: number): Promise<JobRecord>;
}
