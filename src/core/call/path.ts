// Canonical paths below a root.

declare const brand: unique symbol;

/**
 * A canonical path below a root: parsed by `path/grammar.ts`, `.` and `..` resolved. The root itself has no segments.
 */
export interface RelPath {
  readonly segments: readonly string[];
  /** The segments joined by `/`; `""` for the root. The only form in capabilities, messages and output. */
  readonly text: string;
  readonly [brand]: true;
}
