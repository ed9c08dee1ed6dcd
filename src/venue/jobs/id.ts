import { randomBytes } from "node:crypto";

const RANDOM_BYTES = 8;
/** Random bytes are fetched for this many ids at once: one call to the generator costs more than the rest of a job. */
const BATCH = 512;

/**
 * Makes ids of jobs: 6 bytes time, 2 bytes counter, 8 bytes from the cryptographic generator, as 32 hex digits.
 * They sort in the order they were made (65,536 a millisecond), and nobody can guess one from another.
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
