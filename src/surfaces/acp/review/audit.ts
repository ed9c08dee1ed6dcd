import type { Overwritten } from "./changes.js";

/** One request of an agent. */
export interface AcpAuditRecord {
  /** Milliseconds since the epoch. */
  readonly time: number;
  readonly sessionId: string;
  /** As it named itself. */
  readonly agent?: string;
  /** `fs/read_text_file`. */
  readonly method: string;
  /** Absent: the path is in no mount. */
  readonly root?: string;
  /** In the root; where there is none, as it was sent. */
  readonly path?: string;
  /** What was to be run: program and arguments, 200 characters at most. */
  readonly command?: string;
  /** Of content, read or written, or of output. */
  readonly bytes: number;
  /** `sha256:` and 64 hex digits of the file; `null`: there was none. Absent: not known. */
  readonly hashBefore?: string | null;
  readonly hashAfter?: string | null;
  /** Content was written over that was no text, was too large to hold, or may not be read. */
  readonly overwrites?: Overwritten;
  /** `OK`, or a code: one of `ERROR_CODES`, `REJECTED`, `UNKNOWN_SESSION`, `UNKNOWN_TERMINAL`, `INVALID_PARAMS`, … */
  readonly outcome: string;
  readonly ms: number;
}

/** What a request has come to be known by, while it runs. */
export interface Trace {
  sessionId: string;
  root?: string;
  path?: string;
  command?: string;
  bytes: number;
  hashBefore?: string | null;
  hashAfter?: string | null;
  overwrites?: Overwritten;
}
