// Configures the UCAN verifier for capabilities on files and drives.

import { type Clock, systemClock } from "../core/clock.js";
import type { Revocations, UcanVerifier } from "../ucan/verify/proof.js";
import { createPublicKeys, type PublicKeys } from "../ucan/verify/public-keys.js";
import { createUcanVerifier } from "../ucan/verify/verifier.js";
import { FILE_SEMANTICS, type Grant } from "./grant.js";

/** Settings of the verifier; all have defaults. */
export interface FileVerifierOptions {
  readonly clock?: Clock;
  /** Seconds, 0 to 60; default 30. */
  readonly clockSkew?: number;
  readonly ucan?: {
    /** Seconds; default 366 days. */
    readonly maxLifetime?: number;
    readonly allowNoExpiry?: boolean;
    readonly acceptUnversionedCovia?: boolean;
  };
  readonly revocations?: Revocations;
  readonly canonicalDid?: (did: string) => string;
  readonly keys?: PublicKeys;
}

const DEFAULT_SKEW_SECONDS = 30;
const DEFAULT_LIFETIME_SECONDS = 31_622_400;

/** Creates a UCAN verifier for capabilities on files and drives. */
export function createFileVerifier(options: FileVerifierOptions = {}): UcanVerifier<Grant> {
  const { ucan = {} } = options;
  return createUcanVerifier({
    semantics: FILE_SEMANTICS,
    clock: options.clock ?? systemClock,
    clockSkewSeconds: options.clockSkew ?? DEFAULT_SKEW_SECONDS,
    keys: options.keys ?? createPublicKeys(),
    revocations: options.revocations ?? { has: () => false },
    canonicalDid: options.canonicalDid ?? ((did) => did),
    maxLifetimeSeconds: ucan.maxLifetime ?? DEFAULT_LIFETIME_SECONDS,
    allowNoExpiry: ucan.allowNoExpiry ?? false,
    acceptUnversionedCovia: ucan.acceptUnversionedCovia ?? false,
  });
}
