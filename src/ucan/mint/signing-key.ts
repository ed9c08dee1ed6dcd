import { createPrivateKey, createPublicKey, type KeyObject, randomBytes } from "node:crypto";
import { didKeyFromPublicKey, multikeyFromPublicKey } from "../token/did-key.js";

/** What stands before the 32 bytes of a seed in a PKCS #8 Ed25519 key (RFC 8410). */
const PKCS8_HEADER = Buffer.from("302e020100300506032b657004220420", "hex");
const SEED_BYTES = 32;
const SEED_TEXT = /^[0-9a-fA-F]{64}$/;

/** An Ed25519 key that signs, under all its names. */
export interface SigningKey {
  /** Its `did:key`. */
  readonly did: string;
  /** What follows `did:key:` there. */
  readonly multikey: string;
  /** The 32 bytes. */
  readonly publicKey: Uint8Array;
  readonly privateKey: KeyObject;
}

/** A fresh secret: 32 random bytes. */
export const newSeed = (): Uint8Array => randomBytes(SEED_BYTES);

/** A seed as it is written in files: 64 hex digits and nothing else. */
export const parseSeed = (text: string): Uint8Array | undefined =>
  SEED_TEXT.test(text) ? Buffer.from(text, "hex") : undefined;

/**
 * The key that a seed stands for.
 *
 * @param seed 32 bytes, the secret of RFC 8032
 * @throws RangeError when the seed does not have 32 bytes. Never shows it
 */
export function signingKeyFromSeed(seed: Uint8Array): SigningKey {
  if (seed.length !== SEED_BYTES) {
    throw new RangeError(`Cannot make a key: a seed has ${SEED_BYTES} bytes, not ${seed.length}`);
  }
  const privateKey = createPrivateKey({ key: Buffer.concat([PKCS8_HEADER, seed]), format: "der", type: "pkcs8" });
  const spki = createPublicKey(privateKey).export({ format: "der", type: "spki" });
  // The key is the tail of it, after a fixed header.
  const publicKey = new Uint8Array(spki.subarray(-SEED_BYTES));
  return {
    did: didKeyFromPublicKey(publicKey),
    multikey: multikeyFromPublicKey(publicKey),
    publicKey,
    privateKey,
  };
}
