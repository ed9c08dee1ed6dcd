// The denial of operations on tokens, in the form of file denials.

import type { DenialReason } from "../../authz/denial.js";
import { adapterError, type ErrorData, type FileAdapterError } from "../../core/errors/errors.js";
import { isFull } from "../../core/unknown.js";

/** A denial that does not concern a file. */
export interface Refusal {
  readonly operation: string;
  /** Continues the text after `requires`. */
  readonly requires: string;
  /** Default: no right covers it. */
  readonly reasons?: readonly DenialReason[];
  readonly deniedBy?: "agent_caps" | "authority" | "proofs";
  readonly more?: ErrorData;
}

/** CAPABILITY_DENIED for a right that no capability can grant. */
export function refusedOperation({
  operation,
  requires,
  reasons = ["not_covered"],
  deniedBy = "authority",
  more,
}: Refusal): FileAdapterError {
  const text =
    `Capability denied: ${operation} requires ${requires}. ` +
    "Retrying the same call will not succeed - the denial is structural.";
  const data = { structural: true, retryable: false, operation, denied_by: [deniedBy], reasons, ...more };
  return adapterError("CAPABILITY_DENIED", text, data);
}

/** The error for a revocation that is in force, but was not written. */
export const notKept = (error: unknown): unknown =>
  isFull(error)
    ? adapterError(
        "NO_SPACE",
        "No space left in 'stateDir': this is revoked until the venue restarts, and not for longer. Free space there, then revoke it again",
      )
    : error;
