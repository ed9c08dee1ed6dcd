import type { DenialReason } from "../../authz/denial.js";
import { adapterError, type ErrorData, type FileAdapterError } from "../../core/errors/errors.js";

/** A denial that is not about a file. */
export interface Refusal {
  readonly operation: string;
  /** What goes on after `requires`. */
  readonly requires: string;
  readonly reasons: readonly DenialReason[];
  readonly deniedBy?: "agent_caps" | "authority" | "proofs";
  readonly more?: ErrorData;
}

/** The error of a right that no capability can give. */
export function refused({ operation, requires, reasons, deniedBy = "authority", more }: Refusal): FileAdapterError {
  const text =
    `Capability denied: ${operation} requires ${requires}. ` +
    "Retrying the same call will not succeed - the denial is structural.";
  const data = { structural: true, retryable: false, operation, denied_by: [deniedBy], reasons, ...more };
  return adapterError("CAPABILITY_DENIED", text, data);
}
