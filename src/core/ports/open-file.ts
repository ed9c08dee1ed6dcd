// An open file of a backend, and the version stamp of its content.

import type { Awaitable } from "../io.js";

/**
 * Version stamp of a file's content within its root: while the stamp is unchanged, so is the content. Absent where that
 * cannot be guaranteed, such as for a host file modified less than 2 s ago.
 */
export type Stamp = string;

/** An open regular file, unaffected by renames of its path; its opener closes it. */
export interface OpenFile {
  /** Size in bytes when it was opened. */
  readonly size: number;
  /** Milliseconds since the epoch. */
  readonly modified: number;
  readonly stamp?: Stamp;
  /** File descriptor of this process, for copies by the kernel. */
  readonly descriptor?: number;
  /**
   * Fewer bytes than `length` only at the end. The caller owns the buffer.
   * @param into memory that may be used for the answer, at least `length` bytes, for callers that read in a loop
   * @throws ABORTED, TIMEOUT, IO_ERROR
   */
  read(offset: number, length: number, into?: Buffer): Awaitable<Buffer>;
  /** Idempotent. */
  close(): void;
}
