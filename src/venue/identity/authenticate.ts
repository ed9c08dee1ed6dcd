// Authenticates callers: by bearer token (local, static, UCAN, or of an outside issuer), or by the UCANs sent with an anonymous call.

import { createHash, timingSafeEqual } from "node:crypto";
import { covers, EVERYTHING, type Grant } from "../../authz/grant.js";
import { contextOf } from "../../core/call/attribute.js";
import type { Authenticate, AuthenticationResult, Caller, NameCaller } from "../../core/call/caller.js";
import { readUcans } from "../../core/call/ucans.js";
import type { Clock } from "../../core/clock.js";
import { type Awaitable, after } from "../../core/io.js";
import type { SurfaceContext } from "../../core/ports/adapter.js";
import { type Log, silentLog } from "../../core/ports/log.js";
import { isObject } from "../../core/unknown.js";
import { readEntries } from "../../ucan/token/capability-entries.js";
import { otherIssuer } from "../../ucan/token/decode.js";
import { tokenId } from "../../ucan/token/id.js";
import {
  checkInvocation,
  type IdentityRules,
  type InvocationRules,
  verifyIdentityToken,
} from "../../ucan/token/identity-token.js";
import type { Revocations, UcanToken, UcanVerifier } from "../../ucan/verify/proof.js";
import type { PublicKeys } from "../../ucan/verify/public-keys.js";
import { type AccessEntry, accessDid, type TokenMaker } from "./access-entry.js";
import { type AccessTokens, isAccessToken } from "./access-tokens.js";
import { canonicalDid, type Identity } from "./identity.js";
import type { Issuers } from "./issuers/issuers.js";
import { type StaticToken, staticTokenDids } from "./static-tokens.js";
import type { SharedIdentity } from "./token-judge.js";

const BEARER = /^bearer(?:\s|$)/i;
/** The scheme, and exactly one token68 (RFC 9110 §11.4). */
const CREDENTIALS = /^bearer +([A-Za-z0-9._~+/-]+=*)$/i;

export interface AuthenticatorOptions {
  readonly identity: Pick<Identity, "did" | "keyDid">;
  readonly operatorDid: string;
  /** Bearer token of the operator; absent if none is accepted. */
  readonly localToken?: string | undefined;
  readonly staticTokens: readonly StaticToken[];
  /** The config's `auth`, including defaults that depend on the listener. */
  readonly rules: {
    /** Seconds. */
    readonly clockSkew: number;
    /** Seconds. */
    readonly maxIdentityLifetime: number;
    readonly acceptUnboundIdentity: boolean;
  };
  readonly keys: PublicKeys;
  readonly revocations: Revocations;
  /** The same, but for tokens that only a fresh list may let pass. Absent: it always is. */
  readonly ofTokens?: Revocations | undefined;
  readonly shared?: Pick<SharedIdentity, "fresh" | "requireFresh"> | undefined;
  /** Shared with the authorization of calls, so that a signature is verified only once. */
  readonly verifier: UcanVerifier<Grant>;
  readonly clock: Clock;
  /** Absent: the venue issues no access tokens. */
  readonly accessTokens?: AccessTokens | undefined;
  /** Receives the reason a token was refused, at level debug; never the token. */
  readonly log?: Log;
  /** Absent: no tokens of outside issuers are taken. */
  readonly issuers?: Issuers | undefined;
}

/** Authenticates callers. */
export interface Authenticator {
  readonly authenticate: Authenticate;
  readonly nameCaller: NameCaller;
  /**
   * Re-evaluates an earlier caller: checks that the tokens it was authenticated by are not revoked, and applies the
   * current configuration of a static token. @returns `undefined` when it would be refused now
   */
  readonly rejudge: (context: SurfaceContext) => SurfaceContext | undefined;
  /** The caller that an access token or session is for now; `undefined`: it was revoked, or its maker was. */
  readonly bearerOf: (entry: AccessEntry) => Caller | undefined;
}

/** A token recognised by its hash: the local token or a static one. */
interface KnownToken {
  readonly sha256: Buffer;
  readonly caller: Caller;
  /** DIDs any of which, when revoked, revokes the token. */
  readonly revocableBy: readonly string[];
}

/**
 * Authenticates a request by its `Authorization` header, trying local and static tokens first, then UCANs; and names
 * the caller of a call without that header by the UCANs in it.
 */
