// Seals the facts of a question to the user of a client, so that the answer, which comes back by the client, can be trusted.

import { createCipheriv, createDecipheriv, createHash, hkdfSync, type KeyObject, randomBytes } from "node:crypto";
import { stringifyExact } from "../../schema/exact-json.js";

const CIPHER = "aes-256-gcm";
const KEY_BYTES = 32;
const NONCE_BYTES = 12;
const TAG_BYTES = 16;
const TIME_BYTES = 6;
const ID_BYTES = 16;
const FACTS_BYTES = 32;
const PLAIN_BYTES = TIME_BYTES + ID_BYTES + FACTS_BYTES;
const SEALED = /^[A-Za-z0-9_-]{110}$/;
/** Length of the seed at the end of a PKCS #8 Ed25519 key. */
const SEED_BYTES = 32;
const USE = "venue-files question to the user of a client";

export interface Question {
  /** Id of the approval, 32 hex digits. */
  readonly id: string;
  /** Milliseconds since the epoch. */
  readonly until: number;
  /** SHA-256 of caller, operation, input and what is there. */
  readonly facts: Buffer;
}

export interface QuestionSeal {
  seal(question: Question): string;
  /** @returns `undefined`: not sealed by this venue, or changed */
  open(text: string): Question | undefined;
}

/** @param key the venue's; absent: what is sealed holds as long as the process */
export function createQuestionSeal(key: KeyObject | undefined): QuestionSeal {
  const secret = secretOf(key);
  return {
    seal({ id, until, facts }) {
      const plain = Buffer.alloc(PLAIN_BYTES);
      plain.writeUIntBE(until, 0, TIME_BYTES);
      Buffer.from(id, "hex").copy(plain, TIME_BYTES);
      facts.copy(plain, TIME_BYTES + ID_BYTES);
      const nonce = randomBytes(NONCE_BYTES);
      const cipher = createCipheriv(CIPHER, secret, nonce, { authTagLength: TAG_BYTES });
      const sealed = Buffer.concat([nonce, cipher.update(plain), cipher.final(), cipher.getAuthTag()]);
      return sealed.toString("base64url");
    },
    open(text) {
      if (!SEALED.test(text)) return undefined;
      const sealed = Buffer.from(text, "base64url");
      const nonce = sealed.subarray(0, NONCE_BYTES);
      const decipher = createDecipheriv(CIPHER, secret, nonce, { authTagLength: TAG_BYTES });
      decipher.setAuthTag(sealed.subarray(-TAG_BYTES));
      const plain = decipher.update(sealed.subarray(NONCE_BYTES, -TAG_BYTES));
      try {
        decipher.final();
      } catch {
        return undefined;
      }
      return {
        until: plain.readUIntBE(0, TIME_BYTES),
        id: plain.subarray(TIME_BYTES, TIME_BYTES + ID_BYTES).toString("hex"),
        facts: plain.subarray(TIME_BYTES + ID_BYTES),
      };
    },
  };
}

export const factsOf = (facts: readonly unknown[]): Buffer =>
  createHash("sha256").update(stringifyExact(facts)).digest();

function secretOf(key: KeyObject | undefined): Buffer {
  if (key === undefined) return randomBytes(KEY_BYTES);
  const seed = key.export({ format: "der", type: "pkcs8" }).subarray(-SEED_BYTES);
  return Buffer.from(hkdfSync("sha256", seed, "", USE, KEY_BYTES));
}
