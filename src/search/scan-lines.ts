// Finds matching lines in the bytes of a file, with context lines, within the limits of a job.

import { isUtf8 } from "node:buffer";
import type { FoundLine, Scan, ScanJob } from "../core/call/scan.js";

/** A NUL within so many leading bytes marks a file as binary. */
const NUL_WINDOW = 8192;
const MAX_CHARS = 400;
/** Characters shown before the first match in a cut line. */
const LEAD_CHARS = 100;
/** Lines scanned between two yields. */
const LINES_AT_ONCE = 1024;
const BOM = "\ufeff";

/** Finds matches in one line, which has no terminator. */
export interface LineMatcher {
  /** Whether the bytes certainly hold no match. */
  excludes?(bytes: Buffer): boolean;
  /**
   * Finds candidates for the next match. Given the start of a line, returns a position: no line before the line of that
   * position matches. -1: no further line matches. Must be called with growing positions.
   */
  candidates(text: string): (at: number) => number;
  matches(line: string): boolean;
  /** Where the first match begins, in a line that matches. */
  startIn(line: string): number;
  /** Matches in order, if they may span lines; then the rest is not used. */
  regions?(text: string): Iterable<Region>;
}

export interface Region {
  readonly start: number;
  readonly end: number;
}

/**
 * Finds the matching lines of a file. Takes time linear in its size if the matcher does. The generator yields
 * regularly, so that its caller can let others run.
 */
export function scanLines(job: ScanJob, matcher: LineMatcher): Scan | Generator<undefined, Scan> {
  const bytes = bufferOf(job.bytes);
  if (job.form !== "text" && isBinary(bytes, job.form === "strict")) return "binary";
  if (matcher.excludes?.(bytes) === true) return NONE;
  return new LineScan(bytes.toString("utf8"), job, matcher).run();
}

/** Bytes that are not UTF-8 are shown as U+FFFD: the words beside them can be found. */
function isBinary(bytes: Buffer, isStrict: boolean): boolean {
  const head = bytes.length > NUL_WINDOW ? bytes.subarray(0, NUL_WINDOW) : bytes;
  return head.includes(0) || (!isUtf8(bytes) && (isStrict || bytes.includes(0)));
}

const bufferOf = (bytes: Uint8Array): Buffer =>
  Buffer.isBuffer(bytes) ? bytes : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);

const NONE: Scan = { count: 0, lines: [] };

/** A line, or some: number and position in the text; `next` is the position after the terminator. */
interface Hit {
  readonly line: number;
  /** Number of the last line; absent: of the only one. */
  readonly endLine?: number;
  /** Where the match begins, from `start`; absent: to be found. */
  readonly at?: number;
  readonly start: number;
  readonly end: number;
  readonly next: number;
}

class LineScan {
  readonly #text: string;
  readonly #job: ScanJob;
  readonly #matcher: LineMatcher;
  readonly #found: FoundLine[] = [];
  /** The last match; its context after it is known once the next match is. */
  #last: { readonly hit: Hit; readonly before: readonly string[] } | undefined;
  /** The last line already in this answer or in the previous page. */
  #shown: number;
  #count = 0;
  #chars = 0;
  #isFull: boolean;

  constructor(text: string, job: ScanJob, matcher: LineMatcher) {
    // A byte order mark is not part of the first line: `^` would not match behind it.
    const bare = text.startsWith(BOM) ? text.slice(1) : text;
    this.#text = matcher.regions === undefined ? bare : bare.replaceAll("\r\n", "\n");
    this.#job = job;
    this.#matcher = matcher;
    this.#shown = job.shown ?? (job.afterLine === 0 ? 0 : job.afterLine + job.after);
    this.#isFull = job.most === 0;
  }

