// The port between the HTTP surface and the venue.

import type { Authenticate, Caller, NameCaller } from "../../core/call/caller.js";
import type { Ability } from "../../core/call/capability.js";
import type { Awaitable } from "../../core/io.js";
import type { JsonObject, SurfaceContext } from "../../core/ports/adapter.js";
import type { Assets } from "../../core/ports/asset.js";
import type { VenueEvents } from "../../core/ports/changes/events.js";
import type { JournalFault } from "../../core/ports/changes/journal.js";
import type { CallerJobs, RecordedJob, Submission } from "../../core/ports/job.js";
import type { Log } from "../../core/ports/log.js";
import type { RootFacts } from "../../core/ports/operation.js";
import type { FileTransfers, TicketRequest } from "../../core/ports/transfer.js";
import type { McpEndpoint } from "../mcp/http.js";
import type { HttpPeers } from "./passing/port.js";

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

/** An operation found by a reference. */
export interface FoundOperation {
  /** Dispatch name, `file:read`. */
  readonly name: string;
  /** Id of the asset named by the reference, unless it is the operation's own. */
  readonly asset?: string;
  readonly listing: OperationListing;
  /** Context its calls need. */
  readonly abilities: readonly Ability[];
}

/** Numbers shown by the status endpoint. */
export interface HttpStats {
  readonly assets: number;
  readonly users: number;
  readonly ops: number;
  readonly jobs: number;
}

export interface HttpLimits {
  /** Maximum bytes of a JSON request body. */
  readonly maxRequestBytes: number;
  /** Maximum bytes of an asset's content. */
  readonly maxContentSize: number;
  /** Time a reply to invoke waits for the job, in milliseconds. Below 5000, after which clients give up. */
  readonly inlineWaitMs: number;
  /** The same with `wait`. */
  readonly maxWaitMs: number;
}

/** Whom a request counts against: an authenticated caller, or without `did` an address. */
export interface Sender {
  readonly did?: string;
  readonly address: string;
}

/** Counts a request against its sender. @returns milliseconds to wait if over the limit, else 0 */
export type RateLimit = (sender: Sender) => Promise<number>;

/** Transfers of whole files. */
export interface HttpFiles extends FileTransfers {
  /**
   * The context a ticket gives its holder for one use.
   * @returns `undefined` for a ticket that is invalid, expired or for another use; `taken back` for a valid one whose
   * authority has been revoked
   * @throws FileAdapterError for an invalid path
   */
  redeem(ticket: string, use: Omit<TicketRequest, "ttlSeconds">): Promise<SurfaceContext | "taken back" | undefined>;
}

/** A small file of the venue's state. */
export interface DavFile {
  /** `undefined`: there is none yet. */
  read(): Promise<string | undefined>;
  /** Replaces it as a whole. @throws the system's error */
  write(text: string): Promise<void>;
  /** Keeps a damaged file beside the next one; the log says so. */
  setAside(): Promise<void>;
}

/** A lock of a WebDAV client. Times are milliseconds since the epoch. */
export interface DavLock {
  readonly id: string;
  readonly place: { readonly space: string; readonly root?: string; readonly segments: readonly string[] };
  /** Holder of the lock, as the client says. */
  readonly ownerText: string;
  /** DID of who holds it. */
  readonly caller: string;
  readonly since: number;
  readonly expires: number;
}

/** The locks of WebDAV clients, for the operator. */
export interface DavLocks {
  /** All in force, the oldest first. */
  all(): readonly DavLock[];
  /** Looks at those of other instances. */
  look(): Awaitable<unknown>;
  /** Ends a lock, whoever holds it. @returns `false`: there is none with this id */
  drop(id: string): boolean;
  /** To be awaited before it is told that one ended. */
  settle(): Awaitable<void>;
}

/** The part of the venue that WebDAV uses. */
export interface HttpDav {
  /** Whether callers without credentials are served, as far as public access goes. */
  readonly anonymous: boolean;
  /** Longest time of a lock, in seconds. */
  readonly lockSeconds: number;
  /** Maximum number of locks of all callers together. */
  readonly maxLocks: number;
  /** Makes the `Locks` of several instances, which have their properties too. Absent: the venue is one process. */
  readonly makeLocks?: ((options: { readonly most: number; readonly now: () => number }) => DavLocks) | undefined;
  /** Takes the locks, once. */
  onLocks(locks: DavLocks): void;
  /** Maximum bytes of files in all drives of one caller. */
  readonly maxDriveBytes: number;
  /** Keeps the properties that clients store. Absent: they are kept in memory. */
  readonly propertyFile?: DavFile | undefined;
  /** Facts of a root, whoever asks; they must not be told to those who do not see it. `undefined`: there is none. */
  root(name: string): Pick<RootFacts, "kind" | "readOnly" | "drive" | "usage" | "foldName"> | undefined;
  /** Runs an operation on roots (`file:`) or drives (`dlfs:`). @throws FileAdapterError */
  invoke(operation: string, input: JsonObject, context: SurfaceContext): Promise<unknown>;
}

