// The random part of names in the staging directory.

import { randomBytes } from "node:crypto";

const BYTES = 8;
/** Serials per call to the random generator: one call costs more than a system call. */
const BATCH = 512;

let random = Buffer.alloc(0);
let offset = 0;

/** 8 cryptographically random bytes as 16 hex digits. */
export function newSerial(): string {
  if (offset === random.length) {
    random = randomBytes(BATCH * BYTES);
    offset = 0;
  }
  offset += BYTES;
  return random.toString("hex", offset - BYTES, offset);
}
