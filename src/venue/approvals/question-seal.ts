// Seals the facts of a question to the user of a client, so that the answer, which comes back by the client, can be trusted.

import { createHash, type KeyObject } from "node:crypto";
import { stringifyExact } from "../../schema/exact-json.js";
import { createSeal, secretFor } from "../identity/seal.js";

const TIME_BYTES = 6;
const ID_BYTES = 16;
const FACTS_BYTES = 32;
const PLAIN_BYTES = TIME_BYTES + ID_BYTES + FACTS_BYTES;
const SEALED = /^[A-Za-z0-9_-]{110}$/;

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
  const sealing = createSeal(secretFor(key, "question to the user of a client"));
  return {
    seal({ id, until, facts }) {
      const plain = Buffer.alloc(PLAIN_BYTES);
      plain.writeUIntBE(until, 0, TIME_BYTES);
      Buffer.from(id, "hex").copy(plain, TIME_BYTES);
      facts.copy(plain, TIME_BYTES + ID_BYTES);
      return sealing.seal("", plain).toString("base64url");
    },
    open(text) {
      const plain = SEALED.test(text) ? sealing.open("", Buffer.from(text, "base64url")) : undefined;
      if (plain === undefined) return undefined;
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
