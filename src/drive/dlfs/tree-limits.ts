// Limits of a drive's tree.

import { MAX_PATH_DEPTH } from "./name.js";

/** Latest possible time: the greatest Long. */
export const LAST_TIME = 2n ** 63n - 1n;

/** Limits on the size of a tree. */
export interface TreeLimits {
  /** Maximum names in a path. */
  readonly maxPathDepth: number;
  /** Maximum bytes of one file. */
  readonly maxFileBytes: number;
  /** Maximum entries of one directory, including tombstones, which take as much space. */
  readonly maxEntries: number;
}

export const DEFAULT_TREE_LIMITS: TreeLimits = {
  maxPathDepth: MAX_PATH_DEPTH,
  maxFileBytes: 268_435_456,
  maxEntries: 1_000_000,
};
