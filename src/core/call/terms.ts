import type { Sha256 } from "../etag.js";

/**
 * What a profile asks of an operation beside its input, since its tools answer in another way. It can only tighten what
 * a caller may do; no caller can send it.
 */
export interface CallTerms {
  /** Answers also tell whole hashes (`hash`) and when something was made (`created`, milliseconds since the epoch). */
  readonly details?: true;
  /**
   * Whether a place is as a read-only file to one changing operation. Asked for whoever has the right to that operation,
   * of the path and of where it really leads.
   */
  readonly isProtected?: (segments: readonly string[], operation: string) => boolean;
  /** Told where the path really leads, whether or not anything is there: segments below the root. */
  readonly leadsTo?: (segments: readonly string[]) => void;
  /** How edits are meant, in place of how `file:edit` means them. */
  readonly edits?: EditTerms;
  /** What a search takes in, in place of its globs and limits. */
  readonly search?: SearchTerms;
}

/** A stretch of a text, and what takes its place. */
export interface TextChange {
  readonly start: number;
  readonly end: number;
  readonly text: string;
}

/** A file that is to be edited. */
export interface EditedText {
  /** With its byte order mark. */
  readonly text: string;
  readonly sha256: Sha256;
  /** Whether the caller may be told what is in it. */
  readonly mayRead: boolean;
  /** Lets other calls run now and then. @throws ABORTED, TIMEOUT */
  breathe(): Promise<void>;
  /** Milliseconds that the call has left. */
  remainingMs(): number;
}

export interface EditTerms {
  /** What changes, by place, not overlapping. The file must still be as it was when that is written. @throws why it is refused */
  plan(file: EditedText): Promise<readonly TextChange[]>;
}

/** Every line that matches is told, whole. */
export interface SearchTerms {
  /** Whether a file is looked into. @param path below the root */
  wants(path: readonly string[]): boolean;
  /** Most bytes of text that are looked into. More: TOO_LARGE */
  readonly maxTotalBytes: number;
}
