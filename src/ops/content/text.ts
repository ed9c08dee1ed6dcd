import { isUtf8 } from "node:buffer";
import { type TextCodec, UTF8 } from "./encoding.js";

/** Leading bytes in which a NUL means that a file is not text. */
export const NUL_WINDOW = 8192;
/** Most bytes of a character, in any encoding. */
const LONGEST = 4;
/** Below it a byte is a character of its own in every encoding whose line feed is one byte. */
const LEAST_TRAIL = 0x30;
const LINE_FEED = 0x0a;

export interface TextRule {
  /** A NUL among the first 8,192 bytes does not make it something else. */
  readonly allowNul: boolean;
}

/** Whether bytes are text: valid UTF-8, and no NUL in the first 8,192 bytes. */
export function isText(bytes: Buffer, options: TextRule = { allowNul: false }): boolean {
  return isUtf8(bytes) && (options.allowNul || !bytes.subarray(0, NUL_WINDOW).includes(0));
}

/** The text that bytes are, by the same rule in any encoding; `undefined`: they are none. */
export function textIn(bytes: Buffer, codec: TextCodec, options: TextRule): string | undefined {
  if (codec === UTF8) return isText(bytes, options) ? bytes.toString("utf8") : undefined;
  const text = codec.decode(bytes);
  if (text === undefined || options.allowNul) return text;
  return text.slice(0, NUL_WINDOW / codec.unit).includes("\0") ? undefined : text;
}

/** Where the line ends that stands at `from`, its terminator included; -1: the bytes end before it. */
export function lineEnd(bytes: Buffer, from: number, { unit, bigEndian }: TextCodec): number {
  if (unit === 1) return bytes.indexOf(LINE_FEED, from) + 1 || -1;
  const low = bigEndian ? 1 : 0;
  for (let at = bytes.indexOf(LINE_FEED, from); at >= 0; at = bytes.indexOf(LINE_FEED, at + 1)) {
    if (at % 2 === low && bytes[at + 1 - 2 * low] === 0) return at + 2 - low;
  }
  return -1;
}

/** Where the last line feed before `before` ends; 0: there is none. */
export function lastLineEnd(bytes: Buffer, before: number, { unit, bigEndian }: TextCodec): number {
  const low = unit === 2 && bigEndian ? 1 : 0;
  for (let at = before; at > 0; ) {
    at = bytes.lastIndexOf(LINE_FEED, at - 1);
    if (at < 0) return 0;
    const end = at + unit - low;
    if (unit === 1 || (end <= before && at % 2 === low && bytes[at + 1 - 2 * low] === 0)) return end;
  }
  return 0;
}

/** The first start of a character at or behind `at`. The bytes start with one, or are some of what stands before `at`. */
export function characterStart(bytes: Buffer, at: number, codec: TextCodec): number {
  if (codec === UTF8) return behindContinuation(bytes, at);
  if (codec.unit === 2) {
    const even = at + (at % 2);
    return isSecondHalf(bytes, even, codec) ? even + 2 : even;
  }
  let start = at;
  while (start > 0 && Number(bytes[start - 1]) >= LEAST_TRAIL) start--;
  // Where nothing tells, the place is taken for what it should be.
  if (start === 0 && at > LONGEST) return at;
  while (start < at) start += characterLength(bytes, start, codec);
  return start;
}

/** The last end of a character at or before `at`; bytes from `from`, where one starts. */
export function characterEnd(bytes: Buffer, from: number, { at, codec }: { at: number; codec: TextCodec }): number {
  if (codec === UTF8) return Math.max(from, codePointStart(bytes, at));
  if (codec.unit === 2) {
    const even = at - (at % 2);
    return Math.max(from, isSecondHalf(bytes, even, codec) ? even - 2 : even);
  }
  const line = Math.max(from, from + lastLineEnd(bytes.subarray(from), at - from, codec));
  for (let end = at; end > line && end > at - LONGEST; end--) {
    if (codec.decode(bytes.subarray(line, end)) !== undefined) return end;
  }
  return at - line < LONGEST ? line : at;
}

/** Bytes of the character that starts at `at`; at least 1. */
export function characterLength(bytes: Buffer, at: number, codec: TextCodec): number {
  if (codec === UTF8) return codePointLength(bytes[at]);
  if (codec.unit === 2) return isSecondHalf(bytes, at + 2, codec) ? 4 : 2;
  for (let length = 1; length <= LONGEST && at + length <= bytes.length; length++) {
    if (codec.decode(bytes.subarray(at, at + length)) !== undefined) return length;
  }
  return 1;
}

/** Whether the bytes before `at` end a whole code point of UTF-8. */
export function endsCodePoint(bytes: Buffer, at: number): boolean {
  for (let length = 2; length <= LONGEST && at - length >= 0; length++) {
    if (!isContinuation(bytes[at - length])) return isUtf8(bytes.subarray(at - length, at));
  }
  return false;
}

/** The last start of a code point of UTF-8 at or before `at`, or `at` itself where the bytes end. */
export function codePointStart(bytes: Buffer, at: number): number {
  let start = at;
  while (start > 0 && at - start < 3 && isContinuation(bytes[start])) start--;
  // Whole before `at`: then what stands at `at` continues nothing.
  return start < at && start + codePointLength(bytes[start]) <= at ? at : start;
}

function behindContinuation(bytes: Buffer, at: number): number {
  let start = at;
  while (isContinuation(bytes[start])) start++;
  return start;
}

/** Whether a surrogate pair of UTF-16 goes on at `at`. */
function isSecondHalf(bytes: Buffer, at: number, { bigEndian }: TextCodec): boolean {
  const high = (index: number): number => Number(bytes[index + (bigEndian ? 0 : 1)]) & 0xfc;
  return at >= 2 && high(at) === 0xdc && high(at - 2) === 0xd8;
}

const isContinuation = (byte: number | undefined): boolean => byte !== undefined && (byte & 0xc0) === 0x80;

function codePointLength(lead: number | undefined): number {
  if (lead === undefined || lead < 0x80) return 1;
  if (lead < 0xe0) return 2;
  return lead < 0xf0 ? 3 : 4;
}
