// Verifies UCANs under the configured rules and the revocation list.

import { isDeepStrictEqual } from "node:util";
import { FILE_SEMANTICS, type Grant } from "../../authz/grant.js";
import type { VenueConfig } from "../../config/types.js";
import { systemClock } from "../../core/clock.js";
import type { Log } from "../../core/ports/log.js";
import type { Revocations, UcanVerifier } from "../../ucan/verify/proof.js";
import { createPublicKeys } from "../../ucan/verify/public-keys.js";
import { createUcanVerifier } from "../../ucan/verify/verifier.js";
import { openList } from "../shared/memory.js";
import type { TokenStore } from "./access-entry.js";
import { canonicalDid, type Identity } from "./identity.js";
import { CurrentRevocations } from "./revocations.js";

export interface TokenJudgeOptions {
  /** The DIDs of the venue. */
  readonly names: Pick<Identity, "did" | "keyDid">;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly log: Log;
  /** As of {@link openList}. */
  readonly reserves?: boolean;
  /** Absent: the venue is one process. */
  readonly shared?: SharedIdentity | undefined;
}

/** Revocations and tokens as instances share them. */
export interface SharedIdentity {
  readonly revocations: CurrentRevocations;
  readonly tokens: TokenStore;
  /** @throws SHARED_STATE_UNAVAILABLE where what is known is too old to judge by */
  requireFresh(graceMs?: number): void;
  /** Waits until it is not. @returns `undefined`: it is not @throws as {@link requireFresh} */
  fresh(): Promise<void> | undefined;
}

/**
 * Opens the revocation list and creates the verifier that uses it. The objects stay the same across reloads; what they apply changes.
 * @throws ConfigError
 */
export function openTokenJudge(config: VenueConfig, options: TokenJudgeOptions) {
  const { names, shared } = options;
  const keys = createPublicKeys();
  const revocations = shared?.revocations ?? new CurrentRevocations(names);
  revocations.over(openList(config, options));
  // The same, for tokens that are refused where it is too old.
  const ofTokens = shared === undefined ? revocations : whileFresh(revocations, shared);
  const verifierFor = ({ auth }: VenueConfig) =>
    createUcanVerifier<Grant>({
      ...{ keys, revocations: ofTokens, semantics: FILE_SEMANTICS, clock: systemClock },
      canonicalDid: (did) => canonicalDid(names, did),
      venueDid: canonicalDid(names, names.did),
      clockSkewSeconds: auth.clockSkew,
      maxLifetimeSeconds: auth.ucan.maxLifetime,
      allowNoExpiry: auth.ucan.allowNoExpiry,
      acceptUnversionedCovia: auth.ucan.acceptUnversionedCovia,
    });
  let verifier = verifierFor(config);
  const asNow: UcanVerifier<Grant> = {
    read: (tokens) => verifier.read(tokens),
    issuersOf: (id) => verifier.issuersOf(id),
  };
  let inForce = config.auth.ucan;
  return {
    ...{ keys, revocations, ofTokens },
    verifier: asNow,
    /** Prepares a reload. @returns a function that applies it @throws ConfigError for a list that cannot be read */
    prepareReload(next: VenueConfig): () => void {
      // The list rereads its file by itself, and a new verifier would lose its cache of verified signatures.
      if (isDeepStrictEqual(next.auth.ucan, inForce)) return () => {};
      const isMoved = next.auth.ucan.revocations !== inForce.revocations;
      const nextList = isMoved ? openList(next, options) : undefined;
      const nextVerifier = verifierFor(next);
      return () => {
        [verifier, inForce] = [nextVerifier, next.auth.ucan];
        if (nextList !== undefined) revocations.over(nextList);
      };
    },
  };
}

const GRACE_MS = 500;

const whileFresh = (revocations: Revocations, { requireFresh }: SharedIdentity): Revocations => ({
  get notBefore() {
    return revocations.notBefore;
  },
  has(entry) {
    // Whoever was just found to be fresh is so for what it begins.
    requireFresh(GRACE_MS);
    return revocations.has(entry);
  },
});
