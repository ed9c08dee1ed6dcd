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

/** Where a line starts, and how many are before it. */
interface LineStart {
  readonly line: number;
  readonly at: number;
}

export function windowOf(text: string, { offset, limit, repeatsFirst, size }: WindowWish): LineWindow {
  const isAscii = size === text.length;
  const from = offset === undefined ? startOfTail(text, limit) : startOf(text, offset);
  if (from.at >= text.length || from.line !== (offset ?? from.line)) {
    return { content: "", bytes: 0, start: 0, end: 0, totalLines: from.line, cut: undefined, next: undefined };
  }
  const head = repeatsFirst && from.line > 0 ? clip(`1|${textOfLine(text, 0)}`, MAX_WINDOW_BYTES / 2) : "";
  const { content, end, isTorn, next } = takeLines(text, { head, from, limit, isAscii });
  const totalLines = end.line + countLines(text, end.at);
  const isCut = isTorn || next !== undefined || (offset === undefined && from.line > Math.max(0, totalLines - limit));
  return {
    content,
    bytes: isAscii ? content.length : Buffer.byteLength(content),
    start: from.line + 1,
    end: end.line,
    totalLines,
    cut: isCut ? "size_cap" : end.line < totalLines ? "line_cap" : undefined,
    next: next ?? (isCut || end.line === totalLines ? undefined : end.line),
  };
}

interface Taking {
  readonly head: string;
  readonly from: LineStart;
  readonly limit: number;
  readonly isAscii: boolean;
}

interface Taken {
  readonly content: string;
  /** Behind the last line that is shown. */
  readonly end: LineStart;
  /** That line goes on. */
  readonly isTorn: boolean;
  /** Lines before the window that goes on, where bytes ended this one. */
  readonly next: number | undefined;
}

/** Whole lines while they fit, then characters of the next one where much room is left. Runs at every read. */
function takeLines(text: string, { head, from, limit, isAscii }: Taking): Taken {
  const last = from.line + limit;
  let content = head;
  let left = head === "" ? MAX_WINDOW_BYTES : MAX_WINDOW_BYTES - Buffer.byteLength(head);
  let { line, at } = from;
  for (; line < last && at < text.length; line++) {
    const feed = text.indexOf("\n", at);
    const isCrLf = feed > at && text.charCodeAt(feed - 1) === 0x0d;
    const end = feed < 0 ? text.length : isCrLf ? feed - 1 : feed;
    const behind = feed < 0 ? text.length : feed + 1;
    const shown = `${content === "" ? "" : "\n"}${line + 1}|${text.slice(at, end)}`;
    const cost = isAscii ? shown.length : Buffer.byteLength(shown);
    if (cost > left) {
      const isFirst = line === from.line;
      if (!isFirst && left <= MOST_UNUSED) return { content, end: { line, at }, isTorn: false, next: line };
      const isLast = line + 1 === last || behind === text.length;
      const next = isLast ? undefined : isFirst ? line + 1 : line;
      return { content: content + clip(shown, left), end: { line: line + 1, at: behind }, isTorn: true, next };
    }
    content += shown;
    left -= cost;
    at = behind;
  }
  return { content, end: { line, at }, isTorn: false, next: undefined };
}

function textOfLine(text: string, at: number): string {
  const feed = text.indexOf("\n", at);
  const line = text.slice(at, feed < 0 ? text.length : feed);
  return feed < 0 ? line : line.replace(/\r$/, "");
}

/** The last lines that fit into a window; at least one. */
function startOfTail(text: string, limit: number): LineStart {
  const totalLines = countLines(text, 0);
  let line = totalLines;
  let at = text.length;
  let left = MAX_WINDOW_BYTES + 1;
  while (line > 0 && totalLines - line < limit) {
    const start = at < 2 ? 0 : text.lastIndexOf("\n", at - 2) + 1;
    left -= Buffer.byteLength(`${line}|${textOfLine(text, start)}\n`);
    if (left < 0 && line < totalLines) break;
    line--;
    at = start;
  }
  return { line, at };
}

/** The start of the line after so many lines, or the end of the text. */
function startOf(text: string, lines: number): LineStart {
  let at = 0;
  let line = 0;
  for (; line < lines && at < text.length; line++) at = text.indexOf("\n", at) + 1 || text.length;
  return { line, at };
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
