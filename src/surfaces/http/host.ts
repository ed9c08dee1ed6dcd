import type { JsonObject } from "../../core/adapter.js";
import type { JobRecord, RecordedJob, Submission } from "../../core/job.js";

/** An operation as clients see it. */
export interface OperationListing {
  /** Catalogue path, `v/ops/file/read`. */
  readonly name: string;
  readonly description: string;
  readonly input: JsonObject;
  readonly output: JsonObject;
}

/** What a job id leads to for one caller. */
export type JobLookup = { readonly found: JobRecord } | { readonly refused: "denied" | "unknown" };

/** Numbers shown in the status. */
export interface HttpStats {
  readonly assets: number;
  readonly users: number;
  readonly ops: number;
  readonly jobs: number;
}

export interface HttpLimits {
  /** Most bytes of a request body. */
  readonly maxRequestBytes: number;
  /** How long a reply to invoke waits for the job, in milliseconds. Below 5000: a client gives up then. */
  readonly inlineWaitMs: number;
  /** The same with `wait`. */
  readonly maxWaitMs: number;
}

/** Who sent a request to `/mcp`, and what. */
export interface McpContext {
  readonly caller: string;
  /** The body as strict JSON; absent where the method has none. */
  readonly parsedBody?: unknown;
}

/** A web-standard MCP endpoint. The signal of the request is aborted when the client hangs up. */
export type McpHandler = (request: Request, context: McpContext) => Promise<Response>;

/** What the HTTP surface needs of the venue behind it. */
export interface HttpHost {
  readonly did: string;
  readonly name: string;
  /** Whether callers without credentials are served at all. */
  readonly publicAccess: boolean;
  /** Host names accepted on a loopback listener besides the loopback ones, in lower case. */
  readonly allowedHosts: readonly string[];
  readonly limits: HttpLimits;
  /** Base URL without a trailing slash; asked only once the surface listens. */
  url(): string;
  /** Milliseconds since the epoch. */
  nowMs(): number;
  stats(): HttpStats;
  operations(): readonly OperationListing[];
  /** Finds an operation by any reference a client may use. `name` is its dispatch name. */
  operation(reference: string): { readonly name: string; readonly listing: OperationListing } | undefined;
  /** Starts a job of an operation that has been found. */
  submit(submission: Submission): RecordedJob;
  /** The record for its owner, who counts as having received it. @param id bare lower-case hex */
  job(id: string, caller: string): JobLookup;
  /** A name for one failed request, shown to the caller in place of the failure. */
  requestId(): string;
  logInternal(error: unknown, requestId: string): void;
  /** Absent: there is no `/mcp`. */
  readonly mcp?: McpHandler;
}
