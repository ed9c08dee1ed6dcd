// Windows of numbered lines as the 0.50 tools show them, and the account of a cut.

import type { JsonObject } from "../../core/ports/adapter.js";

/** Most bytes of a window, line numbers included. */
export const MAX_WINDOW_BYTES = 51_200;
/** A line that does not fit is left for the next window, unless more bytes than these would stay unused. */
const MOST_UNUSED = 4096;

/** Limit that cut an answer. */
type Cap = "line_cap" | "item_cap" | "size_cap";

/** The end of an answer that was cut. */
interface Cut {
  readonly reason: Cap;
  /** Bytes of the whole; absent: not known. */
  readonly total?: number;
  /** The call that goes on; absent: none does. */
  readonly next?:
    | { readonly tool: string; readonly offset: number; readonly item: "line" | "item" | "match" }
    | undefined;
}

/** The field `truncation`. @param bytes bytes of what is answered @param cut absent: nothing was cut */
export function truncationOf(bytes: number, cut?: Cut): JsonObject {
  if (cut === undefined) return { truncated: false, bytes_returned: bytes, bytes_total: bytes, reason: "size_cap" };
  const { reason, total, next } = cut;
  const account: Record<string, unknown> = { truncated: true, bytes_returned: bytes };
  if (total !== undefined) account["bytes_total"] = total;
  if (next !== undefined) {
    const { tool, offset, item } = next;
    account["next_offset"] = offset;
    account["resume_hint"] = `call ${tool} with offset=${offset} to resume from ${item} ${offset + 1}`;
  }
  account["reason"] = reason;
  return account;
}

/** A wish for lines of a text. */
export interface WindowWish {
  /** Lines before the window; `undefined`: the window is the end of the text. */
  readonly offset: number | undefined;
  readonly limit: number;
  /** The first line comes before a window that does not begin with it. */
  readonly repeatsFirst: boolean;
  /** Bytes of the whole text. */
  readonly size: number;
}

/** Numbered lines of a text. */
export interface LineWindow {
  readonly content: string;
  /** Bytes of `content`. */
  readonly bytes: number;
  /** 1-based first and last line; 0: there is none. */
  readonly start: number;
  readonly end: number;
  readonly totalLines: number;
  /** `undefined`: all lines that were wanted are there whole. */
  readonly cut: "line_cap" | "size_cap" | undefined;
  /** Lines before the window that goes on; `undefined`: none does. */
  readonly next: number | undefined;
}

/** Takes whole lines while they fit, then characters of the next one where much room is left. Runs at every read. */
export function windowOf(text: string, { offset, limit, repeatsFirst, size }: WindowWish): LineWindow {
  const isAscii = size === text.length;
  const from = offset === undefined ? startOfTail(text, limit) : startOf(text, offset);
  let { line, at } = from;
  let isCut = offset === undefined && line > 0 && from.isShort;
  let next: number | undefined;
  let content = repeatsFirst && line > 0 && at < text.length ? firstLine(text) : "";
  let left = content === "" ? MAX_WINDOW_BYTES : MAX_WINDOW_BYTES - Buffer.byteLength(content);
  while (line < from.line + limit && at < text.length) {
    const feed = text.indexOf("\n", at);
    const isCrLf = feed > at && text.charCodeAt(feed - 1) === 0x0d;
    const end = feed < 0 ? text.length : isCrLf ? feed - 1 : feed;
    const behind = feed < 0 ? text.length : feed + 1;
    const shown = `${content === "" ? "" : "\n"}${line + 1}|${text.slice(at, end)}`;
    const cost = isAscii ? shown.length : Buffer.byteLength(shown);
    const isFirst = line === from.line;
    isCut ||= cost > left;
    if (cost > left && !isFirst && left <= MOST_UNUSED) {
      next = line;
      break;
    }
    content += cost > left ? clip(shown, left) : shown;
    line++;
    at = behind;
    if (cost > left) {
      const isLast = line === from.line + limit || at === text.length;
      next = isLast ? undefined : isFirst ? line : line - 1;
      break;
    }
    left -= cost;
  }
  const totalLines = line + countLines(text, at);
  const isShown = line > from.line;
  return {
    content,
    bytes: isAscii ? content.length : Buffer.byteLength(content),
    start: isShown ? from.line + 1 : 0,
    end: isShown ? line : 0,
    totalLines,
    cut: isCut ? "size_cap" : line < totalLines ? "line_cap" : undefined,
    next: isCut || line === totalLines ? next : line,
  };
}

/** The first line, at most half a window of it. */
const firstLine = (text: string): string =>
  clip(`1|${text.slice(0, text.indexOf("\n")).replace(/\r$/, "")}`, MAX_WINDOW_BYTES / 2);

/** Where a line starts, and how many are before it. */
interface LineStart {
  readonly line: number;
  readonly at: number;
  /** Fewer lines follow than were wanted. */
  readonly isShort: boolean;
}

/** The last lines that fit into a window; at least one. */
function startOfTail(text: string, limit: number): LineStart {
  const totalLines = countLines(text, 0);
  let line = totalLines;
  let at = text.length;
  let left = MAX_WINDOW_BYTES;
  while (line > 0 && totalLines - line < limit) {
    const start = at < 2 ? 0 : text.lastIndexOf("\n", at - 2) + 1;
    left -= Buffer.byteLength(`${line}|${text.slice(start, at)}`);
    if (left < 0 && line < totalLines) return { line, at, isShort: true };
    line--;
    at = start;
  }
  return { line, at, isShort: false };
}

/** The start of the line after so many lines, or the end of the text. */
function startOf(text: string, lines: number): LineStart {
  let at = 0;
  let line = 0;
  for (; line < lines && at < text.length; line++) at = text.indexOf("\n", at) + 1 || text.length;
  return { line, at, isShort: line < lines };
}

/** Number of lines from a position on. */
export function countLines(text: string, from: number): number {
  let lines = 0;
  let at = from;
  for (let feed = text.indexOf("\n", at); feed >= 0; feed = text.indexOf("\n", at)) {
    lines++;
    at = feed + 1;
  }
  return at < text.length ? lines + 1 : lines;
}

const encoder = new TextEncoder();

/** The beginning of a text, in whole characters. */
export function clip(text: string, mostBytes: number): string {
  const { read } = encoder.encodeInto(text, new Uint8Array(Math.max(0, mostBytes)));
  return text.slice(0, read);
}
