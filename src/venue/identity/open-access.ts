// Opens the access of a venue that listens.

import { ConfigError } from "../../config/errors.js";
import { checkListener, isLoopbackListener } from "../../config/loopback.js";
import type { VenueConfig } from "../../config/types.js";
import { systemClock } from "../../core/clock.js";
import { attempt } from "../../core/io.js";
import type { JsonObject } from "../../core/ports/adapter.js";
import type { Log } from "../../core/ports/log.js";
import { openTokens } from "../shared/memory.js";
import { hasLocalToken, openState } from "../start/state/place.js";
import { checkSecretsOutside } from "../start/state/secrets.js";
import { openLocalToken } from "../start/state/state-dir.js";
import { type Access, keyOf } from "./access.js";
import { AccessTokens } from "./access-tokens.js";
import { createAuthenticator } from "./authenticate.js";
import { canonicalDid, type Identity, openIdentity } from "./identity.js";
import { Issuers } from "./issuers/issuers.js";
import { resolveStaticTokens } from "./static-tokens.js";
import { openTokenJudge, type SharedIdentity } from "./token-judge.js";

export interface AccessOptions {
  /** Base URL of the venue. */
  url(): string;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly log: Log;
  /** Absent: the venue is one process. */
  readonly shared?: SharedIdentity | undefined;
}

/** Opens identity, local token, static tokens and revocation list. @throws ConfigError */
export function openAccess(config: VenueConfig, { env, log, url, shared }: AccessOptions): Access {
  checkSecretsOutside(config, env);
  const loopback = isLoopbackListener(config);
  const { seed, seedFile, did } = config;
  const identity = openIdentity({ seed, seedFile, did, log });
  const operator = canonicalDid(identity, config.operator ?? identity.did);
  const resolve = (from: VenueConfig) =>
    resolveStaticTokens(from.auth.tokens, env, { ...identity, operatorDid: operator, roots: from.file.roots });
  let staticTokens = resolve(config);
  const localToken = hasLocalToken(config) ? openLocalToken(openState(config, env, "auth.localToken")) : undefined;
  const judge = openTokenJudge(config, { names: identity, env, log, reserves: true, shared });
  const store = shared?.tokens ?? openTokens(config, { env, log });
  const notBefore = () => judge.revocations.notBefore;
  const accessTokens = store && new AccessTokens(store, { venue: identity.did, clock: systemClock, notBefore });
  const { issuers: configured, clockSkew } = config.auth;
  const { revocations } = judge;
  const ofIssuers = { venueDid: identity.did, url, clockSkew, revocations, clock: systemClock, log };
  const issuers = new Issuers(configured, ofIssuers);
  const authenticator = () =>
    createAuthenticator({
      ...{ accessTokens, issuers, shared, ofTokens: judge.ofTokens },
      ...{ identity, operatorDid: operator, localToken, staticTokens, log },
      rules: { ...config.auth, acceptUnboundIdentity: config.auth.acceptUnboundIdentity ?? loopback },
      ...{ keys: judge.keys, revocations, verifier: judge.verifier, clock: systemClock },
    });
  let current = authenticator();
  return {
    did: identity.did,
    operator,
    canonicalDid: (other) => canonicalDid(identity, other),
    key: keyOf(identity),
    get staticTokens() {
      return staticTokens;
    },
    authenticate: (authorization) => current.authenticate(authorization),
    nameCaller: (caller, ucans) => current.nameCaller(caller, ucans),
    // By a view that is too old nobody is let in again: streams end.
    rejudge: (context) => (shared === undefined ? current.rejudge(context) : attempt(() => current.rejudge(context))),
    bearerOf: (entry) => current.bearerOf(entry),
    ...{ localToken, accessTokens, verifier: judge.verifier, revocations, issuers },
    didDocument: (baseUrl) => didDocument(identity, baseUrl),
    prepareReload(next) {
      checkSecretsOutside(next, env);
      const refusal = checkListener(next);
      if (refusal !== undefined) throw new ConfigError([refusal], 78);
      const found = resolve(next);
      const changeRules = judge.prepareReload(next);
      return () => {
        staticTokens = found;
        issuers.reload(next.auth.issuers);
        changeRules();
        current = authenticator();
      };
    },
  };
}

/**
 * The DID document of a venue, where clients find its key and its endpoint.
 *
 * @param baseUrl without a trailing slash
 * @see https://www.w3.org/TR/did-core/
 */
export function didDocument({ did, multikey }: Pick<Identity, "did" | "multikey">, baseUrl: string): JsonObject {
  const method = { id: `${did}#${multikey}`, type: "Multikey", controller: did, publicKeyMultibase: multikey };
  return {
    "@context": "https://www.w3.org/ns/did/v1",
    id: did,
    verificationMethod: [method],
    authentication: [method.id],
    assertionMethod: [method.id],
    capabilityDelegation: [method.id],
    capabilityInvocation: [method.id],
    service: [{ type: "Covia.API.v1", serviceEndpoint: `${baseUrl}/api/v1` }],
  };
}
