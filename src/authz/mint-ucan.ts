import { type Clock, systemClock } from "../core/clock.js";
import { type Minted, type MintRequest, mint } from "../ucan/mint/mint.js";
import { FILE_SEMANTICS } from "./grant.js";

/** How a venue will judge the token; the defaults are those of one without configuration. */
export interface MintOptions {
  readonly clock?: Clock;
  /** Seconds. */
  readonly clockSkew?: number;
  /** Seconds from now to the latest end. */
  readonly maxLifetime?: number;
}

const DEFAULT_SKEW_SECONDS = 30;
const DEFAULT_LIFETIME_SECONDS = 31_622_400;

/**
 * Makes a UCAN that gives somebody a part of what the signer owns, or was given by `proofs`.
 *
 * @returns the token, its id, by which it can be revoked, and the second in which it ends
 * @throws MintError for whatever a venue would not honour: the token is then not made
 * @example
 * const { token } = await mintUcan({ key, audience: "did:key:z6Mk…", capabilities: [{ with: "file://docs/", can: "crud/read" }] });
 */
export function mintUcan(request: MintRequest, options: MintOptions = {}): Promise<Minted> {
  return mint(request, {
    semantics: FILE_SEMANTICS,
    clock: options.clock ?? systemClock,
    clockSkewSeconds: options.clockSkew ?? DEFAULT_SKEW_SECONDS,
    maxLifetimeSeconds: options.maxLifetime ?? DEFAULT_LIFETIME_SECONDS,
  });
}
