// Cursors of the log of events. Each is one encrypted block: it shows neither how many events were left out for its reader
// nor what goes on elsewhere.

import { createCipheriv, createDecipheriv, hash, randomBytes } from "node:crypto";

/** A cursor: 4 bytes of the start, 6 of the position, 6 of what it is bound to. */
const BLOCK_BYTES = 16;
const START_BYTES = 4;
const POSITION_BYTES = 6;
const CURSOR = /^[A-Za-z0-9_-]{22}$/;

export class CursorCipher {
  readonly #start = randomBytes(START_BYTES);
  readonly #seal;
  readonly #open;

  constructor() {
    const key = randomBytes(BLOCK_BYTES);
    // Single blocks, no two of which are alike: no mode that chains them is needed.
    this.#seal = createCipheriv("aes-128-ecb", key, null).setAutoPadding(false);
    this.#open = createDecipheriv("aes-128-ecb", key, null).setAutoPadding(false);
  }

  seal(position: number, binding: string): string {
    const block = Buffer.alloc(BLOCK_BYTES);
    this.#start.copy(block);
    block.writeUIntBE(position, START_BYTES, POSITION_BYTES);
    bindingOf(binding).copy(block, START_BYTES + POSITION_BYTES);
    return this.#seal.update(block).toString("base64url");
  }

  open(cursor: string, binding: string): number | "start" | "other" {
    if (!CURSOR.test(cursor)) return "other";
    const block = this.#open.update(Buffer.from(cursor, "base64url"));
    if (!block.subarray(0, START_BYTES).equals(this.#start)) return "start";
    const isBound = block.subarray(START_BYTES + POSITION_BYTES).equals(bindingOf(binding));
    return isBound ? block.readUIntBE(START_BYTES, POSITION_BYTES) : "other";
  }
}

const NOT_BOUND = Buffer.alloc(BLOCK_BYTES - START_BYTES - POSITION_BYTES);

const bindingOf = (text: string): Buffer =>
  text === "" ? NOT_BOUND : hash("sha256", text, "buffer").subarray(0, NOT_BOUND.length);