/** Answer of a login, as of `auth:issue`. */
export interface LoginAnswer {
  readonly id: string;
  readonly did: string;
  /** Milliseconds since the epoch. */
  readonly expires: number;
  readonly token: string;
}

/**
 * Exchanges the code of a link for a token, once.
 * @returns milliseconds to wait after too many wrong codes; `undefined` for a code that is wrong, used or expired
 */
export type Login = (code: string) => Awaitable<LoginAnswer | { readonly retryMs: number } | undefined>;

/** Metrics for a monitoring system, and who may read them. */
export interface HttpMetrics {
  readonly readers: "operator" | "public";
  /** Prometheus text exposition. */
  text(): Promise<{ readonly contentType: string; readonly body: string }>;
}

/** A file of the workspace page. */
export interface WorkspaceAsset {
  readonly type: string;
  readonly brotli: Buffer;
  /** The bytes for clients that do not take brotli. */
  plain(): Buffer;
}

/** The workspace page: a client of this surface that browsers load. */
export interface WorkspacePage {
  /** @param base path below which the page lies, with a slash at the end */
  document(nonce: string, base: string): string;
  /** The document that shows content of roots, in a sandbox. */
  preview(nonce: string): string;
  asset(name: string): WorkspaceAsset | undefined;
}

/** A root as the operator sees it. */
export interface RootStatus {
  readonly name: string;
  readonly readOnly: boolean;
  readonly drive?: true;
  /** Why its journal is not whole. */
  readonly journal?: JournalFault;
}

/** The state of a venue, without host paths. */
export interface OperatorStatus {
  readonly uptimeMs: number;
  readonly roots: readonly RootStatus[];
  readonly jobs: { readonly kept: number; readonly running: number };
  /** Number of open event streams. */
  readonly streams: number;
  /** Number of access tokens and sessions in force. */
  readonly tokens: { readonly access: number; readonly sessions: number };
  readonly versions: { readonly venue: string; readonly node: string };
}

/** The part of the venue that the HTTP surface uses. */
export interface HttpHost {
  readonly did: string;
  readonly name: string;
  /** Version of this package. */
  readonly version: string;
  readonly description: string;
  /** Whether callers without credentials are served. */
  readonly publicAccess: boolean;
  /** The caller that stands for all callers without credentials. */
  readonly publicCaller: Caller;
  readonly authenticate: Authenticate;
  /** URLs of outside issuers whose tokens are taken. None: nobody signs in elsewhere. */
  authorizationServers(): readonly string[];
  /** Whether a caller would still be let in as it was: streams end when its credential does. */
  stillHolds(caller: Caller): boolean;
  /** Names the caller of a call without credentials by the UCANs in it. */
  readonly nameCaller: NameCaller;
  /** Waits for what is needed to judge UCANs. Absent: it is always known. @throws SHARED_STATE_UNAVAILABLE */
  readonly fresh?: (() => Awaitable<void>) | undefined;
  /** Names by which clients reach the venue, besides those of its URL and of loopback; in lower case, without port. */
  readonly hosts: readonly string[];
  /** Origins other than the venue's own that may call; `*`: any. */
  readonly corsOrigins: readonly string[] | "*";
  /** Whether `X-Forwarded-*` is trusted for the client's address, and for that which it has called. */
  readonly trustProxy: boolean;
  readonly limits: HttpLimits;
  /** Absent: no rate limit. */
  readonly rateLimit?: RateLimit | undefined;
  readonly jobs: CallerJobs;
  /** Absent: the venue is one process. */
  readonly peers?: HttpPeers | undefined;
  readonly assets: Assets;
  /** Absent: there is no `/api/v1/files`. */
  readonly files?: HttpFiles | undefined;
  /** Absent: there is neither `/dav` nor `/dlfs`. */
  readonly dav?: HttpDav | undefined;
  /** Absent: there is no `/api/v1/login`. */
  readonly login?: Login | undefined;
  /** Absent: there is no `/api/v1/events`. */
  readonly events?: VenueEvents | undefined;
  /** Absent: there is no `/metrics`. */
  readonly metrics?: HttpMetrics | undefined;
  /** Absent: there is no `/workspace/`. */
  readonly workspace?: WorkspacePage | undefined;
  /** Base URL without a trailing slash; called only while the surface listens. */
  url(): string;
  /** Milliseconds since the epoch. */
  nowMs(): number;
  stats(): HttpStats;
  /** Part of the status for the operator only. */
  operatorStatus(): OperatorStatus;
  /** Counts the event streams that are open. */
  readonly streams: { open: number };
  /** The DID document. @param url by which its reader has come */
  didDocument(url: string): JsonObject;
  operations(): readonly OperationListing[];
  /** Resolves any reference a client may use for an operation. */
  operation(reference: string): FoundOperation | undefined;
  /** Starts a job of a resolved operation. */
  submit(submission: Submission): RecordedJob;
  /** The value tree that clients can read: plain objects, arrays and scalars. */
  values(): JsonObject;
  /** A new id for a failed request, shown to the caller instead of the details. */
  requestId(): string;
  logInternal(error: unknown, requestId: string): void;
  readonly log: Log;
  /** Absent: there is no `/mcp`. */
  readonly mcp?: McpEndpoint | undefined;
}
