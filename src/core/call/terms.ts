// Terms: how a profile changes the way an operation works for its tools; never part of a caller's input.

import type { Sha256 } from "../etag.js";

/**
 * Instructions of a profile to an operation besides the input, since its tools answer differently. Terms only narrow what
 * a caller may do, unless a term says otherwise; callers cannot send them.
 */
export interface CallTerms {
  /** Answers include full hashes (`hash`) and creation times (`created`, milliseconds since the epoch). */
  readonly details?: true;
  /** Answers tell the version of each file by the tag of its stamp (`tag`), and hash none that has one. */
  readonly tags?: true;
  /**
   * Whether a path counts as a read-only file for a changing operation. Asked only after the caller is authorised, for
   * the requested path and for the real one.
   */
  readonly isProtected?: (segments: readonly string[], operation: string) => boolean;
  /** Called with the real path (segments below the root), whether or not it exists. */
  readonly leadsTo?: (segments: readonly string[]) => void;
  /**
   * A move or copy with `overwrite` replaces whatever is at its target as a whole, a tree too, and needs `crud/delete`
   * there as well.
   */
  readonly replaces?: true;
  /** New text is written in UTF-8, whatever the root says: the tools read no other. */
  readonly isUtf8?: true;
  /** A list tells the media types of files (`mime`), by their names. */
  readonly listsTypes?: true;
  /** A list has only the entries whose names begin so. */
  readonly startsWith?: string;
  /** A copy of a directory leaves out what is in it. */
  readonly isShallow?: true;
  /** Content that a read answers in place of the file's: unsaved text of an editor. The surface has judged the real path. */
  readonly unsaved?: Buffer;
  /** Replaces the matching rules of `file:edit`. */
  readonly edits?: EditTerms;
  /** Replaces the globs and limits of a search. */
  readonly search?: SearchTerms;
  /** Most entries that a glob looks at. */
  readonly maxVisited?: number;
}

/** A range of a text, and its replacement. */
export interface TextChange {
  readonly start: number;
  readonly end: number;
  readonly text: string;
}

/** A file to be edited. */
export interface EditedText {
  /** Including its byte order mark. */
  readonly text: string;
  readonly sha256: Sha256;
  /** Whether the caller has read access. */
  readonly mayRead: boolean;
  /** Yields to other calls from time to time. @throws ABORTED, TIMEOUT */
  breathe(): Promise<void>;
  /** Milliseconds until the call's deadline. */
  remainingMs(): number;
}

export interface EditTerms {
  /** The changes, in order, not overlapping. Written only if the file is unchanged by then. @throws if refused */
  plan(file: EditedText): Promise<readonly TextChange[]>;
}

/** Returns every matching line in full. */
export interface SearchTerms {
  /** Whether a file is searched. @param path below the root */
  wants(path: readonly string[]): boolean;
  /** Maximum bytes of text searched; more is TOO_LARGE. */
  readonly maxTotalBytes: number;
}
