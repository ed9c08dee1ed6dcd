import { isLoopbackListener } from "../config/loopback.js";
import type { VenueConfig } from "../config/types.js";
import { systemClock } from "../core/clock.js";
import type { Log } from "../core/log.js";
import type { Access } from "./access.js";
import { createAuthenticator } from "./authenticate.js";
import { didDocument } from "./did-document.js";
import { canonicalDid, openIdentity } from "./identity.js";
import { checkSecretsOutside } from "./secrets.js";
import { defaultStateDir, openLocalToken, openStateDir } from "./state-dir.js";
import { resolveStaticTokens } from "./static-tokens.js";

export interface AccessOptions {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly log: Log;
}

/** Opens identity, local token and static tokens. @throws ConfigError */
export function openAccess(config: VenueConfig, { env, log }: AccessOptions): Access {
  checkSecretsOutside(config, env);
  const loopback = isLoopbackListener(config);
  const { seed, seedFile, did } = config;
  const identity = openIdentity({ seed, seedFile, did, log });
  const operator = canonicalDid(identity, config.operator ?? identity.did);
  const resolve = (from: VenueConfig) =>
    resolveStaticTokens(from.auth.tokens, env, { ...identity, operatorDid: operator });
  let staticTokens = resolve(config);
  const hasLocalToken = config.auth.localToken ?? loopback;
  const localToken = hasLocalToken ? openLocalToken(openStateDir(config.stateDir ?? defaultStateDir(env))) : undefined;
  const authenticator = () =>
    createAuthenticator({
      identity,
      operatorDid: operator,
      localToken,
      staticTokens,
      rules: { ...config.auth, acceptUnboundIdentity: config.auth.acceptUnboundIdentity ?? loopback },
      clock: systemClock,
      log,
    });
  let authenticate = authenticator();
  return {
    did: identity.did,
    operator,
    ...(localToken === undefined ? {} : { localToken }),
    get staticTokens() {
      return staticTokens;
    },
    authenticate: (authorization) => authenticate(authorization),
    didDocument: (baseUrl) => didDocument(identity, baseUrl),
    prepareReload(next) {
      checkSecretsOutside(next, env);
      const found = resolve(next);
      return () => {
        staticTokens = found;
        authenticate = authenticator();
      };
    },
  };
}
