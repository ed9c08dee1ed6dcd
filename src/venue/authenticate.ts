import { createHash, timingSafeEqual } from "node:crypto";
import { covers, EVERYTHING, type Grant } from "../authz/grant.js";
import type { Authenticate, AuthenticationResult, Caller, NameCaller } from "../core/caller.js";
import type { Clock } from "../core/clock.js";
import { type Log, silentLog } from "../core/log.js";
import { type IdentityRules, verifyIdentityToken } from "../ucan/identity-token.js";
import type { Revocations, UcanToken, UcanVerifier } from "../ucan/proof.js";
import type { PublicKeys } from "../ucan/public-keys.js";
import { canonicalDid, type Identity } from "./identity.js";
import { createNameCaller } from "./name-caller.js";
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
  readonly keys: PublicKeys;
  readonly revocations: Revocations;
  /** The one that judges proofs, too: what it has checked here it need not check there. */
  readonly verifier: UcanVerifier<Grant>;
  readonly clock: Clock;
  /** Told at level debug why a token was refused; never the token. */
  readonly log?: Log;
}

/** Finds out who calls. */
export interface Authenticator {
  readonly authenticate: Authenticate;
  readonly nameCaller: NameCaller;
}

/** A token that needs only to be recognised. */
interface KnownToken {
  readonly sha256: Buffer;
  readonly caller: Caller;
}

/**
 * Finds out who sends a request, by its `Authorization` header: agreed tokens first, then signed ones; and who sends a
 * call without one, by the UCANs in it.
 */
export function createAuthenticator(options: AuthenticatorOptions): Authenticator {
  const { identity, log = silentLog } = options;
  const operatorDid = canonicalDid(identity, options.operatorDid);
  const known = knownTokens(options, operatorDid);
  const rules = identityRules(options);

  const callerOf = (issuer: string, tokens: readonly UcanToken<Grant>[]): Caller => {
    const did = canonicalDid(identity, issuer);
    return {
      did,
      authentication: "ucan",
      // Whoever is held to less than everything does not see the jobs and numbers of others.
      isOperator: did === operatorDid && tokens.every(isUnbounded),
      identityTokens: [...new Set(tokens.map(({ text }) => text))],
    };
  };

  const judge = (token: string): AuthenticationResult => {
    const verdict = verifyIdentityToken(token, rules);
    if ("did" in verdict) {
      if (verdict.ucan !== undefined) return { caller: callerOf(verdict.did, [verdict.ucan]) };
      const did = canonicalDid(identity, verdict.did);
      return { caller: { did, authentication: "identity", isOperator: did === operatorDid } };
    }
    const { refused, delegatedTo } = verdict;
    log.debug({ reason: refused }, "Bearer token refused");
    // One that is for the venue's other name is just for the wrong name.
    const isForOther = delegatedTo !== undefined && canonicalDid(identity, delegatedTo) !== identity.did;
    return { refused: "invalid_token", ...(isForOther ? { delegatedTo } : {}) };
  };

  const authenticate: Authenticate = (authorization) => {
    if (!BEARER.test(authorization)) return { refused: "unsupported_scheme" };
    const [, token] = CREDENTIALS.exec(authorization) ?? [];
    if (token === undefined) return { refused: "invalid_token" };
    const caller = recognise(token, known);
    return caller === undefined ? judge(token) : { caller };
  };
  return { authenticate, nameCaller: createNameCaller({ ...rules, callerOf }) };
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

/** Whether the list of a token leaves its bearer everything. */
const isUnbounded = ({ carriesCapabilities, own }: UcanToken<Grant>): boolean =>
  !carriesCapabilities || own.some((grant) => covers(grant, EVERYTHING));

function identityRules({ identity, rules, ...parts }: AuthenticatorOptions): IdentityRules<Grant> {
  const { keys, revocations, verifier, clock } = parts;
  return {
    ...{ keys, revocations, verifier, clock },
    venueDid: identity.did,
    clockSkewSeconds: rules.clockSkew,
    maxLifetimeSeconds: rules.maxIdentityLifetime,
    acceptUnbound: rules.acceptUnboundIdentity,
  };
}
