// Canonical paths below a root, and the further rules that a facade sets for them.

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

/** Additional path rules of a facade, which only refuse more: among other things, dangling links are not removed. */
export interface PathRules {
  /** Number of leading segments that form a directory no link leads out of; none of them may be a link. */
  readonly floor: number;
  /** Only files and links can be removed; directories are IS_A_DIRECTORY. */
  readonly removesFilesOnly?: boolean;
}

/** Whether two paths have the same segments. */
export const isSamePath = (a: readonly string[], b: readonly string[]): boolean =>
  a.length === b.length && a.every((name, index) => name === b[index]);

/** Whether a path leads to something inside a directory. */
export const isBelow = (path: readonly string[], directory: readonly string[]): boolean =>
  path.length > directory.length && directory.every((name, index) => name === path[index]);
