import type { Awaitable } from "../io.js";

/** What lines are looked for. */
export interface LineQuery {
  readonly pattern: string;
  /** The pattern is a text, not an expression. */
  readonly literal: boolean;
  readonly ignoreCase: boolean;
}

/** What is wanted of one file. Lines are counted from 1. */
export interface ScanJob {
  readonly bytes: Uint8Array;
  /** Lines up to this one do not count. */
  readonly afterLine: number;
  /** Most matching lines that are told; the others are counted. */
  readonly most: number;
  /** Most characters of lines that are told, roughly. */
  readonly mostChars: number;
  /** Most characters of one line that are told; absent: 400. */
  readonly mostOfLine?: number | undefined;
  /** Lines told before and after each of them. */
  readonly before: number;
  readonly after: number;
  /** Whether there is any is enough; then none is counted behind the first. */
  readonly firstOnly: boolean;
}

export interface FoundLine {
  readonly line: number;
  /** Without its terminator, cut to as much as the job says. */
  readonly text: string;
  /** It is longer. */
  readonly cut?: true;
  readonly before?: readonly string[];
  readonly after?: readonly string[];
}

/** `binary`: not text, so that it has no lines. */
export type Scan = "binary" | { readonly count: number; readonly lines: readonly FoundLine[] };

/** What looks for lines in files. Its owner closes it. */
export interface LineScanner {
  /** It scans in the calling thread: bytes must stay as they are until it answers. Else they are gone after the call. */
  readonly isHere: boolean;
  /** @throws TIMEOUT when `withinMs` is over, ABORTED when it is closed; then it can only be closed */
  scan(jobs: readonly ScanJob[], withinMs: number): Awaitable<readonly Scan[]>;
  /** More than once is harmless. */
  close(): void;
}

/** Where scanners come from. */
export interface Scanners {
  /** @throws INVALID_PATTERN, TIMEOUT when none is free within `withinMs` */
  open(query: LineQuery, withinMs: number): Promise<LineScanner>;
  close(): Promise<void>;
}
