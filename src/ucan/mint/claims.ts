import { randomBytes } from "node:crypto";
import type { Capability } from "../../core/call/capability.js";
import type { JsonObject } from "../../core/ports/adapter.js";
import type { SigningKey } from "./signing-key.js";

/** What a new token says, whatever its form. */
export interface MintClaims {
  readonly key: SigningKey;
  readonly audience: string;
  readonly capabilities: readonly Capability[];
  /** Seconds since the epoch. */
  readonly expiresAt: number;
  /** Whole tokens. */
  readonly proofs: readonly string[];
  readonly facts: readonly JsonObject[];
}

/** Sets apart two tokens that say the same: signing gives the same text again, and revoking one would revoke both. */
export const newNonce = (): string => randomBytes(12).toString("hex");
