import type { Authenticate, Caller, NameCaller } from "../../core/call/caller.js";
import type { MemoryLease } from "../../core/memory.js";
import type { JsonObject, SurfaceContext } from "../../core/ports/adapter.js";
import type { Assets } from "../../core/ports/asset.js";
import type { CallerJobs, RecordedJob, Submission } from "../../core/ports/job.js";
import type { Log } from "../../core/ports/log.js";
import type { FileTransfers, TicketRequest } from "../../core/ports/transfer.js";

/** An operation as clients see it. */
export interface OperationListing {
  /** Catalogue path, `v/ops/file/read`. */
  readonly name: string;
  /** Asset id: 64 hex digits. */
  readonly asset: string;
  readonly description: string;
  readonly input: JsonObject;
  readonly output: JsonObject;
}

/** An operation a reference leads to. */
export interface FoundOperation {
  /** Dispatch name, `file:read`. */
  readonly name: string;
  /** Asset id by which it was named, if it is not the operation's own. */
  readonly asset?: string;
  readonly listing: OperationListing;
}

/** Numbers shown in the status. */
export interface HttpStats {
  readonly assets: number;
  readonly users: number;
  readonly ops: number;
  readonly jobs: number;
}

export interface HttpLimits {
  /** Most bytes of a JSON request body. */
  readonly maxRequestBytes: number;
  /** Most bytes of an asset's content. */
  readonly maxContentSize: number;
  /** How long a reply to invoke waits for the job, in milliseconds. Below 5000: a client gives up then. */
  readonly inlineWaitMs: number;
  /** The same with `wait`. */
  readonly maxWaitMs: number;
}

/** Who sent a request to `/mcp`, and what. */
export interface McpContext {
  readonly caller: Caller;
  /** The body as strict JSON; absent where the method has none. */
  readonly parsedBody?: unknown;
  /** What the request and its answer hold in memory. */
  readonly memory: MemoryLease;
}

/** A web-standard MCP endpoint. The signal of the request is aborted when the client hangs up. */
export type McpHandler = (request: Request, context: McpContext) => Promise<Response>;

/** Who a request is counted against: a caller who is known, or, without `did`, an address. */
export interface Sender {
  readonly did?: string;
  readonly address: string;
}

/** Counts a request against its sender. @returns milliseconds to wait when there are too many, else 0 */
export type RateLimit = (sender: Sender) => Promise<number>;

/** Files in roots, whole. */
export interface HttpFiles extends FileTransfers {
  /**
   * What whoever holds a ticket may be taken for, in this one use. @throws FileAdapterError for a path that can be none
   * @returns `undefined`: it is no ticket, not one for this use, or none any more; `taken back`: it is one, but what made it
   * has been revoked
   */
  redeem(ticket: string, use: Omit<TicketRequest, "ttlSeconds">): SurfaceContext | "taken back" | undefined;
}

/** What only some may see: numbers for a monitoring system. */
export interface HttpMetrics {
  readonly readers: "operator" | "public";
  /** Prometheus text exposition. */
  text(): Promise<{ readonly contentType: string; readonly body: string }>;
}

/** What the HTTP surface needs of the venue behind it. */
export interface HttpHost {
  readonly did: string;
  readonly name: string;
  /** Version of this package. */
  readonly version: string;
  readonly description: string;
  /** Whether callers without credentials are served at all. */
  readonly publicAccess: boolean;
  /** Callers without credentials. */
  readonly publicCaller: Caller;
  readonly authenticate: Authenticate;
  /** Who sends a call without credentials, by the tokens in it. */
  readonly nameCaller: NameCaller;
  /** Host names accepted on a loopback listener besides the loopback ones, in lower case. */
  readonly allowedHosts: readonly string[];
  /** Origins other than the venue's own whose pages may call; `*`: any. */
  readonly corsOrigins: readonly string[] | "*";
  /** Whether `X-Forwarded-*` says who calls. */
  readonly trustProxy: boolean;
  readonly limits: HttpLimits;
  /** Absent: nobody is slowed down. */
  readonly rateLimit?: RateLimit;
  readonly jobs: CallerJobs;
  readonly assets: Assets;
  /** Absent: there is no `/api/v1/files`. */
  readonly files?: HttpFiles;
  /** Absent: there is no `/healthz` and no `/metrics`. */
  readonly metrics?: HttpMetrics;
  /** Base URL without a trailing slash; asked only once the surface listens. */
  url(): string;
  /** Milliseconds since the epoch. */
  nowMs(): number;
  stats(): HttpStats;
  /** The DID document. */
  didDocument(): JsonObject;
  operations(): readonly OperationListing[];
  /** Finds an operation by any reference a client may use. */
  operation(reference: string): FoundOperation | undefined;
  /** Starts a job of an operation that has been found. */
  submit(submission: Submission): RecordedJob;
  /** The tree of values clients may read: plain objects, arrays and scalars. */
  values(): JsonObject;
  /** A name for one failed request, shown to the caller in place of the failure. */
  requestId(): string;
  logInternal(error: unknown, requestId: string): void;
  readonly log: Log;
  /** Absent: there is no `/mcp`. */
  readonly mcp?: McpHandler;
}
