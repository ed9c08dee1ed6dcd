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

/**
 * Eight bytes at a time, up to the first that is escaped: far faster than decoding, escaping and encoding a string. They are put
 * before they are looked at, since most texts have few escapes; what stands behind the returned end means nothing.
 */
function putEscaped(bytes: Buffer, { from, into, at }: Place): Step {
  const source = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  const target = new DataView(into.buffer, into.byteOffset, into.length);
  const lastEight = bytes.length - 8;
  const lastPut = into.length - LONGEST_ESCAPE;
  let read = from;
  let put = at;
  while (read <= lastEight && put <= lastPut - 8) {
    const first = source.getInt32(read, true);
    const second = source.getInt32(read + 4, true);
    target.setInt32(put, first, true);
    target.setInt32(put + 4, second, true);
    const inFirst = escapedIn(first);
    const inSecond = escapedIn(second);
    let plain = 8;
    if ((inFirst | inSecond) !== 0) plain = inFirst !== 0 ? firstByte(inFirst) : 4 + firstByte(inSecond);
    read += plain;
    put += plain;
    if (plain < 8) put = putByte(Number(bytes[read++]), into, put);
  }
  while (read < bytes.length && put <= lastPut) put = putByte(Number(bytes[read++]), into, put);
  return { taken: read - from, put: put - at };
}

/**
 * The high bit of each byte of a word that is escaped in JSON; above the lowest of these, others may be set as well. Looks for zero
 * bytes (Hacker's Delight, 6-1).
 */
function escapedIn(four: number): number {
  const quotes = four ^ 0x22222222;
  const slashes = four ^ 0x5c5c5c5c;
  const controls = (four - 0x20202020) & ~four;
  return (controls | ((quotes - 0x01010101) & ~quotes) | ((slashes - 0x01010101) & ~slashes)) & 0x80808080;
}

/** Number of the byte, from the lowest, that holds the lowest bit. */
const firstByte = (bits: number): number => (31 - Math.clz32(bits & -bits)) >> 3;

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
