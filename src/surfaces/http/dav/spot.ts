// Places as locks and properties know them.

/** A place in a tree of files, whatever URL names it. */
export interface Spot {
  /** Names the root, or the drive and its owner. */
  readonly tree: string;
  readonly segments: readonly string[];
}

/** What a request may need of what instances share. */
export interface Asked {
  /** Whose locks. */
  readonly trees: readonly string[];
  /** Places with properties that all instances have. */
  readonly spots: readonly Spot[];
  /** Which properties beside their own: those of their members, or of all below. */
  readonly reach: "own" | "members" | "all";
}
