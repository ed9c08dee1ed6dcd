/** Why an enumeration is not complete. */
export type Incomplete = "limit" | "bytes" | "timeout" | "visited" | "depth" | "error";

/** Entries an enumeration leaves out on purpose: a count, or `true` if there are some but they were not counted. */
export type HiddenKind = "gitignored" | "policy" | "symlinks" | "unreadable" | "tooLarge" | "binary";
export type Hidden = { readonly [kind in HiddenKind]?: number | true };

/** Fields in the answer of every operation that enumerates or truncates. */
export interface Completeness {
  /** Whether the answer is whole, except for `hidden`. */
  readonly complete: boolean;
  readonly reason?: Incomplete;
  /** Opaque; continues where this answer ends. */
  readonly nextCursor?: string;
  /** Only kinds that occur. */
  readonly hidden?: Hidden;
  /** Suggested next call, at most 30 tokens. */
  readonly hint?: string;
}
