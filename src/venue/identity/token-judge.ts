// Verifies UCANs under the configured rules and the revocation list.

import { isDeepStrictEqual } from "node:util";
import { FILE_SEMANTICS, type Grant } from "../../authz/grant.js";
import type { VenueConfig } from "../../config/types.js";
import { systemClock } from "../../core/clock.js";
import type { Log } from "../../core/ports/log.js";
import type { UcanVerifier } from "../../ucan/verify/proof.js";
import { createPublicKeys, type PublicKeys } from "../../ucan/verify/public-keys.js";
import { createUcanVerifier } from "../../ucan/verify/verifier.js";
import { openState } from "../start/state/place.js";
import { NoStateDir } from "../start/state/state-dir.js";
import { canonicalDid, type Identity } from "./identity.js";
import { type RevocationPlace, revocationPlace } from "./revocation-place.js";
import { openRevocations, type RevocationList } from "./revocations.js";

/** Verifier and revocation list of a venue. The objects stay the same across reloads; what they apply changes. */
export interface TokenJudge {
  readonly keys: PublicKeys;
  readonly verifier: UcanVerifier<Grant>;
  readonly revocations: RevocationList;
  /** Prepares a reload. @returns a function that applies it @throws ConfigError for a list that cannot be read */
  prepareReload(config: VenueConfig): () => void;
}

export interface TokenJudgeOptions {
  /** The DIDs of the venue. */
  readonly names: Pick<Identity, "did" | "keyDid">;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly log: Log;
  /** As of {@link openRevocations}. */
  readonly reserves?: boolean;
}

/** Opens the revocation list and creates the verifier that uses it. @throws ConfigError */
export function openTokenJudge(config: VenueConfig, options: TokenJudgeOptions): TokenJudge {
  const { names } = options;
  const keys = createPublicKeys();
  let list = openList(config, options);
  const revocations = knownByBothNames(names, () => list);
  const verifierFor = ({ auth }: VenueConfig) =>
    createUcanVerifier<Grant>({
      ...{ keys, revocations, semantics: FILE_SEMANTICS, clock: systemClock },
      canonicalDid: (did) => canonicalDid(names, did),
      venueDid: canonicalDid(names, names.did),
      clockSkewSeconds: auth.clockSkew,
      maxLifetimeSeconds: auth.ucan.maxLifetime,
      allowNoExpiry: auth.ucan.allowNoExpiry,
      acceptUnversionedCovia: auth.ucan.acceptUnversionedCovia,
    });
  let verifier = verifierFor(config);
  let inForce = config.auth.ucan;
  return {
    keys,
    verifier: { read: (tokens) => verifier.read(tokens), issuersOf: (id) => verifier.issuersOf(id) },
    revocations,
    prepareReload(next) {
      // The list rereads its file by itself, and a new verifier would lose its cache of verified signatures.
      if (isDeepStrictEqual(next.auth.ucan, inForce)) return () => {};
      const isMoved = next.auth.ucan.revocations !== inForce.revocations;
      const nextList = isMoved ? openList(next, options) : list;
      const nextVerifier = verifierFor(next);
      return () => {
        [list, verifier, inForce] = [nextList, nextVerifier, next.auth.ucan];
      };
    },
  };
}

function openList(config: VenueConfig, { env, log, reserves = false }: TokenJudgeOptions): RevocationList {
  let place: RevocationPlace;
  try {
    place = revocationPlace(config, env);
  } catch (error) {
    if (!(error instanceof NoStateDir)) throw error;
    // Without a state directory there is no list; only adding to it fails.
    return { size: 0, has: () => false, add: () => Promise.reject(error) };
  }
  return openRevocations(place, { log, reserves, openState: () => openState(config, env, "auth.ucan.revocations") });
}

/** Revoking either DID of the venue revokes both. */
function knownByBothNames(names: TokenJudgeOptions["names"], list: () => RevocationList): RevocationList {
  const { did, keyDid } = names;
  return {
    get size() {
      return list().size;
    },
    get notBefore() {
      return list().notBefore;
    },
    has: (entry) =>
      list().has(entry) || ((entry === did || entry === keyDid) && (list().has(did) || list().has(keyDid))),
    add: (entries) => list().add(entries),
  };
}
