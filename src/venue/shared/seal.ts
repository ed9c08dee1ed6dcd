// Seals rows of shared state by AES-256-GCM, under keys that are derived from the venue's seed.

import { createCipheriv, createDecipheriv, createHmac, hkdfSync, type KeyObject, randomBytes } from "node:crypto";
import type { Seal } from "../../core/ports/shared.js";

const CIPHER = "aes-256-gcm";
const KEY_BYTES = 32;
const NONCE_BYTES = 12;
const TAG_BYTES = 16;
/** Length of the seed at the end of a PKCS #8 Ed25519 key. */
const SEED_BYTES = 32;

/** A key for one use, of the venue's signing key. */
export function secretFor(key: KeyObject, use: string): Buffer {
  const seed = key.export({ format: "der", type: "pkcs8" }).subarray(-SEED_BYTES);
  return Buffer.from(hkdfSync("sha256", seed, "", `venue-files shared ${use}`, KEY_BYTES));
}

export const macOf =
  (secret: Buffer) =>
  (text: string): string =>
    createHmac("sha256", secret).update(text).digest("base64url");

/** The seal of one table. Nonces are random: a table holds far fewer than 2^32 rows under its key. */
export function createSeal(key: KeyObject, table: string): Seal {
  const secret = secretFor(key, `table ${table}`);
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
