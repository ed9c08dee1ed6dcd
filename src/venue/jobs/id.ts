// Generates job ids.

import { randomBytes } from "node:crypto";

const RANDOM_BYTES = 8;
/** Ids per call to the random generator: one call costs more than the rest of a short job. */
const BATCH = 512;

/**
 * Creates a generator of job ids: 6 bytes of time, 2 of a counter, 8 cryptographically random, as 32 hex digits. Ids
 * sort in order of creation (up to 65,536 per millisecond) and cannot be guessed from one another.
 *
 * @returns a function from the time (milliseconds since the epoch) to the next id
 */
export function createJobIds(): (nowMs: number) => string {
  let random = Buffer.alloc(0);
  let offset = 0;
  let lastMs = -1;
  let time = "";
  let counter = 0;
  return (nowMs) => {
    if (nowMs === lastMs) {
      counter = (counter + 1) % 0x10000;
    } else {
      lastMs = nowMs;
      time = Math.trunc(nowMs).toString(16).padStart(12, "0").slice(-12);
      counter = 0;
    }
    if (offset === random.length) {
      random = randomBytes(BATCH * RANDOM_BYTES);
      offset = 0;
    }
    const count = counter.toString(16).padStart(4, "0");
    const tail = random.toString("hex", offset, offset + RANDOM_BYTES);
    offset += RANDOM_BYTES;
    return time + count + tail;
  };
}
