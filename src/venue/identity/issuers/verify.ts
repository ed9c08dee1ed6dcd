// Verifies the JWT of an outside issuer: its signature by jose, and whatever else makes it a token for this venue.

import type { JWTPayload, JWTVerifyResult, jwtVerify } from "jose";
import type { IssuerConfig } from "../../../config/types.js";
import { codeOf, fieldsOf } from "../../../core/unknown.js";
import { type IssuerKey, type IssuerKeys, KeysGone } from "./keys.js";

/** Algorithms of signatures; never one by a shared secret. */
const ALGORITHMS = ["ES256", "EdDSA", "Ed25519", "RS256", "PS256"];
/** Some issuers send none. Identity tokens of OpenID Connect are JWTs of these types too; their audience is the client. */
const TYPES: readonly unknown[] = [undefined, "at+jwt", "application/at+jwt", "jwt"];
const MAX_LIFETIME_S = 24 * 3600;
/** Keys tried for a token that does not name its own. */
const MAX_TRIED = 10;
const RETRY_MS = 5_000;

/** Why a token is refused: names rules, and nothing that the token says. */
export class Refused extends Error {
  override readonly name = "Refused";
}

/** Claims of a verified token, and the key that verified it. */
export interface VerifiedToken {
  readonly claims: JWTPayload & { readonly sub: string; readonly exp: number };
  readonly key: IssuerKey;
}

export interface VerifyRules {
  readonly config: IssuerConfig;
  readonly keys: IssuerKeys;
  /** Audience the token must name where `audience` says nothing. */
  readonly resource: string;
  /** Seconds. */
  readonly clockSkew: number;
  readonly now: Date;
}

/** A part of a token as it was sent, which decides nothing but whose key is asked for: `0` is the header, `1` what it says. */
export function unverified(token: string, part: 0 | 1): Readonly<Record<string, unknown>> {
  const parts = token.split(".");
  try {
    return parts.length === 3 ? fieldsOf(JSON.parse(Buffer.from(parts[part] ?? "", "base64url").toString("utf8"))) : {};
  } catch {
    return {};
  }
}

/** @throws Refused, KeysGone */
export async function verifyToken(token: string, rules: VerifyRules): Promise<VerifiedToken> {
  const candidates = (await rules.keys.findFor(unverified(token, 0)["kid"])).slice(0, MAX_TRIED);
  const verify = await loadVerify();
  let failure: unknown = new Refused("no key");
  for (const key of candidates) {
    try {
      const { protectedHeader, payload } = await verifySignature(verify, token, key, rules);
      checkHeader(protectedHeader);
      return { claims: checkClaims(payload, rules), key };
    } catch (error) {
      failure = error;
    }
  }
  if (failure instanceof Refused) throw failure;
  throw new Refused(`${codeOf(failure) ?? "key"} ${fieldsOf(failure)["claim"] ?? ""}`.trimEnd());
}

/** @throws KeysGone where the library cannot be loaded: that says nothing about the token */
async function loadVerify(): Promise<typeof jwtVerify> {
  try {
    return (await import("jose")).jwtVerify;
  } catch {
    throw new KeysGone(RETRY_MS);
  }
}

/** @throws the errors of jose */
function verifySignature(
  verify: typeof jwtVerify,
  token: string,
  { find }: IssuerKey,
  { config, resource, clockSkew, now }: VerifyRules,
): Promise<JWTVerifyResult> {
  return verify(token, find, {
    issuer: config.issuer,
    audience: [...(config.audience ?? [resource])],
    algorithms: [...(config.algorithms ?? ALGORITHMS)],
    requiredClaims: ["exp", "sub", ...(config.requiredClaims ?? [])],
    clockTolerance: clockSkew,
    currentDate: now,
  });
}

/** @throws Refused */
function checkHeader({ typ, crit }: { readonly typ?: unknown; readonly crit?: unknown }): void {
  if (!TYPES.includes(typeof typ === "string" ? typ.toLowerCase() : typ)) throw new Refused("typ");
  if (crit !== undefined) throw new Refused("crit");
}

/** Checks that jose does not make. @throws Refused */
function checkClaims(claims: JWTPayload, { clockSkew, now }: VerifyRules): VerifiedToken["claims"] {
  const { sub, exp, iat, cnf } = claims;
  const seconds = now.getTime() / 1000;
  if (typeof sub !== "string" || sub === "") throw new Refused("sub");
  if (typeof exp !== "number" || exp > seconds + MAX_LIFETIME_S + clockSkew) throw new Refused("exp");
  if (iat !== undefined && !(iat <= seconds + clockSkew)) throw new Refused("iat");
  // Such a token is worth nothing without a proof of its key, which is not asked for here.
  if (cnf !== undefined) throw new Refused("cnf");
  return { ...claims, sub, exp };
}
