import { createPublicKey, type KeyObject } from "node:crypto";
import { publicKeyFromDidKey } from "../token/did-key.js";

const DEFAULT_MAX_KEYS = 1000;

/** Public keys by their DID. */
export interface PublicKeys {
  /** `undefined` for anything that is not a canonical `did:key` of an Ed25519 key that proves something. */
  of(did: string): KeyObject | undefined;
}

/**
 * Makes keys out of DIDs, and keeps those used last: what a DID says has to be decoded and looked at.
 *
 * @param maxKeys how many are kept
 */
export function createPublicKeys(maxKeys = DEFAULT_MAX_KEYS): PublicKeys {
  const kept = new Map<string, KeyObject>();
  return {
    of(did) {
      const key = kept.get(did) ?? makeKey(did);
      if (key === undefined) return undefined;
      // Moved to the end, so that the first is the one used longest ago.
      kept.delete(did);
      kept.set(did, key);
      const [oldest] = kept.keys();
      if (kept.size > maxKeys && oldest !== undefined) kept.delete(oldest);
      return key;
    },
  };
}

function makeKey(did: string): KeyObject | undefined {
  const raw = publicKeyFromDidKey(did);
  if (raw === undefined) return undefined;
  // As a JWK (RFC 8037): to decode DER would take as long as checking a signature.
  const key = { kty: "OKP", crv: "Ed25519", x: Buffer.from(raw).toString("base64url") };
  return createPublicKey({ key, format: "jwk" });
}
