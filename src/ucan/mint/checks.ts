import { publicKeyFromDidKey } from "../token/did-key.js";
import { parseTime } from "../token/time.js";
import { MintError } from "./error.js";

const PLAIN_DID = /^did:[a-z0-9]+:[A-Za-z0-9._:%-]{1,256}$/;

/** Whether somebody can be the audience: of keys, only those that can prove something here. */
export function checkAudience(audience: string): void {
  const isUsable = audience.startsWith("did:key:")
    ? publicKeyFromDidKey(audience) !== undefined
    : PLAIN_DID.test(audience);
  if (isUsable) return;
  throw new MintError("bad_did", "The audience is not a DID. Give a did:key of an Ed25519 key, or a did:web");
}

/** @param now whole seconds @returns the end in whole seconds */
export function endAfter(now: number, lifetimeSeconds: number): number {
  const end = lifetimeSeconds > 0 ? parseTime(now + lifetimeSeconds) : undefined;
  if (end !== undefined) return end;
  throw new MintError("bad_exp", "The lifetime is not a positive number of whole seconds");
}
