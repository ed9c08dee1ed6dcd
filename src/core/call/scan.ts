// Port for line searches in files: queries, jobs, results, and the scanners that run them.

import type { Awaitable } from "../io.js";

/** Condition on lines of a text. */
export interface LineQuery {
  readonly pattern: string;
  /** The pattern is literal text, not a regular expression. */
  readonly literal: boolean;
  readonly ignoreCase: boolean;
  /** A match may span lines; `^` and `$` match at each. */
  readonly multiline?: boolean;
}

/** A search of one file. Lines are 1-based. */
export interface ScanJob {
  readonly bytes: Uint8Array;
  /** Lines up to and including this one are ignored. */
  readonly afterLine: number;
  /** Lines after this one are context only; absent: none is. */
  readonly lastLine?: number | undefined;
  /** Lines up to and including this one have been shown. Absent: those before the end of what is around `afterLine`. */
  readonly shown?: number | undefined;
  /** `text`: known to be text; `strict`: a byte that is not UTF-8 makes it binary. Absent: a NUL does. */
  readonly form?: "text" | "strict" | undefined;
  /** Maximum matching lines returned; further ones are only counted. */
  readonly most: number;
  /** Approximate maximum of characters returned. */
  readonly mostChars: number;
  /** Maximum characters returned of one line; default 400. */
  readonly mostOfLine?: number | undefined;
  /** Context lines returned before and after each match. */
  readonly before: number;
  readonly after: number;
  /** Stop at the first match; later ones are not counted. */
  readonly firstOnly: boolean;
}

export interface FoundLine {
  readonly line: number;
  /** Without its terminator, truncated as the job says. */
  readonly text: string;
  /** The last line of a match that spans several. */
  readonly endLine?: number;
  /** The line was truncated. */
  readonly cut?: true;
  readonly before?: readonly string[];
  readonly after?: readonly string[];
}

/** `binary`: the file is not text. */
export type Scan = "binary" | { readonly count: number; readonly lines: readonly FoundLine[] };

/** Searches files for lines. Its owner closes it. */
export interface LineScanner {
  /** Scans in the calling thread: `bytes` must not change until it answers. Otherwise `bytes` are transferred away. */
  readonly isInline: boolean;
  /** @throws TIMEOUT after `withinMs`, ABORTED when closed; afterwards it can only be closed */
  scan(jobs: readonly ScanJob[], withinMs: number): Awaitable<readonly Scan[]>;
  /** Idempotent. */
  close(): void;
}

/** Factory of scanners. */
export interface Scanners {
  /** Callers take turns. @throws INVALID_PATTERN, TIMEOUT if none is free within `withinMs` */
  open(query: LineQuery, withinMs: number, caller?: string): Promise<LineScanner>;
  close(): Promise<void>;
}
