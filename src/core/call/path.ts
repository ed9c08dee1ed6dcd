declare const brand: unique symbol;

/**
 * A canonical path below a root: parsed by `path/grammar.ts`, `..` resolved, nothing special left. The root itself has
 * no segments.
 */
export interface RelPath {
  readonly segments: readonly string[];
  /** The segments joined by `/`; `""` for the root. The only form used for capabilities, messages and output. */
  readonly text: string;
  readonly [brand]: true;
}
