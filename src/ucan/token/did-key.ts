// Converts between `did:key`, multikeys and Ed25519 public keys.

import { base58 } from "@scure/base";

/** Multicodec prefix of an Ed25519 public key. */
const ED25519_PUB = [0xed, 0x01];
const KEY_BYTES = 32;
const METHOD = "did:key:";
/** Length of every `did:key` of an Ed25519 key. */
const DID_LENGTH = METHOD.length + 48;

/**
 * Encodings of the small-order points, without the sign bit. OpenSSL accepts such keys, but anybody can forge
 * signatures for them: one made of the neutral element verifies for every message, or for one in a few.
 */
const SMALL_ORDER = new Set([
  "0000000000000000000000000000000000000000000000000000000000000000",
  "0100000000000000000000000000000000000000000000000000000000000000",
  "ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
  "26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05",
  "c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a",
]);
/** A coordinate that is not below the field prime 2^255 - 19: a non-canonical encoding of another key. */
const NOT_REDUCED = /^(?:e[def]|f.)(?:ff){30}7f$/;

/**
 * The multikey of an Ed25519 public key: the part of its DID after `did:key:`.
 *
 * @param raw32 the 32 bytes of the key
 * @returns `z6Mk…`: `z` and base58btc of `0xed 0x01` and the key
 * @throws RangeError if the key does not have 32 bytes
 */
export function multikeyFromPublicKey(raw32: Uint8Array): string {
  if (raw32.length !== KEY_BYTES) {
    throw new RangeError(`Cannot make a did:key: an Ed25519 public key has ${KEY_BYTES} bytes, not ${raw32.length}`);
  }
  return `z${base58.encode(Uint8Array.of(...ED25519_PUB, ...raw32))}`;
}

/**
 * The `did:key` of an Ed25519 public key.
 *
 * @param raw32 the 32 bytes of the key
 * @throws RangeError when the key does not have 32 bytes
 * @example didKeyFromPublicKey(new Uint8Array(32));
 * @see https://w3c-ccg.github.io/did-key-spec/
 */
export const didKeyFromPublicKey = (raw32: Uint8Array): string => `${METHOD}${multikeyFromPublicKey(raw32)}`;

/** The multikey in a `did:key`. */
export const multikeyOfDid = (did: string): string => did.slice(METHOD.length);

/**
 * Decodes a `did:key`.
 *
 * @returns the 32-byte public key; `undefined` unless it is the canonical form of an Ed25519 key not of small order
 */
export function publicKeyFromDidKey(did: string): Uint8Array | undefined {
  // Length first, since base58 decoding takes quadratic time.
  if (did.length !== DID_LENGTH || !did.startsWith(`${METHOD}z`)) return undefined;
  const bytes = decodeBase58(did.slice(METHOD.length + 1));
  if (bytes?.length !== ED25519_PUB.length + KEY_BYTES) return undefined;
  const key = bytes.subarray(ED25519_PUB.length);
  return didKeyFromPublicKey(key) === did && !isWeak(key) ? key : undefined;
}

function decodeBase58(text: string): Uint8Array | undefined {
  try {
    return base58.decode(text);
  } catch {
    return undefined;
  }
}

function isWeak(key: Uint8Array): boolean {
  const unsigned = Buffer.from(key);
  unsigned[KEY_BYTES - 1] = (unsigned[KEY_BYTES - 1] ?? 0) & 0x7f;
  const hex = unsigned.toString("hex");
  return SMALL_ORDER.has(hex) || NOT_REDUCED.test(hex);
}