  *run(): Generator<undefined, Scan> {
    const regions = this.#matcher.regions?.(this.#text);
    yield* regions === undefined ? this.#runLines() : this.#runRegions(regions);
    this.#finishLast(this.#text.length);
    return { count: this.#count, lines: this.#found };
  }

  /** Takes the lines of each match; those of matches that share a line are told once. */
  *#runRegions(regions: Iterable<Region>): Generator<undefined, void> {
    const text = this.#text;
    let line = 1;
    let at = 0;
    let looks = 0;
    for (const { start, end } of regions) {
      if (++looks % LINES_AT_ONCE === 0) yield;
      if (start >= text.length) return;
      if (start < at) continue;
      for (let next = text.indexOf("\n", at) + 1; next > 0 && next <= start; next = text.indexOf("\n", at) + 1) {
        line++;
        at = next;
      }
      // A line feed at the end of a match does not open the next line.
      const last = text.indexOf("\n", Math.max(start, end - 1));
      const found = { line, start: at, end: last < 0 ? text.length : last, next: last < 0 ? text.length : last + 1 };
      const lines = countLines(text, at, found.end);
      if (line > this.#job.afterLine) {
        this.#take({ ...found, at: start - at, ...(lines > 1 ? { endLine: line + lines - 1 } : {}) });
        if (this.#job.firstOnly) return;
      }
      line += lines;
      at = found.next;
    }
  }

  *#runLines(): Generator<undefined, void> {
    const text = this.#text;
    const { lastLine = Number.POSITIVE_INFINITY } = this.#job;
    const next = this.#matcher.candidates(text);
    let at = 0;
    for (let line = 1; at < text.length; line++) {
      const hit = next(at);
      if (hit < 0) break;
      let newline = text.indexOf("\n", at);
      for (; newline >= 0 && newline < hit; line++) {
        if (line % LINES_AT_ONCE === 0) yield;
        at = newline + 1;
        newline = text.indexOf("\n", at);
      }
      if (line % LINES_AT_ONCE === 0) yield;
      if (at >= text.length) break;
      const found = this.#lineAt(line, at, newline);
      at = found.next;
      if (line <= this.#job.afterLine || !this.#matcher.matches(text.slice(found.start, found.end))) continue;
      if (line > lastLine) {
        this.#finishLast(found.start);
        return;
      }
      this.#take(found);
      if (this.#job.firstOnly) break;
    }
  }

  #lineAt(line: number, start: number, newline: number): Hit {
    if (newline < 0) return { line, start, end: this.#text.length, next: this.#text.length };
    const isCrLf = newline > start && this.#text.charCodeAt(newline - 1) === 0x0d;
    return { line, start, end: isCrLf ? newline - 1 : newline, next: newline + 1 };
  }

  #take(hit: Hit): void {
    this.#count++;
    if (this.#isFull) return;
    this.#finishLast(hit.start);
    const { most, mostChars, before } = this.#job;
    if (this.#found.length >= most || this.#chars > mostChars) {
      this.#isFull = true;
      return;
    }
    this.#last = { hit, before: this.#linesBefore(hit, Math.min(before, hit.line - 1 - this.#shown)) };
  }

  /** Adds the last match and its context to the result. @param until start of the next match; the context ends there */
  #finishLast(until: number): void {
    if (this.#last === undefined) return;
    const { hit, before } = this.#last;
    this.#last = undefined;
    const after = this.#linesAfter(hit, until);
    const text = this.#text.slice(hit.start, hit.end);
    const { mostOfLine = MAX_CHARS } = this.#job;
    const isLong = text.length > mostOfLine;
    const shown = isLong ? excerptAround(text, hit.at ?? this.#matcher.startIn(text), mostOfLine) : copyText(text);
    this.#found.push({
      line: hit.line,
      text: shown,
      ...(hit.endLine === undefined ? {} : { endLine: hit.endLine }),
      ...(isLong ? { cut: true } : {}),
      ...(before.length === 0 ? {} : { before }),
      ...(after.length === 0 ? {} : { after }),
    });
    this.#shown = (hit.endLine ?? hit.line) + after.length;
    for (const each of [shown, ...before, ...after]) this.#chars += each.length;
  }

  #linesBefore({ start }: Hit, most: number): string[] {
    const lines: string[] = [];
    for (let end = start; lines.length < most && end > 0; ) {
      // Search before the line's own terminator; lastIndexOf would treat a negative position as 0.
      const from = end < 2 ? 0 : this.#text.lastIndexOf("\n", end - 2) + 1;
      lines.unshift(this.#cutLine(this.#lineAt(0, from, end - 1)));
      end = from;
    }
    return lines;
  }

  #linesAfter({ next }: Hit, until: number): string[] {
    const lines: string[] = [];
    for (let at = next; lines.length < this.#job.after && at < until; ) {
      const line = this.#lineAt(0, at, this.#text.indexOf("\n", at));
      lines.push(this.#cutLine(line));
      at = line.next;
    }
    return lines;
  }

  #cutLine({ start, end }: Hit): string {
    return dropHalfPairs(this.#text.slice(start, Math.min(end, start + MAX_CHARS)));
  }
}

function countLines(text: string, from: number, to: number): number {
  let count = 1;
  for (let at = text.indexOf("\n", from); at >= 0 && at < to; at = text.indexOf("\n", at + 1)) count++;
  return count;
}

function excerptAround(text: string, hit: number, most: number): string {
  const from = Math.max(0, Math.min(hit - LEAD_CHARS, text.length - most));
  return dropHalfPairs(text.slice(from, from + most));
}

/** Without the halves of surrogate pairs that a cut leaves at the ends. */
const dropHalfPairs = (text: string): string => copyText(text.replace(/^[\udc00-\udfff]|[\ud800-\udbff]$/g, ""));

/** Copies a text: V8 may keep the whole file alive for a slice of it. */
const copyText = (text: string): string => Buffer.from(text).toString();

/** Matches a literal, case-sensitively. */
export function literalMatcher(literal: string): LineMatcher {
  const needle = Buffer.from(literal);
  const part = rarePart(needle);
  return {
    excludes: (bytes) => !bytes.includes(part) || (part !== needle && !bytes.includes(needle)),
    candidates: (text) => (at) => text.indexOf(literal, at),
    matches: (line) => line.includes(literal),
    startIn: (line) => line.indexOf(literal),
  };
}

/** Characters of texts and programs, from common to rare. All others count as rarer. */
const COMMON = " etaoinsrhldcumfpgwybvkxjqz";
/** Least bytes of a part: shorter ones are in most files. */
const LEAST_PART = 4;

/** The end of a text from its rarest character on: a search stops at each place that has the first byte of what it looks for. */
function rarePart(needle: Buffer): Buffer {
  const rank = (at: number): number => {
    const found = COMMON.indexOf(String.fromCharCode(needle[at] ?? 0));
    return found < 0 ? COMMON.length : found;
  };
  let from = 0;
  for (let at = 1; at <= needle.length - LEAST_PART; at++) if (rank(at) > rank(from)) from = at;
  return from === 0 ? needle : needle.subarray(from);
}
