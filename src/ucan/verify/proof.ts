// Types of verification: tokens of a request, the grants and faults of their chains, and the verifier.

import type { WrittenEntry } from "../token/capability-entries.js";
import type { DecodedToken } from "../token/decode.js";
import type { TokenFault } from "../token/fault.js";

/** Giver of a capability. */
export interface GrantReading {
  /** Canonical DID. Absent: nobody known. */
  readonly giver?: string | undefined;
  readonly canonicalDid?: ((did: string) => string) | undefined;
}

/** Semantics of capabilities, on which token handling does not depend. */
export interface GrantSemantics<G> {
  /** @param entry `{with, can}`, possibly with more fields @returns `undefined` if it grants nothing */
  parse(entry: unknown, reading?: GrantReading): G | undefined;
  covers(wide: G, narrow: G): boolean;
  /** The owner that a grant itself names. Absent, `undefined`: none. */
  ownerOf?(grant: G): string | undefined;
}

/** One link of a chain, for display and audit. */
export interface ChainLink {
  /** Token id: base64url SHA-256 of the signed text. */
  readonly id: string;
  readonly issuer: string;
}

/** A grant proved by a chain. */
export interface HeldGrant<G> {
  readonly grant: G;
  /** From the top token to the one signed by the owner. */
  readonly chain: readonly ChainLink[];
  /** Seconds since the epoch; `null`: no expiry. */
  readonly expiresAt: number | null;
}

/** A fault, and the id of the token it was found in, if it has one. */
export interface ChainFault {
  readonly reason: TokenFault;
  readonly id?: string;
}

/** Grants of a token for a given owner of the root, and faults. */
export interface Verdict<G> {
  readonly grants: readonly HeldGrant<G>[];
  /** Why it grants no more: uncovered capabilities, invalid proofs, or its own faults. */
  readonly faults: readonly ChainFault[];
}

/** A token of a request. Nothing is verified except the result of {@link UcanToken.verdict}. */
export interface UcanToken<G> {
  readonly text: string;
  /** Absent: it is unreadable, or its chain exceeds a limit. */
  readonly decoded?: DecodedToken;
  /** Why it, or its whole chain, is unreadable. */
  readonly fault?: TokenFault;
  readonly id?: string;
  /** Whether it has, or may have, capabilities; only a token certain to have none cannot be a proof. */
  readonly carriesCapabilities: boolean;
  /** Its parsed capabilities, without those that grant nothing. */
  readonly own: readonly G[];
  /** Capabilities as written, for display. */
  readonly entries: readonly WrittenEntry[];
  /** Its proofs in order; a missing or unreadable one is a fault. */
  readonly proofs: readonly (UcanToken<G> | TokenFault)[];
  /** The first fault of this token, without its proofs: revocation, time, lifetime, signature, in this order. A lacking end is
   * a fault of the chain. */
  check(): TokenFault | undefined;
  /** Its grants if `owner` owns the root. Computed once per owner. */
  verdict(owner: string): Verdict<G>;
}

/** Revoked token ids and DIDs. */
export interface Revocations {
  has(idOrDid: string): boolean;
  /** UCANs and access tokens issued up to then, or that do not say when, are revoked; seconds since the epoch. */
  readonly notBefore?: number | undefined;
}

/** Reads the tokens of requests. */
export interface UcanVerifier<G> {
  /** Reads the tokens of one request, which may refer to each other. Fixes the time; no cryptography yet. */
  read(tokens: readonly string[]): readonly UcanToken<G>[];
  /** Issuers in the chain of a recently verified token, including its own. */
  issuersOf(id: string): ReadonlySet<string> | undefined;
}
