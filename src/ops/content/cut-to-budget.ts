// Cuts text to a budget of bytes and lines, at line boundaries if possible.

import { type TextCodec, UTF8 } from "./encoding.js";
import { characterEnd, characterLength, characterStart, lastLineEnd, lineEnd } from "./text.js";

/** A line that does not fit is left for the next page, unless more bytes than these would stay unused. */
const MOST_UNUSED = 4096;

/** The budget of an answer. */
export interface Room {
  readonly codec: TextCodec;
  /** Most bytes including line numbers, both in the file's encoding and in the answer's UTF-8. */
  readonly maxBytes: number;
  readonly maxLines: number;
  /** The requested range ends with the window; otherwise the window is longer than the budget. */
  readonly isLast: boolean;
  /** Number of the first line, if lines are numbered. */
  readonly numberedFrom?: number | undefined;
}

/** The prefix of a window that fits. */
export interface Cut {
  /** Its length in bytes. */
  readonly end: number;
  /** Number of its lines, including a last one without terminator. */
  readonly lines: number;
  /** Limit that cut the text; absent: the whole window fits. */
  readonly by?: "bytes" | "limit";
  /** The cut ends inside its last line. */
  readonly isTorn: boolean;
}

/**
 * Takes whole lines while they fit, then whole characters of the next line where much room is left, and at least one
 * character of the first line.
 */
export function cutLines(window: Buffer, room: Room): Cut {
  const { codec, maxBytes, maxLines, isLast } = room;
  let end = 0;
  let used = 0;
  let lines = 0;
  while (lines < maxLines) {
    if (isLast && end >= window.length) return { end, lines, isTorn: false };
    const found = lineEnd(window, end, codec);
    const next = found < 0 && isLast ? window.length : found;
    const gutter = gutterLength(room, lines);
    const cost = next < 0 ? Number.POSITIVE_INFINITY : gutter + bytesShown(window, { from: end, to: next, codec });
    if (used + cost > maxBytes) {
      const left = maxBytes - used - gutter;
      if (lines > 0 && left <= MOST_UNUSED) return { end, lines, by: "bytes", isTorn: false };
      end += cutInside(window.subarray(end), room, left);
      return { end, lines: lines + 1, by: "bytes", isTorn: true };
    }
    used += cost;
    end = next;
    lines++;
  }
  return end >= window.length && isLast ? { end, lines, isTorn: false } : { end, lines, by: "limit", isTorn: false };
}

/** The suffix of a window that fits. */
export interface TailCut extends Pick<Cut, "lines" | "by"> {
  readonly start: number;
}

/** As {@link cutLines}, from the end. @param gutter bytes of a line number, 0 without */
export function cutTail(window: Buffer, { codec, maxBytes }: Room, gutter: number): TailCut {
  let start = window.length;
  let used = 0;
  for (let lines = 0; ; lines++) {
    if (start <= 0) return { start: 0, lines };
    const from = lastLineEnd(window, start - codec.unit, codec);
    const cost = gutter + bytesShown(window, { from, to: start, codec });
    if (used + cost > maxBytes) {
      const left = maxBytes - used - gutter;
      if (lines > 0 && left <= MOST_UNUSED) return { start, lines, by: "bytes" };
      return { start: cutBefore(window, { from, to: start, codec }, left), lines: lines + 1, by: "bytes" };
    }
    used += cost;
    start = from;
  }
}

/** The text with `N<tab>` before each line. */
export function numbered(text: string, from: number): string {
  if (text === "") return "";
  const parts: string[] = [];
  for (let start = 0, line = from; start < text.length; line++) {
    const end = text.indexOf("\n", start) + 1 || text.length;
    parts.push(`${line}\t${text.slice(start, end)}`);
    start = end;
  }
  return parts.join("");
}

const gutterLength = ({ numberedFrom }: Room, lines: number): number =>
  numberedFrom === undefined ? 0 : String(numberedFrom + lines).length + 1;

interface Span {
  readonly from: number;
  readonly to: number;
  readonly codec: TextCodec;
}

/** Bytes of the budget that a range of a window takes. */
function bytesShown(window: Buffer, { from, to, codec }: Span): number {
  const length = to - from;
  return codec === UTF8 ? length : Math.max(length, Buffer.byteLength(codec.decode(window.subarray(from, to)) ?? ""));
}

/** Where to cut a line that is longer than its budget. */
function cutInside(window: Buffer, { codec }: Room, room: number): number {
  const first = characterLength(window, 0, codec);
  const whole = characterEnd(window, 0, { at: Math.min(window.length, Math.max(0, room)), codec });
  if (codec === UTF8 || whole <= first) return Math.min(window.length, Math.max(first, whole));
  const text = codec.decode(window.subarray(0, whole));
  if (text === undefined || Buffer.byteLength(text) <= room) return whole;
  const shown = Buffer.from(text);
  const fitting = shown.subarray(0, characterEnd(shown, 0, { at: Math.max(0, room), codec: UTF8 }));
  return Math.max(first, codec.encode(fitting.toString("utf8"))?.length ?? 0);
}

/** Where the end of a line begins that fits. */
function cutBefore(window: Buffer, { from, to, codec }: Span, room: number): number {
  const last = characterEnd(window, from, { at: to - 1, codec });
  const start = characterStart(window, Math.max(from, to - Math.max(0, room)), codec);
  const text = codec === UTF8 ? undefined : codec.decode(window.subarray(start, to));
  const shown = Buffer.from(text ?? "");
  if (shown.length <= room) return Math.min(start, last);
  const fitting = shown.subarray(characterStart(shown, shown.length - Math.max(0, room), UTF8));
  return Math.min(last, to - (codec.encode(fitting.toString("utf8"))?.length ?? 0));
}
