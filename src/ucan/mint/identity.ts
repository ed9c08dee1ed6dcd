// Mints identity tokens, which authenticate the holder of a key to one venue.

import { type Clock, systemClock } from "../../core/clock.js";
import { checkAudience, endAfter } from "./claims.js";
import { signToken } from "./sign-token.js";
import type { SigningKey } from "./signing-key.js";

const DEFAULT_LIFETIME_SECONDS = 300;

export interface IdentityRequest {
  readonly key: SigningKey;
  /** DID of the venue. */
  readonly audience: string;
  /** Seconds, default 300. */
  readonly lifetimeSeconds?: number;
  readonly clock?: Clock;
}

/**
 * Mints an identity token, which authenticates the holder of a key, in the form the Covia SDK uses for each request.
 *
 * @throws MintError `bad_did`: the audience is not a DID. `bad_exp`: the lifetime is not a positive integer
 */
export function mintIdentity({ key, audience, lifetimeSeconds, clock = systemClock }: IdentityRequest): string {
  checkAudience(audience);
  const now = Math.floor(clock.nowMs() / 1000);
  const exp = endAfter(now, lifetimeSeconds ?? DEFAULT_LIFETIME_SECONDS);
  return signToken({ sub: key.did, iss: key.did, iat: now, exp, aud: audience }, key);
}
