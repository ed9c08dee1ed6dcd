// Signs UCANs for capabilities on files and drives, within the limits of a venue.

import { type Clock, systemClock } from "../core/clock.js";
import { type Minted, type MintRequest, mint } from "../ucan/mint/mint.js";
import { FILE_SEMANTICS } from "./grant.js";

/** The venue's limits that the token must satisfy; the defaults are those of a venue without configuration. */
export interface MintOptions {
  readonly clock?: Clock;
  /** Seconds; default 30. */
  readonly clockSkew?: number;
  /** Longest lifetime in seconds, from now; default 366 days. */
  readonly maxLifetime?: number;
}

const DEFAULT_SKEW_SECONDS = 30;
const DEFAULT_LIFETIME_SECONDS = 31_622_400;

/**
 * Signs a UCAN that delegates a part of what the signer owns, or holds by `proofs`.
 *
 * @returns the token, its id (for revoking it), and its expiry (seconds since the epoch)
 * @throws MintError if a venue would not accept the token
 * @example
 * const capabilities = [{ with: "file://docs/", can: "crud/read" }];
 * const { token } = await mintUcan({ key, audience: "did:key:z6Mk…", capabilities });
 */
export function mintUcan(request: MintRequest, options: MintOptions = {}): Promise<Minted> {
  return mint(request, {
    semantics: FILE_SEMANTICS,
    clock: options.clock ?? systemClock,
    clockSkewSeconds: options.clockSkew ?? DEFAULT_SKEW_SECONDS,
    maxLifetimeSeconds: options.maxLifetime ?? DEFAULT_LIFETIME_SECONDS,
  });
}
