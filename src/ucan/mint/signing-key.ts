// Ed25519 keys, made from 32-byte seeds.

import { createPrivateKey, createPublicKey, type KeyObject, randomBytes, sign } from "node:crypto";
import type { JsonObject } from "../../core/ports/adapter.js";
import { didKeyFromPublicKey, multikeyFromPublicKey } from "../token/did-key.js";

/** DER prefix of a PKCS #8 Ed25519 private key (RFC 8410), followed by the 32-byte seed. */
const PKCS8_HEADER = Buffer.from("302e020100300506032b657004220420", "hex");
const SEED_BYTES = 32;
const SEED_TEXT = /^[0-9a-fA-F]{64}$/;

/** An Ed25519 signing key in all its representations. */
export interface SigningKey {
  /** Its `did:key`. */
  readonly did: string;
  /** The part of `did` after `did:key:`. */
  readonly multikey: string;
  /** The 32 bytes. */
  readonly publicKey: Uint8Array;
  readonly privateKey: KeyObject;
}

/** A fresh secret: 32 random bytes. */
export const newSeed = (): Uint8Array => randomBytes(SEED_BYTES);

/** Parses a seed file: 64 hex digits and nothing else. */
export const parseSeed = (text: string): Uint8Array | undefined =>
  SEED_TEXT.test(text) ? Buffer.from(text, "hex") : undefined;

/**
 * Derives the key pair of a seed.
 *
 * @param seed 32 bytes, the private key of RFC 8032
 * @throws RangeError if the seed does not have 32 bytes. Never shows it
 */
export function signingKeyFromSeed(seed: Uint8Array): SigningKey {
  if (seed.length !== SEED_BYTES) {
    throw new RangeError(`Cannot make a key: a seed has ${SEED_BYTES} bytes, not ${seed.length}`);
  }
  const privateKey = createPrivateKey({ key: Buffer.concat([PKCS8_HEADER, seed]), format: "der", type: "pkcs8" });
  const spki = createPublicKey(privateKey).export({ format: "der", type: "spki" });
  // In SPKI the key follows a fixed header.
  const publicKey = new Uint8Array(spki.subarray(-SEED_BYTES));
  return {
    did: didKeyFromPublicKey(publicKey),
    multikey: multikeyFromPublicKey(publicKey),
    publicKey,
    privateKey,
  };
}

// Signs JWTs with Ed25519.

/** Signs with an Ed25519 key. @returns 64 bytes */
export const signBytes = (bytes: Uint8Array, key: SigningKey): Uint8Array => sign(null, bytes, key.privateKey);

/** Signs a JWT in compact form, with the header of Covia clients, which includes the key as `kid`. */
export function signToken(payload: JsonObject, key: SigningKey): string {
  const header = { alg: "EdDSA", typ: "JWT", kid: key.multikey };
  const text = `${encode(header)}.${encode(payload)}`;
  return `${text}.${Buffer.from(signBytes(Buffer.from(text), key)).toString("base64url")}`;
}

const encode = (part: JsonObject): string => Buffer.from(JSON.stringify(part)).toString("base64url");
