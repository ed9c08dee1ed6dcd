import { generateKeyPairSync } from "node:crypto";
import { base58 } from "@scure/base";

/** Multicodec prefix of an Ed25519 public key. */
const ED25519_PUB = [0xed, 0x01];
const KEY_BYTES = 32;

/**
 * The `did:key` of an Ed25519 public key.
 *
 * @param raw32 the 32 bytes of the key
 * @returns `did:key:z6Mk…`: `z` and base58btc of `0xed 0x01` and the key
 * @throws RangeError when the key does not have 32 bytes
 * @example didKeyFromPublicKey(new Uint8Array(32));
 * @see https://w3c-ccg.github.io/did-key-spec/
 */
export function didKeyFromPublicKey(raw32: Uint8Array): string {
  if (raw32.length !== KEY_BYTES) {
    throw new RangeError(`Cannot make a did:key: an Ed25519 public key has ${KEY_BYTES} bytes, not ${raw32.length}`);
  }
  return `did:key:z${base58.encode(Uint8Array.of(...ED25519_PUB, ...raw32))}`;
}

/**
 * An identity for one run of a venue that has no seed. The private key is dropped at once: nothing is signed with it.
 *
 * @returns the DID of a fresh key
 */
export function createEphemeralIdentity(): { did: string } {
  const { publicKey } = generateKeyPairSync("ed25519");
  // The key is the tail of its SubjectPublicKeyInfo, after a fixed header.
  const spki = publicKey.export({ format: "der", type: "spki" });
  return { did: didKeyFromPublicKey(spki.subarray(-KEY_BYTES)) };
}
