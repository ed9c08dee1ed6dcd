// The claims of a new token, in no particular token format, and the checks of its audience and expiry.

import { randomBytes } from "node:crypto";
import type { Capability } from "../../core/call/capability.js";
import { type Clock, systemClock } from "../../core/clock.js";
import type { JsonObject } from "../../core/ports/adapter.js";
import { publicKeyFromDidKey } from "../token/did-key.js";
import { otherDidKey } from "../token/key-types.js";
import { parseTime } from "../token/time.js";
import { MintError } from "./error.js";
import { type SigningKey, signToken } from "./signing-key.js";

/** Claims of a new token, independent of its profile. */
export interface MintClaims {
  readonly key: SigningKey;
  readonly audience: string;
  readonly capabilities: readonly Capability[];
  /** Seconds since the epoch. */
  readonly expiresAt: number;
  /** Seconds since the epoch. */
  readonly notBefore?: number;
  /** Encoded tokens. */
  readonly proofs: readonly string[];
  readonly facts: readonly JsonObject[];
}

/**
 * A nonce, which makes tokens with equal claims differ: Ed25519 is deterministic, so they would have the same id, and
 * revoking one would revoke both.
 */
export const newNonce = (): string => randomBytes(12).toString("hex");

const PLAIN_DID = /^did:[a-z0-9]+:[A-Za-z0-9._:%-]{1,256}$/;

/** Checks an audience DID; a `did:key` must be of a valid Ed25519 key. @throws MintError bad_did */
export function checkAudience(audience: string): void {
  const isUsable = audience.startsWith("did:key:")
    ? publicKeyFromDidKey(audience) !== undefined
    : PLAIN_DID.test(audience);
  if (isUsable) return;
  const is = otherDidKey(audience) ?? "not a DID";
  throw new MintError("bad_did", `The audience is ${is}. Give a did:key of an Ed25519 key, or a did:web`);
}

/** The expiry of a token. @param now whole seconds since the epoch @returns whole seconds since the epoch */
export function endAfter(now: number, lifetimeSeconds: number): number {
  const end = lifetimeSeconds > 0 ? parseTime(now + lifetimeSeconds) : undefined;
  if (end !== undefined) return end;
  throw new MintError("bad_exp", "The lifetime is not a positive number of whole seconds");
}

// Mints identity tokens, which authenticate the holder of a key to one venue.

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
