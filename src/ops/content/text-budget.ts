import { type TextCodec, UTF8 } from "./encoding.js";
import { characterEnd, characterLength, lineEnd } from "./text.js";

/** How much of a window an answer may have. */
export interface Room {
  readonly codec: TextCodec;
  /** Most bytes, those of line numbers included, both as the file has them and as the answer has them. */
  readonly maxBytes: number;
  readonly maxLines: number;
  /** What was asked for ends where the window does; else the window is longer than the room. */
  readonly isLast: boolean;
  /** Number of the first line, where lines are numbered. */
  readonly numberedFrom?: number | undefined;
}

/** The start of a window that fits. */
export interface Cut {
  /** Bytes of it. */
  readonly end: number;
  /** Lines of it, the last one also where it has no terminator. */
  readonly lines: number;
  /** What stopped it; absent: nothing was left of the window. */
  readonly by?: "bytes" | "limit";
  /** It ends inside its only line. */
  readonly isTorn: boolean;
}

/** Takes whole lines while they fit; of a first line that does not, whole characters, at least one. */
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
    const cost = next < 0 ? Number.POSITIVE_INFINITY : gutter + bytesShown(window.subarray(end, next), codec);
    if (used + cost > maxBytes) {
      if (lines > 0) return { end, lines, by: "bytes", isTorn: false };
      return { end: cutInside(window, room, maxBytes - gutter), lines: 1, by: "bytes", isTorn: true };
    }
    used += cost;
    end = next;
    lines++;
  }
  return end >= window.length && isLast ? { end, lines, isTorn: false } : { end, lines, by: "limit", isTorn: false };
}

/** The same text with `N<tab>` before each line. */
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

/** What bytes take of the room. */
function bytesShown(bytes: Buffer, codec: TextCodec): number {
  if (codec === UTF8) return bytes.length;
  return Math.max(bytes.length, Buffer.byteLength(codec.decode(bytes) ?? ""));
}

/** Where to cut a line that is too long for its room. */
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
