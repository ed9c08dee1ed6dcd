// The caller of a request: the result of authentication, and how tokens in a call can name the caller.

import type { Awaitable } from "../io.js";
import type { Capability } from "./capability.js";

/**
 * How the caller authenticated; `public`: not at all. `ucan`: with a UCAN for this venue, as bearer token or among the
 * tokens of a call; `key`: with a private key held by this process; `access-token` and `session`: with a token that the
 * venue issued, with and without capabilities of its own; `issuer`: with a token of an outside issuer.
 */
export type Authentication =
  | "public"
  | "local-token"
  | "static-token"
  | "identity"
  | "ucan"
  | "key"
  | "access-token"
  | "session"
  | "issuer";

/**
 * Identifies the bearer token of a caller, so that what outlives the request can check again whether the token is still
 * valid. Never the token itself: the SHA-256 (hex) of a static token, or the id of a signed or issued one; of a token of an
 * outside issuer its hash, and the caller's DID as the id, as such tokens change by the hour.
 */
export type Credential =
  | { readonly kind: "static-token"; readonly sha256: string }
  | { readonly kind: "identity"; readonly id: string }
  | { readonly kind: "access-token"; readonly id: string }
  | { readonly kind: "issuer"; readonly id: string; readonly token: string };

/**
 * Rights of the bearer of an access token: those of its maker at the time of the call, without those that everybody has,
 * as far as every one of these caps lists covers them. The bearer of a token of an outside issuer is its own maker.
 */
export interface AccessRights {
  /** Canonical DID of the maker, whose drives the bearer acts on. */
  readonly maker: string;
  /** Capabilities that the maker's static token adds to its DID. */
  readonly tokenCaps?: readonly Capability[];
  readonly caps: readonly (readonly Capability[])[];
  /** One more list: what the scopes of an outside issuer's token stand for. */
  readonly scopes?: readonly Capability[];
}

/** The authenticated caller of a request. */
export interface Caller {
  /** DID; `<venueDID>:public` without credentials. */
  readonly did: string;
  readonly authentication: Authentication;
  /** Whether this is the operator of the venue. */
  readonly isOperator: boolean;
  /** Absent for the local token, which is valid as long as the process, for UCANs, and without a bearer token. */
  readonly credential?: Credential;
  /** Capabilities its static token adds to those of its DID. */
  readonly tokenCaps?: readonly Capability[];
  /** The UCANs it authenticated with. Their capabilities bound its own authority, and they may carry proofs. */
  readonly identityTokens?: readonly string[];
  /** DID and ids of the UCANs that restrict the caller, if they do. Such a caller sees only jobs and events of the same tokens. */
  readonly narrowedTo?: string;
  /** Present for an access token: the rights of its bearer come from its maker. */
  readonly access?: AccessRights;
  /** Base URL by which the request came, where it is not that of the venue; addresses in the answer are below it. */
  readonly entrance?: string;
}

/** Id of the access token or session that a caller authenticated with. */
export const accessIdOf = ({ credential }: { readonly credential?: Credential | undefined }): string | undefined =>
  credential?.kind === "access-token" ? credential.id : undefined;

/** Result for an `Authorization` header. An invalid one is refused; it never falls back to the public caller. */
export type AuthenticationResult =
  | { readonly caller: Caller }
  | {
      readonly refused: "unsupported_scheme" | "invalid_token";
      /** The token delegates to this DID, so it is a proof rather than a credential. */
      readonly delegatedTo?: string;
      /** The signer in words, if it is a `did:key` of a type that is not accepted. */
      readonly signedBy?: string;
    }
  | {
      /** The keys of the token's issuer cannot be had now. */
      readonly refused: "unavailable";
      readonly retryAfterMs: number;
    };

/** Authenticates the value of an `Authorization` header. A promise only where an outside issuer's token is not known yet. */
export type Authenticate = (authorization: string) => Awaitable<AuthenticationResult>;

/**
 * Resolves the caller of a call from the tokens sent with it: UCANs for this venue can name a caller without
 * credentials. `ambiguous`: they name several.
 */
export type NameCaller = (caller: Caller, ucans: unknown) => Caller | "ambiguous";