export function createAuthenticator(options: AuthenticatorOptions): Authenticator {
  const { identity, log = silentLog } = options;
  const operatorDid = canonicalDid(identity, options.operatorDid);
  const known = knownTokens(options, operatorDid);
  const { revocations, verifier } = options;
  const isRevoked = (names: readonly string[]): boolean => names.some((name) => revocations.has(name));
  const rules = identityRules(options);

  const callerOf = (issuer: string, tokens: readonly UcanToken<Grant>[]): Caller => {
    const did = canonicalDid(identity, issuer);
    const isWhole = tokens.every(isUnbounded);
    const ids = new Set(tokens.map(({ id }) => id));
    return {
      did,
      authentication: "ucan",
      // A caller restricted to less than everything must not see the jobs and metrics of others.
      isOperator: did === operatorDid && isWhole,
      identityTokens: [...new Set(tokens.map(({ text }) => text))],
      ...(isWhole ? {} : { narrowedTo: [did, ...[...ids].toSorted()].join(" ") }),
    };
  };

  const judge = (token: string): AuthenticationResult => {
    const verdict = verifyIdentityToken(token, rules);
    if ("did" in verdict) {
      if (verdict.ucan !== undefined) return { caller: callerOf(verdict.did, [verdict.ucan]) };
      const did = canonicalDid(identity, verdict.did);
      const credential = { kind: "identity", id: tokenId(token.slice(0, token.lastIndexOf("."))) } as const;
      return { caller: { did, authentication: "identity", isOperator: did === operatorDid, credential } };
    }
    const { refused, delegatedTo } = verdict;
    log.debug({ reason: refused }, "Bearer token refused");
    // A token addressed to the venue's other DID has the wrong audience; it is not a delegation to somebody else.
    const isForOther = delegatedTo !== undefined && canonicalDid(identity, delegatedTo) !== identity.did;
    const signedBy = otherIssuer(token);
    return {
      refused: "invalid_token",
      ...(isForOther ? { delegatedTo } : {}),
      ...(signedBy === undefined ? {} : { signedBy }),
    };
  };

  /** The maker as it would be authenticated now; `undefined`: it is revoked, or its token is gone. */
  const makerNow = (maker: TokenMaker): Caller | undefined => {
    if (maker.kind === "operator") {
      if (isRevoked([operatorDid])) return undefined;
      return { did: operatorDid, authentication: "local-token", isOperator: true };
    }
    if (maker.kind === "static-token") {
      const found = known.find(({ sha256 }) => sha256.toString("hex") === maker.sha256);
      return found === undefined || found.caller.did !== maker.did || isRevoked(found.revocableBy)
        ? undefined
        : found.caller;
    }
    const { credential } = maker;
    const did = canonicalDid(identity, maker.did);
    if (isRevoked([did, ...(credential?.kind === "identity" ? [credential.id] : [])])) return undefined;
    return { did, authentication: "identity", isOperator: did === operatorDid };
  };

  const bearerOf = (entry: AccessEntry): Caller | undefined => {
    const { id, caps } = entry;
    const did = accessDid(identity, id);
    const maker = isRevoked([did, ...entry.via.map((one) => accessDid(identity, one))])
      ? undefined
      : makerNow(entry.maker);
    if (maker === undefined) return undefined;
    const own = { credential: { kind: "access-token", id } } as const;
    if (caps === undefined) return { ...maker, ...own, authentication: "session" };
    const { tokenCaps } = maker;
    const access = {
      maker: maker.did,
      ...(tokenCaps === undefined ? {} : { tokenCaps }),
      // A token made by a static token never has more rights than the latter.
      caps: tokenCaps === undefined ? [caps] : [caps, tokenCaps],
    };
    return { did, authentication: "access-token", isOperator: false, ...own, access };
  };

  const judgeAccess = (token: string): Awaitable<AuthenticationResult> =>
    after(options.accessTokens?.use(token), (entry) => {
      const caller = entry === undefined ? undefined : bearerOf(entry);
      if (caller !== undefined) return { caller };
      log.debug({ reason: entry === undefined ? "unknown access token" : "revoked" }, "Bearer token refused");
      return { refused: "invalid_token" };
    });

  const authenticate: Authenticate = (authorization) => {
    if (!BEARER.test(authorization)) return { refused: "unsupported_scheme" };
    const [, token] = CREDENTIALS.exec(authorization) ?? [];
    if (token === undefined) return { refused: "invalid_token" };
    const found = recognise(token, known);
    if (found === undefined) {
      return after(options.shared?.fresh(), () =>
        isAccessToken(token) ? judgeAccess(token) : (options.issuers?.authenticate(token) ?? judge(token)),
      );
    }
    if (!isRevoked(found.revocableBy)) {
      const { caller } = found;
      if (caller.credential?.kind === "static-token") options.accessTokens?.noteStatic(caller.credential.sha256);
      return { caller };
    }
    log.debug({ reason: "revoked" }, "Bearer token refused");
    return { refused: "invalid_token" };
  };

  const rejudge: Authenticator["rejudge"] = (context) => {
    const { callerDID, credential, identityTokens = [], ucans } = context;
    const isByToken = credential !== undefined && credential.kind !== "static-token";
    if (isByToken || identityTokens.length > 0 || ucans !== undefined) options.shared?.requireFresh();
    if (verifier.read(identityTokens).some((token) => token.check() === "revoked")) return undefined;
    if (credential === undefined) return context;
    if (credential.kind === "identity") {
      return isRevoked([credential.id, ...(callerDID === undefined ? [] : [callerDID])]) ? undefined : context;
    }
    if (credential.kind === "access-token") {
      const entry = options.accessTokens?.inForce(credential.id);
      const caller = entry === undefined ? undefined : bearerOf(entry);
      return caller === undefined || caller.did !== callerDID ? undefined : { ...context, ...contextOf(caller) };
    }
    if (credential.kind === "issuer") return options.issuers?.rejudge(context, credential.token);
    const found = known.find(({ sha256 }) => sha256.toString("hex") === credential.sha256);
    if (found === undefined || found.caller.did !== callerDID || isRevoked(found.revocableBy)) return undefined;
    const { tokenCaps } = found.caller;
    return tokenCaps === undefined ? context : { ...context, tokenCaps };
  };
  return { authenticate, nameCaller: createNameCaller(rules, verifier, callerOf), rejudge, bearerOf };
}

