import type { Capability } from "./capability.js";

/**
 * How a caller proved who it is; `public`: not at all. `ucan`: by a UCAN for this venue, as bearer or among the tokens of
 * a call; `key`: by holding a private key on this side.
 */
export type Authentication = "public" | "local-token" | "static-token" | "identity" | "ucan" | "key";

/**
 * The bearer token that a caller was known by, for what outlives the request and has to ask again whether the token still
 * counts. Never the token itself: the SHA-256 of an agreed one (hex), or the id of a signed one.
 */
export type Credential =
  | { readonly kind: "static-token"; readonly sha256: string }
  | { readonly kind: "identity"; readonly id: string };

/** Who makes a request, as authentication found it. */
export interface Caller {
  /** The DID; of a caller without credentials `<venueDID>:public`. */
  readonly did: string;
  readonly authentication: Authentication;
  /** Whether this is the operator of the venue. */
  readonly isOperator: boolean;
  /** Absent for the local token, which ends only with the process, for UCANs, and without a bearer token. */
  readonly credential?: Credential;
  /** What its static token gives beyond what its DID has. */
  readonly tokenCaps?: readonly Capability[];
  /** The UCANs by which it is known: their lists bound what it may do by itself, and they may carry proofs. */
  readonly identityTokens?: readonly string[];
}

/** What an `Authorization` header leads to. It never makes its bearer an anonymous caller. */
export type AuthenticationResult =
  | { readonly caller: Caller }
  | {
      readonly refused: "unsupported_scheme" | "invalid_token";
      /** The token is a delegation to this DID, so it is no credential but a proof. */
      readonly delegatedTo?: string;
    };

/** Judges the value of an `Authorization` header. Synchronous, without network access. */
export type Authenticate = (authorization: string) => AuthenticationResult;

/**
 * Who a call is by, once the tokens sent with it are known: a caller without credentials can be named by UCANs for this
 * venue. `ambiguous`: they name several.
 */
export type NameCaller = (caller: Caller, ucans: unknown) => Caller | "ambiguous";
