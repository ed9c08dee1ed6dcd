// Decides what is text, and finds the boundaries of lines and characters in encoded bytes.

import { isUtf8 } from "node:buffer";
import { type TextCodec, UTF8 } from "./encoding.js";

/** A NUL within so many leading bytes marks a file as binary. */
export const NUL_WINDOW = 8192;
/** Most bytes of a character, in any encoding. */
const LONGEST = 4;
/** A lower byte is a whole character in every encoding whose line feed is one byte. */
const MIN_TRAIL = 0x30;
const LINE_FEED = 0x0a;

export interface TextRule {
  /** A NUL in the first 8,192 bytes does not mark the file as binary. */
  readonly allowNul: boolean;
}

/** Whether bytes are text: valid UTF-8, and no NUL in the first 8,192 bytes. */
export function isText(bytes: Buffer, options: TextRule = { allowNul: false }): boolean {
  return isUtf8(bytes) && (options.allowNul || !bytes.subarray(0, NUL_WINDOW).includes(0));
}

/** Whether bytes that are no UTF-8 may be text all the same. */
export const mayBeText = (bytes: Buffer): boolean => !bytes.subarray(0, NUL_WINDOW).includes(0);

/** Decodes bytes, with the same NUL rule in any encoding; `undefined`: they are not text. */
export function textIn(bytes: Buffer, codec: TextCodec, options: TextRule): string | undefined {
  if (codec === UTF8) return isText(bytes, options) ? bytes.toString("utf8") : undefined;
  const text = codec.decode(bytes);
  if (text === undefined || options.allowNul) return text;
  return text.slice(0, NUL_WINDOW / codec.unit).includes("\0") ? undefined : text;
}

/** End of the line that starts at `from`, including its terminator; -1: the line does not end within the bytes. */
export function lineEnd(bytes: Buffer, from: number, { unit, bigEndian }: TextCodec): number {
  if (unit === 1) return bytes.indexOf(LINE_FEED, from) + 1 || -1;
  const low = bigEndian ? 1 : 0;
  for (let at = bytes.indexOf(LINE_FEED, from); at >= 0; at = bytes.indexOf(LINE_FEED, at + 1)) {
    if (at % 2 === low && bytes[at + 1 - 2 * low] === 0) return at + 2 - low;
  }
  return -1;
}

/** Number of line feeds. */
export function countFeeds(bytes: Buffer, codec: TextCodec): number {
  let feeds = 0;
  for (let next = lineEnd(bytes, 0, codec); next > 0; next = lineEnd(bytes, next, codec)) feeds++;
  return feeds;
}

/** End of the last line feed before `before`; 0: there is none. */
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

/** First character boundary at or after `at`. The bytes start with a character, or with enough context before `at`. */
export function characterStart(bytes: Buffer, at: number, codec: TextCodec): number {
  if (codec === UTF8) return behindContinuation(bytes, at);
  if (codec.unit === 2) {
    const even = at + (at % 2);
    return isSecondHalf(bytes, even, codec) ? even + 2 : even;
  }
  let start = at;
  while (start > 0 && Number(bytes[start - 1]) >= MIN_TRAIL) start--;
  // Without a known boundary, assume that `at` is one.
  if (start === 0 && at > LONGEST) return at;
  while (start < at) start += characterLength(bytes, start, codec);
  return start;
}

/** Last character boundary at or before `at`. @param from where a character starts */
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

/** Length in bytes of the character that starts at `at`; at least 1. */
export function characterLength(bytes: Buffer, at: number, codec: TextCodec): number {
  if (codec === UTF8) return codePointLength(bytes[at]);
  if (codec.unit === 2) return isSecondHalf(bytes, at + 2, codec) ? 4 : 2;
  for (let length = 1; length <= LONGEST && at + length <= bytes.length; length++) {
    if (codec.decode(bytes.subarray(at, at + length)) !== undefined) return length;
  }
  return 1;
}

/** Whether a complete multi-byte UTF-8 code point ends at `at`. */
export function endsCodePoint(bytes: Buffer, at: number): boolean {
  for (let length = 2; length <= LONGEST && at - length >= 0; length++) {
    if (!isContinuation(bytes[at - length])) return isUtf8(bytes.subarray(at - length, at));
  }
  return false;
}

/** Last start of a UTF-8 code point at or before `at`; `at` itself at the end of the bytes. */
function codePointStart(bytes: Buffer, at: number): number {
  let start = at;
  while (start > 0 && at - start < 3 && isContinuation(bytes[start])) start--;
  // The code point is complete before `at`, so the byte at `at` does not continue it.
  return start < at && start + codePointLength(bytes[start]) <= at ? at : start;
}

function behindContinuation(bytes: Buffer, at: number): number {
  let start = at;
  while (isContinuation(bytes[start])) start++;
  return start;
}

/** Whether `at` is between the two halves of a UTF-16 surrogate pair. */
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
