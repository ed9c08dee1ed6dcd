import { isUtf8 } from "node:buffer";
import type { FoundLine, Scan, ScanJob } from "../core/scan.js";

/** Leading bytes in which a NUL means that a file is not text. */
const NUL_WINDOW = 8192;
const MOST_CHARS = 400;
/** How much of a cut line stands before the first hit. */
const LEAD_CHARS = 100;

/** Finds matches in one line, which has no terminator. */
export interface LineMatcher {
  matches(line: string): boolean;
  /** Where the first match begins, in a line that matches. */
  startIn(line: string): number;
  /** Whether bytes hold no match for sure. */
  excludes?(bytes: Buffer): boolean;
}

/** Finds the matching lines of a file. Time is linear in its size, as far as the matcher's is. */
export function scanLines(job: ScanJob, matcher: LineMatcher): Scan {
  const bytes = Buffer.from(job.bytes.buffer, job.bytes.byteOffset, job.bytes.byteLength);
  if (bytes.subarray(0, NUL_WINDOW).includes(0) || !isUtf8(bytes)) return "binary";
  if (matcher.excludes?.(bytes) === true) return { count: 0, lines: [] };
  return new LineScan(bytes.toString("utf8"), job, matcher).run();
}

class LineScan {
  readonly #text: string;
  readonly #job: ScanJob;
  readonly #matcher: LineMatcher;
  readonly #found: { line: number; text: string; before: string[]; after: string[] }[] = [];
  /** The last lines, for what stands before a match. */
  readonly #recent: string[] = [];
  /** The last line that is part of the answer. */
  #shown = 0;
  #count = 0;
  #chars = 0;

  constructor(text: string, job: ScanJob, matcher: LineMatcher) {
    this.#text = text;
    this.#job = job;
    this.#matcher = matcher;
  }

  run(): Scan {
    const text = this.#text;
    // A byte order mark is no part of the first line: it would hide it from `^`.
    let at = text.charCodeAt(0) === 0xfeff ? 1 : 0;
    for (let line = 1; at < text.length; line++) {
      const newline = text.indexOf("\n", at);
      const end = newline < 0 ? text.length : newline;
      const isCrLf = newline > at && text.charCodeAt(newline - 1) === 0x0d;
      this.#take(line, text.slice(at, isCrLf ? end - 1 : end));
      at = end + 1;
    }
    return { count: this.#count, lines: this.#found.map((one) => this.#tell(one)) };
  }

  #take(line: number, text: string): void {
    const { afterLine, most, mostChars, before, after, mostOfLine = MOST_CHARS } = this.#job;
    const isMatch = this.#matcher.matches(text);
    if (isMatch && line > afterLine) {
      this.#count++;
      if (this.#found.length < most && this.#chars <= mostChars) {
        const first = Math.max(this.#shown + 1, line - before);
        const lead = line - first;
        this.#found.push({ line, text, before: lead === 0 ? [] : this.#recent.slice(-lead), after: [] });
        this.#shown = line;
        this.#chars += MOST_CHARS * lead + Math.min(text.length, mostOfLine);
      }
    } else if (!isMatch) {
      const last = this.#found.at(-1);
      if (last !== undefined && line === this.#shown + 1 && line <= last.line + after) {
        last.after.push(text);
        this.#chars += Math.min(text.length, MOST_CHARS);
        this.#shown = line;
      }
    }
    if (before === 0) return;
    this.#recent.push(text);
    if (this.#recent.length > before) this.#recent.shift();
  }

  #tell({ line, text, before, after }: { line: number; text: string; before: string[]; after: string[] }): FoundLine {
    const isLong = text.length > (this.#job.mostOfLine ?? MOST_CHARS);
    return {
      line,
      text: isLong ? around(text, this.#matcher.startIn(text)) : text,
      ...(isLong ? { cut: true } : {}),
      ...(before.length === 0 ? {} : { before: before.map(start) }),
      ...(after.length === 0 ? {} : { after: after.map(start) }),
    };
  }
}

const start = (text: string): string => whole(text.slice(0, MOST_CHARS));

function around(text: string, hit: number): string {
  const from = Math.max(0, Math.min(hit - LEAD_CHARS, text.length - MOST_CHARS));
  return whole(text.slice(from, from + MOST_CHARS));
}

/** Without the halves of characters that a cut leaves. */
const whole = (text: string): string => text.replace(/^[\udc00-\udfff]|[\ud800-\udbff]$/g, "");

/** A text as it is. Bytes that do not hold it cannot have it in any line. */
export function literalMatcher(literal: string): LineMatcher {
  const needle = Buffer.from(literal);
  return {
    matches: (line) => line.includes(literal),
    startIn: (line) => line.indexOf(literal),
    excludes: (bytes) => needle.length > 0 && !bytes.includes(needle),
  };
}
