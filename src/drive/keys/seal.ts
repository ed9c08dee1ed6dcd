// Seals the seeds of owners' keys with the venue key.

import { createCipheriv, createDecipheriv, hkdfSync, KeyObject, randomBytes } from "node:crypto";

/** The owner and key to which the seal is bound. */
export interface SealedFor {
  readonly did: string;
  /** 64 hex digits. */
  readonly publicKey: string;
}

export interface Sealed {
  readonly nonce: Buffer;
  readonly sealed: Buffer;
}

const SALT = "venue-files/drive-key/v1";
const CIPHER = "aes-256-gcm";
const KEY_BYTES = 32;
const NONCE_BYTES = 12;
const TAG_BYTES = 16;

/**
 * Seals seeds at rest. Has no string form that could leak the key.
 * @param venueKey an Ed25519 private key, a secret key, or the secret bytes themselves
 */
export function createSealer(venueKey: KeyObject | Uint8Array) {
  const withKey = <T>(did: string, use: (key: Buffer) => T): T => {
    const material = materialOf(venueKey);
    const key = Buffer.from(hkdfSync("sha256", material, SALT, did, KEY_BYTES));
    try {
      return use(key);
    } finally {
      material.fill(0);
      key.fill(0);
    }
  };
  return {
    seal: (seed: Uint8Array, about: SealedFor): Sealed =>
      withKey(about.did, (key) => {
        const nonce = randomBytes(NONCE_BYTES);
        const cipher = createCipheriv(CIPHER, key, nonce).setAAD(aadOf(about));
        const sealed = Buffer.concat([cipher.update(seed), cipher.final(), cipher.getAuthTag()]);
        return { nonce, sealed };
      }),
    /** @returns 32 bytes, to be cleared by the caller; `undefined` if the record was not sealed with this venue key */
    open: ({ nonce, sealed }: Sealed, about: SealedFor): Buffer | undefined =>
      withKey(about.did, (key) => {
        if (nonce.length !== NONCE_BYTES || sealed.length !== KEY_BYTES + TAG_BYTES) return undefined;
        const decipher = createDecipheriv(CIPHER, key, nonce, { authTagLength: TAG_BYTES });
        decipher.setAAD(aadOf(about)).setAuthTag(sealed.subarray(KEY_BYTES));
        const seed = decipher.update(sealed.subarray(0, KEY_BYTES));
        try {
          decipher.final();
          return seed;
        } catch {
          seed.fill(0);
          return undefined;
        }
      }),
  };
}

const aadOf = ({ did, publicKey }: SealedFor): Buffer =>
  Buffer.concat([Buffer.from(did, "utf8"), Buffer.from(publicKey, "hex")]);

/** A copy of the secret bytes of a key. @throws TypeError for a key without secret bytes */
function materialOf(key: KeyObject | Uint8Array): Buffer {
  if (!(key instanceof KeyObject)) return Buffer.from(key);
  if (key.type === "secret") return key.export();
  const { d } = key.type === "private" ? key.export({ format: "jwk" }) : {};
  if (d === undefined) throw new TypeError("The key of a venue is a private or secret key");
  return Buffer.from(d, "base64url");
}
