// Verifies the JWT of an outside issuer: its signature by jose, and whatever else makes it a token for this venue.

import type { JWTPayload } from "jose";
import type { IssuerConfig } from "../../../config/types.js";
import { codeOf, fieldsOf } from "../../../core/unknown.js";
import type { IssuerKey, IssuerKeys } from "./keys.js";

/** Algorithms of signatures; never one by a shared secret. */
const ALGORITHMS = ["ES256", "EdDSA", "Ed25519", "RS256", "PS256"];
/** Some issuers send none. Identity tokens of OpenID Connect are JWTs of these types too; their audience is the client. */
const TYPES: readonly unknown[] = [undefined, "at+jwt", "application/at+jwt", "jwt"];
const MAX_LIFETIME_S = 24 * 3600;
/** Keys tried for a token that does not name its own. */
const MAX_TRIED = 10;

/** Why a token is refused: names rules, and nothing that the token says. */
export class Refused extends Error {
  override readonly name = "Refused";
}

/** What a token was verified to say, and by which key. */
export interface VerifiedToken {
  readonly claims: JWTPayload & { readonly sub: string; readonly exp: number };
  readonly key: IssuerKey;
}

export interface VerifyRules {
  readonly config: IssuerConfig;
  readonly keys: IssuerKeys;
  /** What the token must be for, where `audience` says nothing. */
  readonly resource: string;
  /** Seconds. */
  readonly clockSkew: number;
  readonly now: Date;
}

/** The parts of a token as they are sent, not verified. `undefined`: it is no JWT. */
export function unverifiedParts(
  token: string,
):
  | { readonly header: Readonly<Record<string, unknown>>; readonly claims: Readonly<Record<string, unknown>> }
  | undefined {
  const parts = token.split(".");
  if (parts.length !== 3) return undefined;
  try {
    const [header, claims] = parts
      .slice(0, 2)
      .map((part) => JSON.parse(Buffer.from(part, "base64url").toString("utf8")));
    return { header: fieldsOf(header), claims: fieldsOf(claims) };
  } catch {
    return undefined;
  }
}

/** @throws Refused, KeysGone */
export async function verifyToken(token: string, rules: VerifyRules): Promise<VerifiedToken> {
  const header: Readonly<Record<string, unknown>> = unverifiedParts(token)?.header ?? {};
  checkHeader(header, rules.config);
  const candidates = (await rules.keys.findFor(header["kid"])).slice(0, MAX_TRIED);
  let failure: unknown = new Refused("no key");
  for (const key of candidates) {
    try {
      return { claims: checkClaims(await verifySignature(token, key, rules), rules), key };
    } catch (error) {
      failure = error;
    }
  }
  throw failure instanceof Refused
    ? failure
    : new Refused(`${codeOf(failure) ?? "key"} ${fieldsOf(failure)["claim"] ?? ""}`);
}

/** @throws Refused */
function checkHeader({ alg, typ, crit }: Readonly<Record<string, unknown>>, { algorithms }: IssuerConfig): void {
  if (!(algorithms ?? ALGORITHMS).some((one) => one === alg)) throw new Refused("alg");
  if (!TYPES.includes(typeof typ === "string" ? typ.toLowerCase() : typ)) throw new Refused("typ");
  if (crit !== undefined) throw new Refused("crit");
}

/** @throws the errors of jose */
async function verifySignature(token: string, { find }: IssuerKey, rules: VerifyRules): Promise<JWTPayload> {
  const { jwtVerify } = await import("jose");
  const { config, resource, clockSkew, now } = rules;
  const { payload } = await jwtVerify(token, find, {
    issuer: config.issuer,
    audience: [...(config.audience ?? [resource])],
    algorithms: [...(config.algorithms ?? ALGORITHMS)],
    requiredClaims: ["exp", "sub", ...(config.requiredClaims ?? [])],
    clockTolerance: clockSkew,
    currentDate: now,
  });
  return payload;
}

/** What jose does not check. @throws Refused */
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
