// Audit records of agents' requests.

import type { Overwritten } from "./modified.js";

/** Audit record of one request of an agent. */
export interface AcpAuditRecord {
  /** Milliseconds since the epoch. */
  readonly time: number;
  readonly sessionId: string;
  /** Name the agent gave itself. */
  readonly agent?: string;
  /** For example `fs/read_text_file`. */
  readonly method: string;
  /** Absent: the path is in no mount. */
  readonly root?: string;
  /** Path in the root; without a root, the path as it was sent. */
  readonly path?: string;
  /** Program and arguments of the command, at most 200 characters. */
  readonly command?: string;
  /** Size of the content read or written, or of the command output. */
  readonly bytes: number;
  /** `sha256:` and 64 hex digits of the file; `null`: it did not exist. Absent: unknown. */
  readonly hashBefore?: string | null;
  readonly hashAfter?: string | null;
  /** The overwritten content, if it was not text, was too large to keep, or may not be read by the caller. */
  readonly overwrites?: Overwritten;
  /** `OK`, or a code: one of `ERROR_CODES`, `REJECTED`, `UNKNOWN_SESSION`, `UNKNOWN_TERMINAL`, `INVALID_PARAMS`, … */
  readonly outcome: string;
  readonly ms: number;
}

/** Audit fields, filled in while the request runs. */
export type Trace = { -readonly [Key in keyof Traced]: Traced[Key] };

type Traced = Omit<AcpAuditRecord, "time" | "agent" | "method" | "outcome" | "ms">;
