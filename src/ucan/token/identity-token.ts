// Verifies tokens that authenticate their sender: identity tokens and invocation UCANs.

import type { Revocations, UcanToken, UcanVerifier } from "../verify/proof.js";
import { checkSignature, type PublicKeys } from "../verify/public-keys.js";
import { type DecodedToken, decodeToken } from "./decode.js";
import { namesInFacts } from "./facts.js";
import type { TokenFault } from "./fault.js";
import { tokenId } from "./id.js";
import { checkValidity, hasCome, nowSeconds, parseTime, type TimeRules } from "./time.js";

/** Maximum lifetime in seconds of a token without audience, since it could be replayed at any other venue. */
const MAX_UNBOUND_LIFETIME = 300;
/** A DID that is safe to display, without path or fragment. */
const PLAIN_DID = /^did:[a-z0-9]+:[A-Za-z0-9._:%-]{1,256}$/;

/** Rules for a UCAN that authenticates its sender. */
export interface InvocationRules extends TimeRules {
  readonly venueDid: string;
  /** Maximum remaining lifetime of a token, in seconds. */
  readonly maxLifetimeSeconds: number;
}

/** Rules for a token of either kind that authenticates its sender. */
export interface IdentityRules<G> extends InvocationRules {
  /** Whether short-lived tokens may omit the audience. */
  readonly acceptUnbound: boolean;
  readonly keys: PublicKeys;
  readonly revocations: Revocations;
  /** Verifies UCANs. */
  readonly verifier: UcanVerifier<G>;
}

/** {@link IdentityRules} without the dependency on capability semantics. */
type Rules = Omit<IdentityRules<unknown>, "verifier">;

/** The DID a token authenticates, or why it is refused. */
export type IdentityVerdict<G> =
  | {
      readonly did: string;
      /** Present if it is a UCAN: its capabilities bound the caller's authority. */
      readonly ucan?: UcanToken<G>;
    }
  | {
      readonly refused: TokenFault;
      /** Present for a valid token whose audience is this DID instead of the venue. */
      readonly delegatedTo?: string;
    };

/**
 * Verifies a token that authenticates its sender. Synchronous, without network access.
 *
 * @param token JWT in compact form
 * @returns the `did:key` of its issuer
 */
export function verifyIdentityToken<G>(token: string, rules: IdentityRules<G>): IdentityVerdict<G> {
  const decoded = decodeToken(token);
  if ("fault" in decoded) return { refused: decoded.fault };
  if (decoded.kind === "ucan") return judgeUcan(token, decoded, rules);
  const refused = checkIdentity(decoded, rules) ?? checkSignature(decoded, rules.keys);
  return refused === undefined ? { did: decoded.issuer } : { refused };
}

function judgeUcan<G>(text: string, decoded: DecodedToken, rules: IdentityRules<G>): IdentityVerdict<G> {
  const { audience, expiresAt, issuer } = decoded;
  if (expiresAt === undefined) return { refused: "no_exp" };
  if (audience === undefined) return { refused: "malformed" };
  if (audience !== rules.venueDid) return refuseDelegation(decoded, audience, rules);
  const [ucan] = rules.verifier.read([text]);
  if (ucan === undefined) return { refused: "malformed" };
  const refused = checkInvocation(ucan, rules);
  return refused === undefined ? { did: issuer, ucan } : { refused };
}

function refuseDelegation(
  token: DecodedToken,
  audience: string,
  { keys }: Pick<Rules, "keys">,
): Exclude<IdentityVerdict<never>, { did: string }> {
  // Disclosed only to the holder of a genuine token.
  const fault = checkSignature(token, keys);
  if (fault !== undefined) return { refused: fault };
  return { refused: "wrong_audience", ...(PLAIN_DID.test(audience) ? { delegatedTo: audience } : {}) };
}

/**
 * Whether a UCAN for this venue authenticates its sender. Faults of its proofs are irrelevant, unless they exceed a
 * limit.
 *
 * @returns the fault, if any
 */
export function checkInvocation(token: UcanToken<unknown>, rules: InvocationRules): TokenFault | undefined {
  const { decoded } = token;
  if (token.fault !== undefined) return token.fault;
  if (decoded?.kind !== "ucan") return "malformed";
  if (decoded.audience !== rules.venueDid) return "wrong_audience";
  // A token that a venue signed on behalf of a caller does not authenticate that caller as the venue.
  if (namesInFacts(decoded.payload["fct"]).length > 0) return "wrong_audience";
  // Cheap checks first.
  return checkTimes(decoded, rules) ?? token.check();
}

function checkIdentity(token: DecodedToken, rules: Rules): TokenFault | undefined {
  const { issuer, signedText, payload } = token;
  const { sub, prf } = payload;
  if (sub === undefined || prf !== undefined) return "malformed";
  const { revocations } = rules;
  if (revocations.has(issuer) || revocations.has(tokenId(signedText))) return "revoked";
  return checkAudience(token, rules) ?? checkTimes(token, rules) ?? checkUnbound(token);
}

function checkAudience({ audience }: DecodedToken, rules: Rules): TokenFault | undefined {
  const fits = audience === undefined ? rules.acceptUnbound : audience === rules.venueDid;
  return fits ? undefined : "wrong_audience";
}

function checkTimes(token: DecodedToken, rules: InvocationRules): TokenFault | undefined {
  const fault = checkValidity(token, rules);
  if (fault !== undefined) return fault;
  const { expiresAt, payload } = token;
  if (typeof expiresAt !== "number") return "bad_exp";
  if (expiresAt - nowSeconds(rules) > rules.maxLifetimeSeconds + rules.clockSkewSeconds) return "bad_exp";
  if (payload["iat"] === undefined) return undefined;
  const issuedAt = parseTime(payload["iat"]);
  if (issuedAt === undefined) return "malformed";
  return hasCome(issuedAt, rules) ? undefined : "not_yet_valid";
}

/** Checks a token without audience. @param token already checked for its times */
function checkUnbound({ audience, expiresAt, payload }: DecodedToken): TokenFault | undefined {
  if (audience !== undefined) return undefined;
  const issuedAt = parseTime(payload["iat"]);
  if (issuedAt === undefined) return "malformed";
  return typeof expiresAt === "number" && expiresAt - issuedAt > MAX_UNBOUND_LIFETIME ? "bad_exp" : undefined;
}
