// Checks of a token that is about to be minted.

import { publicKeyFromDidKey } from "../token/did-key.js";
import { parseTime } from "../token/time.js";
import { MintError } from "./error.js";

const PLAIN_DID = /^did:[a-z0-9]+:[A-Za-z0-9._:%-]{1,256}$/;

/** Checks an audience DID; a `did:key` must be of a valid Ed25519 key. @throws MintError bad_did */
export function checkAudience(audience: string): void {
  const isUsable = audience.startsWith("did:key:")
    ? publicKeyFromDidKey(audience) !== undefined
    : PLAIN_DID.test(audience);
  if (isUsable) return;
  throw new MintError("bad_did", "The audience is not a DID. Give a did:key of an Ed25519 key, or a did:web");
}

/** The expiry of a token. @param now whole seconds since the epoch @returns whole seconds since the epoch */
export function endAfter(now: number, lifetimeSeconds: number): number {
  const end = lifetimeSeconds > 0 ? parseTime(now + lifetimeSeconds) : undefined;
  if (end !== undefined) return end;
  throw new MintError("bad_exp", "The lifetime is not a positive number of whole seconds");
}
