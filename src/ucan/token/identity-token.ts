import type { Revocations, UcanToken, UcanVerifier } from "../verify/proof.js";
import type { PublicKeys } from "../verify/public-keys.js";
import { checkSignature } from "../verify/signature.js";
import { type DecodedToken, decodeToken } from "./decode.js";
import { namesInFacts } from "./facts.js";
import type { TokenFault } from "./fault.js";
import { tokenId } from "./id.js";
import { checkValidity, hasCome, nowSeconds, parseTime, type TimeRules } from "./time.js";

/** Seconds that a token for no venue in particular may live: it could be used at any other. */
const MAX_UNBOUND_LIFETIME = 300;
/** A DID as it can be shown to people, without a path or a fragment. */
const PLAIN_DID = /^did:[a-z0-9]+:[A-Za-z0-9._:%-]{1,256}$/;

/** What a UCAN must be to say who sends it. */
export interface InvocationRules extends TimeRules {
  readonly venueDid: string;
  /** Seconds from now to the latest end of a token. */
  readonly maxLifetimeSeconds: number;
}

/** What a token of either kind must be to say who sends it. */
export interface IdentityRules<G> extends InvocationRules {
  /** Whether short-lived tokens may leave out for whom they are. */
  readonly acceptUnbound: boolean;
  readonly keys: PublicKeys;
  readonly revocations: Revocations;
  /** Judges UCANs. */
  readonly verifier: UcanVerifier<G>;
}

/** The same as far as it does not depend on what capabilities mean. */
type Rules = Omit<IdentityRules<unknown>, "verifier">;

/** Whose token it is, or why it is nobody's. */
export type IdentityVerdict<G> =
  | {
      readonly did: string;
      /** Present when it is a UCAN: its list bounds what it is good for. */
      readonly ucan?: UcanToken<G>;
    }
  | {
      readonly refused: TokenFault;
      /** It is well formed, well signed, and meant for this DID in place of the venue. */
      readonly delegatedTo?: string;
    };

/**
 * Judges a token that is to say who sends it. Synchronous, without network access.
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
  // Told only to somebody who holds a real one.
  const fault = checkSignature(token, keys);
  if (fault !== undefined) return { refused: fault };
  return { refused: "wrong_audience", ...(PLAIN_DID.test(audience) ? { delegatedTo: audience } : {}) };
}

/**
 * Whether a UCAN for this venue says who sends it. What is wrong with its proofs does not matter to that, unless they
 * break a limit.
 *
 * @returns what speaks against it
 */
export function checkInvocation(token: UcanToken<unknown>, rules: InvocationRules): TokenFault | undefined {
  const { decoded } = token;
  if (token.fault !== undefined) return token.fault;
  if (decoded?.kind !== "ucan") return "malformed";
  if (decoded.audience !== rules.venueDid) return "wrong_audience";
  // What some venue signed for one of its callers does not make that caller the venue.
  if (namesInFacts(decoded.payload["fct"]).length > 0) return "wrong_audience";
  // The cheap part first.
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

/** @param token whose times are right */
function checkUnbound({ audience, expiresAt, payload }: DecodedToken): TokenFault | undefined {
  if (audience !== undefined) return undefined;
  const issuedAt = parseTime(payload["iat"]);
  if (issuedAt === undefined) return "malformed";
  return typeof expiresAt === "number" && expiresAt - issuedAt > MAX_UNBOUND_LIFETIME ? "bad_exp" : undefined;
}
