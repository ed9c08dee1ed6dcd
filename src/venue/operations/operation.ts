// The interface of the venue's own operations (ucan:*, auth:*, audit:*).

import type { HostedFileAdapter } from "../../adapter/adapter.js";
import type { AuditLog } from "../../audit/log.js";
import type { AuthConfig } from "../../config/types.js";
import type { Capability } from "../../core/call/capability.js";
import type { Clock } from "../../core/clock.js";
import type { Awaitable } from "../../core/io.js";
import type { Annotations } from "../../core/ports/adapter.js";
import type { EventSink } from "../../core/ports/changes/events.js";
import type { DavLocks } from "../../surfaces/http/host.js";
import type { PublicKeys } from "../../ucan/verify/public-keys.js";
import type { Approvals } from "../approvals/approvals.js";
import type { HostedCall } from "../catalogue/hosted-adapter.js";
import type { Access } from "../identity/access.js";

/** Parts of the venue that its own operations use. */
export interface OperationParts {
  readonly access: Access;
  /** Takes events of tokens. Absent: nobody follows. */
  readonly events?: EventSink;
  /** Absent where nobody can be asked: the venue does not listen. */
  readonly approvals?: Approvals | undefined;
  /** `undefined` while it serves no WebDAV. */
  locks(): DavLocks | undefined;
  /** Base URL of the venue; `undefined` if it does not listen. */
  url(): string | undefined;
  /** Grants are about files, so the adapter that hosts them evaluates them. */
  readonly files: Pick<HostedFileAdapter, "rights" | "roots">;
  /** Absent: there is no audit that could be read. */
  readonly audit?: AuditLog | undefined;
  /** When a revocation holds everywhere. Absent: it does, since the venue is one process. */
  readonly effect?: ((waits: boolean) => Promise<object>) | undefined;
  /**
   * DIDs and token ids on whose authority the venue signed a token, by its id: those may revoke it. The most recently signed ones; for
   * older ones, and after a restart, the token itself holds the same names.
   */
  readonly issued: Map<string, readonly string[]>;
  readonly keys: PublicKeys;
  readonly clock: Clock;
  /** The rules in force; they can change while the venue runs. */
  auth(): Pick<AuthConfig, "clockSkew" | "ucan" | "grants">;
  /** Capabilities of everybody. */
  publicCaps(): readonly Capability[];
  /** Whether the venue keeps its key across restarts. */
  readonly keyLasts: boolean;
}

export interface OperationCall extends HostedCall {
  readonly venue: OperationParts;
}

/** An operation of the venue itself. Each has a file here, a schema, a test, and a line in the registry. */
export interface VenueOperation<Input> {
  /** Dispatch name, `ucan:issue`; its schema is `schemas/ucan/issue.json`. */
  readonly name: string;
  readonly annotations: Annotations;
  /** Input fields left out of job records. */
  readonly hidden?: readonly string[];
  /** Output fields left out of job records; only a caller that waits for the answer gets them. */
  readonly hiddenOutput?: readonly string[];
  /** @param input valid against its schema @throws FileAdapterError for a failure the caller should see */
  run(input: Input, call: OperationCall): Awaitable<unknown>;
}

/** An operation whose input has been validated against its schema. */
export type AnyVenueOperation = VenueOperation<unknown>;
