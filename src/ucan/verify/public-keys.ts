// Caches the public keys of DIDs, and verifies signatures with them.

import { createPublicKey, type KeyObject, verify } from "node:crypto";
import { putLatest } from "../../core/put-latest.js";
import type { DecodedToken } from "../token/decode.js";
import { publicKeyFromDidKey } from "../token/did-key.js";
import type { TokenFault } from "../token/fault.js";

const DEFAULT_MAX_KEYS = 1000;

/** Public keys by their DID. */
export interface PublicKeys {
  /** `undefined` unless it is a canonical `did:key` of an Ed25519 key not of small order. */
  of(did: string): KeyObject | undefined;
}

/**
 * LRU cache of public keys by DID, since decoding and checking a DID is costly.
 *
 * @param maxKeys capacity
 */
export function createPublicKeys(maxKeys = DEFAULT_MAX_KEYS): PublicKeys {
  const kept = new Map<string, KeyObject>();
  return {
    of(did) {
      const key = kept.get(did) ?? makeKey(did);
      if (key === undefined) return undefined;
      putLatest(kept, did, key, maxKeys);
      return key;
    },
  };
}

function makeKey(did: string): KeyObject | undefined {
  const raw = publicKeyFromDidKey(did);
  if (raw === undefined) return undefined;
  // Imported as a JWK (RFC 8037), since decoding DER would take as long as verifying a signature.
  const key = { kty: "OKP", crv: "Ed25519", x: Buffer.from(raw).toString("base64url") };
  return createPublicKey({ key, format: "jwk" });
}

/**
 * Verifies a token's signature with the key of `iss`. OpenSSL refuses non-reduced scalars (`S + L`), so signatures are
 * not malleable; it accepts keys of small order, which are not valid DIDs here.
 */
export function checkSignature(token: DecodedToken, keys: PublicKeys): TokenFault | undefined {
  const key = keys.of(token.issuer);
  if (key === undefined) return "bad_did";
  const signed = Buffer.from(token.signedText, "latin1");
  return verify(null, signed, key, token.signature) ? undefined : "bad_signature";
}
