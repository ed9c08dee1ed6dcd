import { MAX_PATH_DEPTH } from "./name.js";

/** No time is later: the greatest Long. */
export const LAST_TIME = 2n ** 63n - 1n;

/** What a tree may grow to. */
export interface TreeLimits {
  /** Most names in a path. */
  readonly maxPathDepth: number;
  /** Most bytes of one file. */
  readonly maxFileBytes: number;
  /** Most entries of one directory, tombstones included: they take as much room. */
  readonly maxEntries: number;
}

export const DEFAULT_TREE_LIMITS: TreeLimits = {
  maxPathDepth: MAX_PATH_DEPTH,
  maxFileBytes: 268_435_456,
  maxEntries: 1_000_000,
};
