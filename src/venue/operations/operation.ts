import type { HostedFileAdapter } from "../../adapter/adapter.js";
import type { AuthConfig } from "../../config/types.js";
import type { Clock } from "../../core/clock.js";
import type { Awaitable } from "../../core/io.js";
import type { Annotations } from "../../core/ports/adapter.js";
import type { PublicKeys } from "../../ucan/verify/public-keys.js";
import type { HostedCall } from "../catalogue/hosted-adapter.js";
import type { Access } from "../identity/access.js";
import type { IssuedTokens } from "./issued-tokens.js";

/** What the venue's own operations work with. */
export interface OperationParts {
  readonly access: Pick<Access, "did" | "operator" | "canonicalDid" | "verifier" | "revocations" | "key">;
  /** Rights are about files, so those who host them know. */
  readonly files: Pick<HostedFileAdapter, "rights" | "roots">;
  readonly issued: IssuedTokens;
  readonly keys: PublicKeys;
  readonly clock: Clock;
  /** The rules in force: they can change while the venue runs. */
  auth(): Pick<AuthConfig, "clockSkew" | "ucan">;
  /** Whether the venue has the same key after a restart. */
  readonly keyLasts: boolean;
}

export interface OperationCall extends HostedCall {
  readonly venue: OperationParts;
}

/** An operation of the venue itself: one file here, one schema, one test, one line in the registry. */
export interface VenueOperation<Input> {
  /** Dispatch name, `ucan:issue`; its schema is `schemas/ucan/issue.json`. */
  readonly name: string;
  readonly annotations: Annotations;
  /** Input fields that records of a call hide. */
  readonly hidden?: readonly string[];
  /** @param input what fits its schema @throws FileAdapterError for a failure its caller should read */
  run(input: Input, call: OperationCall): Awaitable<unknown>;
}

/** An operation whose input has passed its own schema. */
export type AnyVenueOperation = VenueOperation<unknown>;
