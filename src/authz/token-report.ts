// Question and answer of a token inspection.

import type { Capability } from "../core/call/capability.js";
import type { DenialReason } from "./denial.js";

/** A question about a token. */
export interface TokenQuestion {
  readonly token: string;
  /** The resource and the ability to check; only together. */
  readonly with?: string;
  readonly can?: string;
  /** DID that the token's audience should be. */
  readonly aud?: string;
}

/** The check of one token of a chain. */
export interface LinkReport {
  readonly id?: string;
  readonly issuer?: string;
  readonly audience?: string;
  /** Seconds since the epoch; `null`: never. */
  readonly expires?: number | null;
  readonly notBefore?: number;
  /** The token's own list as written. */
  readonly grants: readonly Capability[];
  /** 0: the token itself, 1: its proofs, and so on. Links are in depth-first order. */
  readonly depth: number;
  /** Faults of this link alone; empty: none. */
  readonly reasons: readonly DenialReason[];
}

/** An entry of a token's list with caveats, which grants nothing here. */
export interface ConstrainedGrant extends Capability {
  readonly nb: unknown;
  readonly applies: false;
  readonly reason: "constrained";
  /** Names the caveat. */
  readonly text: string;
}

/** Grants of a token under this configuration, whoever its audience is. */
export interface TokenReport {
  /** The token grants what was asked for (or, without `with`, anything), and its audience is the one asked for. */
  readonly valid: boolean;
  readonly reasons: readonly DenialReason[];
  /** The effective grants, each as written in the token's own list; then the entries with caveats. */
  readonly grants: readonly (Capability | ConstrainedGrant)[];
  readonly chain: readonly LinkReport[];
  /** The earliest end in the chain, in seconds since the epoch; `null`: never, or the token is unreadable. */
  readonly expires: number | null;
}
