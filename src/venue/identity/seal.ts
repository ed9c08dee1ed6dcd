// Seals by AES-256-GCM, under keys that are derived from the venue's seed.

import { createCipheriv, createDecipheriv, hkdfSync, type KeyObject, randomBytes } from "node:crypto";
import type { Seal } from "../../core/ports/shared.js";

const CIPHER = "aes-256-gcm";
const KEY_BYTES = 32;
const NONCE_BYTES = 12;
const TAG_BYTES = 16;
/** Length of the seed at the end of a PKCS #8 Ed25519 key. */
const SEED_BYTES = 32;

/** A key for one use, of the venue's signing key. Absent: one that holds as long as the process. */
export function secretFor(key: KeyObject | undefined, use: string): Buffer {
  if (key === undefined) return randomBytes(KEY_BYTES);
  const seed = key.export({ format: "der", type: "pkcs8" }).subarray(-SEED_BYTES);
  return Buffer.from(hkdfSync("sha256", seed, "", `venue-files ${use}`, KEY_BYTES));
}

/** Nonces are random: far fewer than 2^32 are sealed under one key. */
export function createSeal(secret: Buffer): Seal {
  return {
    seal(id, bytes) {
      const nonce = randomBytes(NONCE_BYTES);
      const cipher = createCipheriv(CIPHER, secret, nonce, { authTagLength: TAG_BYTES });
      cipher.setAAD(Buffer.from(id));
      return Buffer.concat([nonce, cipher.update(bytes), cipher.final(), cipher.getAuthTag()]);
    },
    open(id, sealed) {
      if (sealed.length < NONCE_BYTES + TAG_BYTES) return undefined;
      const decipher = createDecipheriv(CIPHER, secret, sealed.subarray(0, NONCE_BYTES), { authTagLength: TAG_BYTES });
      decipher.setAAD(Buffer.from(id));
      decipher.setAuthTag(sealed.subarray(-TAG_BYTES));
      const plain = decipher.update(sealed.subarray(NONCE_BYTES, -TAG_BYTES));
      try {
        return Buffer.concat([plain, decipher.final()]);
      } catch {
        return undefined;
      }
    },
  };
}
