import type { DecodedToken } from "../token/decode.js";
import type { TokenFault } from "../token/fault.js";

/** What capabilities mean; the tokens themselves do not know. */
export interface GrantSemantics<G> {
  /** @param entry `{with, can}`, perhaps with more @returns `undefined`: it grants nothing */
  parse(entry: unknown): G | undefined;
  covers(wide: G, narrow: G): boolean;
}

/** One link of a chain, for people and the audit. */
export interface ChainLink {
  /** base64url SHA-256 of what was signed. */
  readonly id: string;
  readonly issuer: string;
}

/** A grant that a chain really gives. */
export interface HeldGrant<G> {
  readonly grant: G;
  /** From the top token to the one that its owner signed. */
  readonly chain: readonly ChainLink[];
  /** Seconds; `null`: no end. */
  readonly expiresAt: number | null;
}

/** A fault, and the token it was found in, as far as that has an id. */
export interface ChainFault {
  readonly reason: TokenFault;
  readonly id?: string;
}

/** What a token gives when a certain owner is at the root. */
export interface Verdict<G> {
  readonly grants: readonly HeldGrant<G>[];
  /** Why it gives no more: entries of its own list that nothing covers, proofs that fell away, or its own faults. */
  readonly faults: readonly ChainFault[];
}

/** A token of a request. Nothing here was proved yet, except what {@link UcanToken.verdict} says. */
export interface UcanToken<G> {
  readonly text: string;
  /** Absent: it could not be read, or its chain breaks a limit. */
  readonly decoded?: DecodedToken;
  /** Why it, or its whole chain, cannot be read. */
  readonly fault?: TokenFault;
  readonly id?: string;
  /** Whether it has, or may have, capabilities: only a token that is plainly without is no proof. */
  readonly carriesCapabilities: boolean;
  /** Its list, parsed; what grants nothing is left out. */
  readonly own: readonly G[];
  /** As written, for people; at most as many as a token may have. */
  readonly entries: readonly { readonly with: string; readonly can: string }[];
  /** Its proofs in order; one that is missing or cannot be read is only a fault. */
  readonly proofs: readonly (UcanToken<G> | TokenFault)[];
  /** Faults of this very token, without its proofs: revoked, time, lifetime, signature, in this order. */
  check(): TokenFault | undefined;
  /** Its grants when `owner` is the root. Worked out once for each owner. */
  verdict(owner: string): Verdict<G>;
}

/** Ids and DIDs that are not to be believed any more. */
export interface Revocations {
  has(idOrDid: string): boolean;
}

/** Reads the tokens of requests. */
export interface UcanVerifier<G> {
  /** The tokens of one request, which may name each other as proofs. Judged by the time of this call. No cryptography yet. */
  read(tokens: readonly string[]): readonly UcanToken<G>[];
  /** Issuers in the chain of a token that has verified lately, its own among them. */
  issuersOf(id: string): ReadonlySet<string> | undefined;
}
