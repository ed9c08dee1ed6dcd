import type { AuditSink } from "../audit/record.js";
import type { Authority } from "../authz/authority.js";
import type { Limits } from "../core/call/limits.js";
import type { Scanners } from "../core/call/scan.js";
import type { Clock } from "../core/clock.js";
import type { VersionCache } from "../core/etag-cache.js";
import type { SurfaceContext } from "../core/ports/adapter.js";
import type { AnyOperation, DriveShelf, OpenRoot, PersonalRoot } from "../core/ports/operation.js";
import type { TicketOffice } from "../core/ports/transfer.js";
import type { OperationSchema } from "../schema/load.js";
import type { InputValidator } from "../schema/validate.js";
import type { Gate } from "./gate.js";

export interface RegisteredOperation {
  readonly operation: AnyOperation;
  readonly schema: OperationSchema;
}

export interface DispatchOptions {
  readonly adapterName: string;
  readonly operations: ReadonlyMap<string, RegisteredOperation>;
  readonly roots: readonly OpenRoot[];
  /** Present: the operations are on drives of the caller, which `drive` names in the input, and not on roots. */
  readonly drives?: DriveSpace;
  readonly validator: InputValidator;
  readonly limits: Limits;
  /** Shared by adapters that have one limit together. */
  readonly gate?: Gate;
  /** Of those that stream, which take as long as their clients: they must not keep others waiting. */
  readonly streamGate?: Gate;
  /** Absent: there are no tickets. */
  readonly tickets?: TicketOffice;
  /** Hashes that are known, shared likewise. */
  readonly versions?: VersionCache;
  /** Where operations that look into files get what does it; absent: there are none. */
  readonly scanners?: Scanners;
  readonly clock: Clock;
  readonly discloseHostPaths: boolean;
  /** What a caller may do at all. */
  readonly authorityOf: (context: SurfaceContext) => Authority;
  /** Whose drives a caller uses. `undefined`: nobody's. Absent: there are no drives. */
  readonly driveOwner?: (context: SurfaceContext) => string | undefined;
  readonly audit?: AuditSink;
  /** Told of failures that nobody foresaw, with the id that the caller was given. */
  readonly onInternalError?: (error: unknown, requestId: string) => void;
}

/** All the drives there can be. */
export interface DriveSpace {
  /** @throws INVALID_INPUT for a name that no drive can have */
  root(drive: string): PersonalRoot;
  /** @throws as a drive's backend does */
  shelf(owner: string): Promise<DriveShelf>;
}