function knownTokens({ identity, localToken, staticTokens }: AuthenticatorOptions, operatorDid: string): KnownToken[] {
  const known = staticTokens.map(({ name, sha256, did, caps }): KnownToken => {
    const credential = { kind: "static-token", sha256: sha256.toString("hex") } as const;
    return {
      sha256,
      caller: { did, authentication: "static-token", isOperator: false, credential, tokenCaps: caps },
      revocableBy: [did, ...staticTokenDids(identity, name)],
    };
  });
  if (localToken === undefined) return known;
  // The local token is a secret of this machine, signed by nobody, so revoking the operator's DID does not revoke it.
  const caller: Caller = { did: operatorDid, authentication: "local-token", isOperator: true };
  return [{ sha256: sha256Of(localToken), caller, revocableBy: [] }, ...known];
}

/** Compares with every known token in constant time, so that timing reveals nothing. */
function recognise(token: string, known: readonly KnownToken[]): KnownToken | undefined {
  const hash = sha256Of(token);
  let found: KnownToken | undefined;
  for (const candidate of known) if (timingSafeEqual(candidate.sha256, hash)) found ??= candidate;
  return found;
}

const sha256Of = (token: string): Buffer => createHash("sha256").update(token).digest();

/** Whether the token's capabilities leave its bearer unrestricted. */
const isUnbounded = ({ carriesCapabilities, own }: UcanToken<Grant>): boolean =>
  !carriesCapabilities || own.some((grant) => covers(grant, EVERYTHING));

function identityRules({ identity, rules, ...parts }: AuthenticatorOptions): IdentityRules<Grant> {
  const { keys, ofTokens: revocations = parts.revocations, verifier, clock } = parts;
  return {
    ...{ keys, revocations, verifier, clock },
    venueDid: identity.did,
    clockSkewSeconds: rules.clockSkew,
    maxLifetimeSeconds: rules.maxIdentityLifetime,
    acceptUnbound: rules.acceptUnboundIdentity,
  };
}

/** A capability saying that a venue relays the call, so its sender need not be the issuer. */
const RELAY = "venue/relay";

/**
 * Names the caller of an anonymous call by the UCANs sent with it that invoke this venue. Tokens that do not name a
 * caller, for whatever reason, are left to the authorization of the call.
 */
function createNameCaller(
  rules: InvocationRules,
  verifier: UcanVerifier<Grant>,
  callerOf: (issuer: string, tokens: readonly UcanToken<Grant>[]) => Caller,
): NameCaller {
  const names = (token: UcanToken<Grant>): boolean => !isRelayed(token) && checkInvocation(token, rules) === undefined;
  return (caller, ucans) => {
    if (caller.authentication !== "public") return caller;
    const tokens = readUcans(ucans ?? []);
    // A malformed list is refused by the authorization of the call.
    if ("fault" in tokens || tokens.length === 0) return caller;
    const naming = verifier.read(tokens).filter(names);
    const [issuer, ...others] = new Set(naming.map(({ decoded }) => decoded?.issuer));
    if (issuer === undefined) return caller;
    return others.length > 0 ? "ambiguous" : callerOf(issuer, naming);
  };
}

const isRelayed = ({ decoded }: UcanToken<Grant>): boolean =>
  (readEntries(decoded?.payload ?? {}) ?? []).some((entry) => isObject(entry) && entry["can"] === RELAY);
