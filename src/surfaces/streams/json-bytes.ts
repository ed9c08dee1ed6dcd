// Writes content as the inside of a JSON string, from bytes to bytes.

import type { ContentBytes } from "../../core/content-bytes.js";

/** Bytes of base64 for every three bytes. */
const BASE64_GROUP = 4;
/** Longest escape, `\u0000`, for one byte. */
const LONGEST_ESCAPE = 6;

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const SPACE = 0x20;
/** By control character: what follows the backslash; 0: `u00` and two digits. */
const SHORT = new Uint8Array(BACKSLASH + 1);
for (const escaped of '\b\t\n\f\r"\\') SHORT[escaped.charCodeAt(0)] = JSON.stringify(escaped).charCodeAt(2);
const HEX = Buffer.from("0123456789abcdef", "latin1");

/** Bytes that one step took from a content and put into a buffer. */
export interface Step {
  readonly taken: number;
  readonly put: number;
}

/** Bytes that a content takes as a JSON string where nothing is escaped, without the quotes. */
export const jsonBytes = ({ bytes, form }: ContentBytes): number =>
  form === "base64" ? Math.ceil(bytes.length / 3) * BASE64_GROUP : bytes.length;

/** Where a step begins. */
interface Place {
  /** First byte of the content; of base64, a multiple of 3. */
  readonly from: number;
  readonly into: Buffer;
  /** Where to put it; at least {@link LONGEST_ESCAPE} bytes behind it are free. */
  readonly at: number;
}

/** Puts as much of a content as fits into a buffer, exactly as `JSON.stringify` escapes it. */
export const putJson = ({ bytes, form }: ContentBytes, place: Place): Step =>
  form === "base64" ? putBase64(bytes, place) : putEscaped(bytes, place);

function putBase64(bytes: Buffer, { from, into, at }: Place): Step {
  const groups = Math.floor((into.length - at) / BASE64_GROUP);
  const end = Math.min(bytes.length, from + 3 * groups);
  return { taken: end - from, put: into.write(bytes.toString("base64", from, end), at, "latin1") };
}

/** Four bytes at a time while none of them is escaped: five times as fast as decoding, escaping and encoding a string. */
function putEscaped(bytes: Buffer, { from, into, at }: Place): Step {
  const source = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  const target = new DataView(into.buffer, into.byteOffset, into.length);
  const lastFour = bytes.length - 4;
  const lastPut = into.length - LONGEST_ESCAPE;
  let read = from;
  let put = at;
  while (read < bytes.length && put <= lastPut) {
    if (read <= lastFour) {
      const four = source.getInt32(read);
      if (!isEscapedIn(four)) {
        target.setInt32(put, four);
        read += 4;
        put += 4;
        continue;
      }
    }
    const end = Math.min(read + 4, bytes.length);
    while (read < end && put <= lastPut) put = putByte(Number(bytes[read++]), into, put);
  }
  return { taken: read - from, put: put - at };
}

/** Whether one of the four bytes of a word is escaped in JSON. Looks for a zero byte (Hacker's Delight, 6-1). */
function isEscapedIn(four: number): boolean {
  const quotes = four ^ 0x22222222;
  const slashes = four ^ 0x5c5c5c5c;
  const controls = (four - 0x20202020) & ~four;
  return ((controls | ((quotes - 0x01010101) & ~quotes) | ((slashes - 0x01010101) & ~slashes)) & 0x80808080) !== 0;
}

/** @returns where the next byte goes */
function putByte(byte: number, into: Buffer, at: number): number {
  if (byte >= SPACE && byte !== QUOTE && byte !== BACKSLASH) {
    into[at] = byte;
    return at + 1;
  }
  into[at] = BACKSLASH;
  const short = Number(SHORT[byte]);
  if (short !== 0) {
    into[at + 1] = short;
    return at + 2;
  }
  into[at + 1] = 0x75;
  into[at + 2] = 0x30;
  into[at + 3] = 0x30;
  into[at + 4] = Number(HEX[byte >> 4]);
  into[at + 5] = Number(HEX[byte & 15]);
  return at + LONGEST_ESCAPE;
}
