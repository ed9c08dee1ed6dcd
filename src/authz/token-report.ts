import type { Capability } from "../core/call/capability.js";
import type { DenialReason } from "./denial.js";

/** What is asked about a token. */
export interface TokenQuestion {
  readonly token: string;
  /** A resource and an ability: would it allow this? Only together. */
  readonly with?: string;
  readonly can?: string;
  /** For whom it should be. */
  readonly aud?: string;
}

/** One token of a chain, checked. */
export interface LinkReport {
  readonly id?: string;
  readonly issuer?: string;
  readonly audience?: string;
  /** Seconds since the epoch; `null`: no end. */
  readonly expires?: number | null;
  readonly notBefore?: number;
  /** Its own list as written. */
  readonly grants: readonly Capability[];
  /** 0: the token itself, 1: its proofs, and so on. Links stand in the order of a walk from the top. */
  readonly depth: number;
  /** What is wrong with this very link; empty: nothing. */
  readonly reasons: readonly DenialReason[];
}

/** What a token is worth on this configuration, whoever its audience may be. */
export interface TokenReport {
  /** It gives something, or what was asked for, and is for whom was asked for. */
  readonly valid: boolean;
  readonly reasons: readonly DenialReason[];
  /** What it really gives here, each as its own list writes it. */
  readonly grants: readonly Capability[];
  readonly chain: readonly LinkReport[];
  /** Seconds since the epoch; `null`: no end, or it cannot be read. */
  readonly expires: number | null;
}
