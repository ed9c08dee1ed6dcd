import { createHash, timingSafeEqual } from "node:crypto";
import type { Authenticate, AuthenticationResult, Caller } from "../core/caller.js";
import type { Clock } from "../core/clock.js";
import { type Log, silentLog } from "../core/log.js";
import { type IdentityRules, verifyIdentityToken } from "../ucan/identity-token.js";
import { createPublicKeys } from "../ucan/public-keys.js";
import { canonicalDid, type Identity } from "./identity.js";
import type { StaticToken } from "./static-tokens.js";

const BEARER = /^bearer(?:\s|$)/i;
/** The scheme, and exactly one token (RFC 9110 §11.4). */
const CREDENTIALS = /^bearer +([A-Za-z0-9._~+/-]+=*)$/i;

export interface AuthenticatorOptions {
  readonly identity: Pick<Identity, "did" | "keyDid">;
  readonly operatorDid: string;
  /** Absent: no token acts as the operator. */
  readonly localToken?: string | undefined;
  readonly staticTokens: readonly StaticToken[];
  /** As in the config's `auth`, with defaults that depend on the listener filled in. */
  readonly rules: {
    /** Seconds. */
    readonly clockSkew: number;
    /** Seconds. */
    readonly maxIdentityLifetime: number;
    readonly acceptUnboundIdentity: boolean;
  };
  readonly clock: Clock;
  /** Told at level debug why a token was refused; never the token. */
  readonly log?: Log;
}

/** A token that needs only to be recognised. */
interface KnownToken {
  readonly sha256: Buffer;
  readonly caller: Caller;
}

/** Finds out who sends a request, by its `Authorization` header: agreed tokens first, then signed ones. */
export function createAuthenticator(options: AuthenticatorOptions): Authenticate {
  const { identity, log = silentLog } = options;
  const operatorDid = canonicalDid(identity, options.operatorDid);
  const known = knownTokens(options, operatorDid);
  const rules = identityRules(options);

  const judge = (token: string): AuthenticationResult => {
    const verdict = verifyIdentityToken(token, rules);
    if ("did" in verdict) {
      const did = canonicalDid(identity, verdict.did);
      return { caller: { did, authentication: "identity", isOperator: did === operatorDid } };
    }
    const { refused, delegatedTo } = verdict;
    log.debug({ reason: refused }, "Bearer token refused");
    // One that is for the venue's other name is just for the wrong name.
    const isForOther = delegatedTo !== undefined && canonicalDid(identity, delegatedTo) !== identity.did;
    return { refused: "invalid_token", ...(isForOther ? { delegatedTo } : {}) };
  };

  return (authorization) => {
    if (!BEARER.test(authorization)) return { refused: "unsupported_scheme" };
    const [, token] = CREDENTIALS.exec(authorization) ?? [];
    if (token === undefined) return { refused: "invalid_token" };
    const caller = recognise(token, known);
    return caller === undefined ? judge(token) : { caller };
  };
}

function knownTokens({ localToken, staticTokens }: AuthenticatorOptions, operatorDid: string): KnownToken[] {
  const known = staticTokens.map(
    ({ sha256, did, caps }): KnownToken => ({
      sha256,
      caller: { did, authentication: "static-token", isOperator: false, tokenCaps: caps },
    }),
  );
  if (localToken === undefined) return known;
  const caller: Caller = { did: operatorDid, authentication: "local-token", isOperator: true };
  return [{ sha256: sha256Of(localToken), caller }, ...known];
}

/** Compares with all of them, so that the time tells nothing of which was near. */
function recognise(token: string, known: readonly KnownToken[]): Caller | undefined {
  const hash = sha256Of(token);
  let caller: Caller | undefined;
  for (const candidate of known) if (timingSafeEqual(candidate.sha256, hash)) caller ??= candidate.caller;
  return caller;
}

const sha256Of = (token: string): Buffer => createHash("sha256").update(token).digest();

function identityRules({ identity, rules, clock }: AuthenticatorOptions): IdentityRules {
  return {
    venueDid: identity.did,
    clock,
    clockSkewSeconds: rules.clockSkew,
    maxLifetimeSeconds: rules.maxIdentityLifetime,
    acceptUnbound: rules.acceptUnboundIdentity,
    keys: createPublicKeys(),
  };
}
