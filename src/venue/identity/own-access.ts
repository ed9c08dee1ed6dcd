// Opens the access of a venue that does not listen, without creating a key.

import type { VenueConfig } from "../../config/types.js";
import { systemClock } from "../../core/clock.js";
import type { Log } from "../../core/ports/log.js";
import { openTokens } from "../shared/memory.js";
import { readSecretFile } from "../start/state/state-dir.js";
import { type Access, closedAccess, keyOf, OPERATOR } from "./access.js";
import { AccessTokens } from "./access-tokens.js";
import { canonicalDid, type Identity, openIdentity } from "./identity.js";
import { openTokenJudge } from "./token-judge.js";

/**
 * The access of a venue that does not listen, for a caller other than its operator, or for operations on tokens. It
 * creates no key, since a new one would hold no grants.
 *
 * @throws ConfigError
 */
export function openOwnAccess(
  config: VenueConfig,
  { env, log }: { readonly env: Readonly<Record<string, string | undefined>>; readonly log: Log },
): Access {
  const identity = existingIdentity(config, log);
  const did = identity?.did ?? config.did ?? OPERATOR;
  const names = identity ?? { did, keyDid: did };
  const { verifier, revocations } = openTokenJudge(config, { names, env, log });
  // Instances share theirs, and this process is none.
  const store = identity === undefined || config.shared !== undefined ? undefined : openTokens(config, { env, log });
  const accessTokens = store && new AccessTokens(store, { venue: did, clock: systemClock });
  return {
    ...closedAccess,
    did,
    operator: canonicalDid(names, config.operator ?? did),
    canonicalDid: (other) => canonicalDid(names, other),
    key: identity && keyOf(identity),
    ...{ verifier, revocations, accessTokens },
  };
}

/** The identity of a venue whose key is configured and exists. @throws ConfigError */
export function existingIdentity({ seed, seedFile, did }: VenueConfig, log: Log): Identity | undefined {
  if (seed === undefined && (seedFile === undefined || isMissing(seedFile))) return undefined;
  return openIdentity({ seed, seedFile, did, log });
}

const isMissing = (path: string): boolean => "missing" in readSecretFile(path, { maxBytes: 0, follow: true });
