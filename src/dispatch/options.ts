// The parts of a dispatcher.

import type { AuditSink } from "../audit/record.js";
import type { Authority } from "../authz/authority.js";
import type { CapsReading } from "../authz/caps-list.js";
import type { DocumentReader } from "../core/call/documents.js";
import type { Limits } from "../core/call/limits.js";
import type { Scanners } from "../core/call/scan.js";
import type { CallScope } from "../core/call/scope.js";
import type { Clock } from "../core/clock.js";
import type { TagOf } from "../core/etag.js";
import type { VersionCache } from "../core/etag-cache.js";
import type { SurfaceContext } from "../core/ports/adapter.js";
import type { ApprovalDesk } from "../core/ports/approval.js";
import type { ChangeSink } from "../core/ports/changes/change.js";
import type { DriveShelf } from "../core/ports/drive-shelf.js";
import type { AnyOperation, OpenRoot, PathCall, PersonalRoot, PlaceRequest } from "../core/ports/operation.js";
import type { TicketOffice } from "../core/ports/transfer.js";
import type { ChangeFeed } from "../feed/change-feed.js";
import type { OperationSchema } from "../schema/load.js";
import type { InputValidator } from "../schema/validate.js";
import type { Gate } from "./gate.js";
import type { Repeats } from "./repeated-calls.js";

export interface RegisteredOperation {
  readonly operation: AnyOperation;
  readonly schema: OperationSchema;
}

export interface DispatchOptions {
  readonly adapterName: string;
  readonly operations: ReadonlyMap<string, RegisteredOperation>;
  readonly roots: readonly OpenRoot[];
  /** Present: the operations are on the caller's drives, named by `drive` in the input, instead of on roots. */
  readonly drives?: DriveSpace | undefined;
  /** Drives that operations on roots name by references. Absent: none. */
  readonly references?: NamedDrives | undefined;
  /** Finds what operations on drives name by references. Absent: nothing. */
  readonly elsewhere?: { refer(call: ReferringCall, request: PlaceRequest): PathCall } | undefined;
  /** Base URL at which WebDAV is served to a caller. Absent, `undefined`: it is not. */
  readonly davUrl?: ((context: SurfaceContext) => string | undefined) | undefined;
  readonly validator: InputValidator;
  readonly limits: Limits;
  /** Shared by adapters with a common limit on concurrent calls. */
  readonly gate?: Gate | undefined;
  /** The gate of streaming operations, which last as long as their clients and must not block other calls. */
  readonly streamGate?: Gate | undefined;
  /** Results of calls with an `operationId`; may be shared by adapters. */
  readonly repeats?: Repeats | undefined;
  /** The desk that asks a person. Absent: calls that need an approval are refused. */
  readonly approvals?: ApprovalDesk | undefined;
  /** Issues tickets for transfers. Absent: there are none. */
  readonly tickets?: TicketOffice | undefined;
  /** Writes version stamps of files for HTTP. Absent: they are not told. */
  readonly tagOf?: TagOf | undefined;
  /** Cache of known hashes; may be shared by adapters too. */
  readonly versions?: VersionCache | undefined;
  /** Scanners for operations that search in files. Absent: there are none. */
  readonly scanners?: Scanners | undefined;
  /** Reads the text of documents. Absent: models get them described. */
  readonly documents?: DocumentReader | undefined;
  readonly clock: Clock;
  readonly discloseHostPaths: boolean;
  /** The caller's authority, before caps lists narrow it. */
  readonly authorityOf: (context: SurfaceContext) => Authority;
  /** How caps lists of a caller are read. Absent: drives in them are nobody's. */
  readonly capsReading?: ((context: SurfaceContext) => CapsReading) | undefined;
  /** DID of the owner of the drives that a caller uses. `undefined`: the caller has none. Absent: there are no drives. */
  readonly driveOwner?: (context: SurfaceContext) => string | undefined;
  /** Judges a caller anew, for work that outlives its request; `undefined`: refused now. Absent: callers stay as they were. */
  readonly rejudge?: ((context: SurfaceContext) => SurfaceContext | undefined) | undefined;
  /** The feed of changes. Absent: nothing can be watched. */
  readonly feed?: ChangeFeed | undefined;
  readonly audit?: AuditSink | undefined;
  /** Name of the caller in records of changes: its DID, `operator` for the operator. Absent: the DID as it is. */
  readonly actorOf?: ((context: SurfaceContext) => string) | undefined;
  /** Hear of every committed change. */
  readonly changeSinks?: readonly ChangeSink[] | undefined;
  /** Called on unexpected failures (INTERNAL_ERROR), with the request id that the caller was given. */
  readonly onInternalError?: ((error: unknown, requestId: string) => void) | undefined;
}

/** A call that names a place by a reference. */
export interface ReferringCall {
  readonly name: string;
  readonly context: SurfaceContext;
  readonly scope: CallScope;
  readonly operation: AnyOperation;
  /** Resources of its further places, for its record. */
  readonly others: (readonly string[])[];
}

/** Drives named by references. */
export interface NamedDrives {
  /** @param name of the drive as a root @throws INVALID_INPUT for a name that no drive can have */
  drive(drive: string, name: string): PersonalRoot;
  /** The one DID of a subject that has several. */
  canonicalDid(did: string): string;
}

/** Opens drives by name. */
export interface DriveSpace {
  /** @throws INVALID_INPUT for a name that no drive can have */
  root(drive: string): PersonalRoot;
  /** The drives of one owner. @param owner its DID @throws as a drive's backend does */
  shelf(owner: string): Promise<DriveShelf>;
}
