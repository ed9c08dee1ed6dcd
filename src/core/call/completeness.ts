/** Why an enumeration is not complete. */
export type Incomplete = "limit" | "bytes" | "timeout" | "visited" | "depth" | "error";

/** What an enumeration leaves out on purpose. A count, or `true`: there is some, not counted. */
export type HiddenKind = "gitignored" | "policy" | "symlinks" | "unreadable" | "tooLarge" | "binary";
export type Hidden = { readonly [kind in HiddenKind]?: number | true };

/** What every operation that enumerates or cuts says of its answer. */
export interface Completeness {
  /** Nothing that belongs to the answer was left out, apart from `hidden`. */
  readonly complete: boolean;
  readonly reason?: Incomplete;
  /** Opaque; goes on where this answer ends. */
  readonly nextCursor?: string;
  /** Only what there is of. */
  readonly hidden?: Hidden;
  /** The next call, in at most 30 tokens. */
  readonly hint?: string;
}
