// Windows of numbered lines as the 0.50 tools show them, and the account of what an answer leaves out.

import type { JsonObject } from "../../core/ports/adapter.js";

/** Most bytes of a window, line numbers included. */
export const MAX_WINDOW_BYTES = 51_200;
/** A line that does not fit is left for the next window, unless more bytes than these would stay unused. */
const MOST_UNUSED = 4096;

/** Limit that cut an answer. */
type Cap = "line_cap" | "item_cap" | "size_cap";

/** What was left out of an answer. */
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

/** Which lines of a text are wanted. */
export interface WindowWish {
  /** Lines before the window; `undefined`: the window is the end of the text. */
  readonly offset: number | undefined;
  readonly limit: number;
  /** The first line comes before a window that does not begin with it. */
  readonly repeatsFirst: boolean;
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
  /** Absent: all lines that were wanted are there whole. */
  readonly cut?: "line_cap" | "size_cap";
  /** Lines before the window that goes on; absent: none does. */
  readonly next?: number;
}

export function windowOf(text: string, wish: WindowWish): LineWindow {
  const totalLines = countLines(text);
  const { from, at } =
    wish.offset === undefined
      ? endOf(text, totalLines, wish.limit)
      : { from: wish.offset, at: lineStart(text, wish.offset) };
  if (from >= totalLines) return { content: "", bytes: 0, start: 0, end: 0, totalLines };
  const until = Math.min(from + wish.limit, totalLines);
  const head = wish.repeatsFirst && from > 0 ? `${clip(numbered(text, 0, 1).shown, MAX_WINDOW_BYTES / 2)}\n` : "";
  const { content, bytes, end, next } = takeLines(text, { head, from, at, until });
  const isShort = next !== undefined || end.isTorn;
  const shown = { content, bytes, start: from + 1, end: end.line, totalLines };
  if (isShort) return { ...shown, cut: "size_cap", ...(next === undefined ? {} : { next }) };
  if (until < totalLines) return { ...shown, cut: "line_cap", next: until };
  const isTail = wish.offset === undefined && from > Math.max(0, totalLines - wish.limit);
  return isTail ? { ...shown, cut: "size_cap" } : shown;
}

interface Taking {
  readonly head: string;
  readonly from: number;
  /** Where the line after `from` lines starts. */
  readonly at: number;
  readonly until: number;
}

interface Taken {
  readonly content: string;
  readonly bytes: number;
  /** The last line; torn: it goes on. */
  readonly end: { readonly line: number; readonly isTorn: boolean };
  readonly next?: number;
}

/** Whole lines while they fit, then characters of the next one where much room is left. */
function takeLines(text: string, { head, from, at: first, until }: Taking): Taken {
  let content = head;
  let bytes = Buffer.byteLength(head);
  let at = first;
  for (let line = from; line < until; line++) {
    const { shown, next } = numbered(text, at, line + 1);
    const separator = line > from ? "\n" : "";
    const left = MAX_WINDOW_BYTES - bytes - separator.length;
    const cost = Buffer.byteLength(shown);
    if (cost > left) {
      if (line > from && left <= MOST_UNUSED) return { content, bytes, end: { line, isTorn: false }, next: line };
      const part = separator + clip(shown, left);
      const torn = {
        content: content + part,
        bytes: bytes + Buffer.byteLength(part),
        end: { line: line + 1, isTorn: true },
      };
      if (line + 1 === until) return torn;
      return { ...torn, next: line > from ? line : line + 1 };
    }
    content += separator + shown;
    bytes += separator.length + cost;
    at = next;
  }
  return { content, bytes, end: { line: until, isTorn: false } };
}

/** The line that starts at a position, as it is shown, and the start of the next. */
function numbered(text: string, at: number, line: number): { readonly shown: string; readonly next: number } {
  const feed = text.indexOf("\n", at);
  if (feed < 0) return { shown: `${line}|${text.slice(at)}`, next: text.length };
  const end = text[feed - 1] === "\r" && feed > at ? feed - 1 : feed;
  return { shown: `${line}|${text.slice(at, end)}`, next: feed + 1 };
}

/** The last lines that fit into a window. */
function endOf(text: string, totalLines: number, limit: number): { readonly from: number; readonly at: number } {
  let from = totalLines;
  let at = text.length;
  let left = MAX_WINDOW_BYTES;
  while (from > 0 && totalLines - from < limit) {
    const start = at < 2 ? 0 : text.lastIndexOf("\n", at - 2) + 1;
    left -= Buffer.byteLength(numbered(text, start, from).shown) + 1;
    if (left < -1 && from < totalLines) break;
    from--;
    at = start;
  }
  return { from, at };
}

export function countLines(text: string): number {
  let lines = 0;
  let at = 0;
  for (let feed = text.indexOf("\n"); feed >= 0; feed = text.indexOf("\n", at)) {
    lines++;
    at = feed + 1;
  }
  return at < text.length ? lines + 1 : lines;
}

/** Where the line after so many lines starts, at most the end of the text. */
function lineStart(text: string, lines: number): number {
  let at = 0;
  for (let passed = 0; passed < lines && at < text.length; passed++) at = text.indexOf("\n", at) + 1 || text.length;
  return at;
}

const encoder = new TextEncoder();

/** The beginning of a text, in whole characters. */
export function clip(text: string, mostBytes: number): string {
  const { read } = encoder.encodeInto(text, new Uint8Array(Math.max(0, mostBytes)));
  return text.slice(0, read);
}
