// The claims of a new token, in no particular token format.

import { randomBytes } from "node:crypto";
import type { Capability } from "../../core/call/capability.js";
import type { JsonObject } from "../../core/ports/adapter.js";
import type { SigningKey } from "./signing-key.js";

/** Claims of a new token, independent of its profile. */
export interface MintClaims {
  readonly key: SigningKey;
  readonly audience: string;
  readonly capabilities: readonly Capability[];
  /** Seconds since the epoch. */
  readonly expiresAt: number;
  /** Seconds since the epoch. */
  readonly notBefore?: number;
  /** Encoded tokens. */
  readonly proofs: readonly string[];
  readonly facts: readonly JsonObject[];
}

/**
 * A nonce, which makes tokens with equal claims differ: Ed25519 is deterministic, so they would have the same id, and
 * revoking one would revoke both.
 */
export const newNonce = (): string => randomBytes(12).toString("hex");
