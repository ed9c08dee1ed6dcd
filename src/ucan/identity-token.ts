import { type DecodedToken, decodeToken } from "./decode.js";
import type { TokenFault } from "./fault.js";
import type { PublicKeys } from "./public-keys.js";
import { checkSignature } from "./signature.js";
import { checkValidity, hasCome, nowSeconds, parseTime, type TimeRules } from "./time.js";

/** Seconds that a token for no venue in particular may live: it could be used at any other. */
const MAX_UNBOUND_LIFETIME = 300;
/** A DID as it can be shown to people, without a path or a fragment. */
const PLAIN_DID = /^did:[a-z0-9]+:[A-Za-z0-9._:%-]{1,256}$/;

/** What a token must be to say who sends it. */
export interface IdentityRules extends TimeRules {
  readonly venueDid: string;
  /** Seconds from now to the latest end of a token. */
  readonly maxLifetimeSeconds: number;
  /** Whether short-lived tokens may leave out for whom they are. */
  readonly acceptUnbound: boolean;
  readonly keys: PublicKeys;
}

/** Whose token it is, or why it is nobody's. `not_an_identity`: a UCAN, which this version takes from nobody. */
export type IdentityVerdict =
  | { readonly did: string }
  | {
      readonly refused: TokenFault | "not_an_identity";
      /** It is well formed, well signed, and meant for this DID in place of the venue. */
      readonly delegatedTo?: string;
    };

/**
 * Judges a token that is to say who sends it. Synchronous, without network access.
 *
 * @param token JWT in compact form
 * @returns the `did:key` of its issuer
 */
export function verifyIdentityToken(token: string, rules: IdentityRules): IdentityVerdict {
  const decoded = decodeToken(token);
  if ("fault" in decoded) return { refused: decoded.fault };
  if (decoded.kind === "ucan") return refuseUcan(decoded, rules);
  const refused = checkIdentity(decoded, rules) ?? checkSignature(decoded, rules.keys);
  return refused === undefined ? { did: decoded.issuer } : { refused };
}

function refuseUcan(token: DecodedToken, { venueDid, keys }: IdentityRules): IdentityVerdict {
  const { audience, expiresAt } = token;
  if (expiresAt === undefined) return { refused: "no_exp" };
  if (audience === undefined || audience === venueDid) return { refused: "not_an_identity" };
  // Told only to somebody who holds a real one.
  const fault = checkSignature(token, keys);
  if (fault !== undefined) return { refused: fault };
  return { refused: "wrong_audience", ...(PLAIN_DID.test(audience) ? { delegatedTo: audience } : {}) };
}

function checkIdentity(token: DecodedToken, rules: IdentityRules): TokenFault | undefined {
  const { sub, prf } = token.payload;
  if (sub === undefined || prf !== undefined) return "malformed";
  return checkAudience(token, rules) ?? checkTimes(token, rules);
}

function checkAudience({ audience }: DecodedToken, rules: IdentityRules): TokenFault | undefined {
  const fits = audience === undefined ? rules.acceptUnbound : audience === rules.venueDid;
  return fits ? undefined : "wrong_audience";
}

function checkTimes(token: DecodedToken, rules: IdentityRules): TokenFault | undefined {
  const fault = checkValidity(token, rules);
  if (fault !== undefined) return fault;
  const { audience, expiresAt, payload } = token;
  const { iat } = payload;
  if (typeof expiresAt !== "number") return "bad_exp";
  if (expiresAt - nowSeconds(rules) > rules.maxLifetimeSeconds + rules.clockSkewSeconds) return "bad_exp";
  const issuedAt = parseTime(iat);
  if (issuedAt === undefined) return iat === undefined && audience !== undefined ? undefined : "malformed";
  if (!hasCome(issuedAt, rules)) return "not_yet_valid";
  return audience === undefined && expiresAt - issuedAt > MAX_UNBOUND_LIFETIME ? "bad_exp" : undefined;
}
