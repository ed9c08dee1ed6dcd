/**
 * Paths in one root that the operator restricts for every caller, whether or not they exist: what is denied can neither be
 * seen nor changed, what is protected can be read but not changed. Below, "denied" stands for both.
 */
export interface PathPolicy {
  /** Whether a path, or a directory above it, is denied. @param segments from the root, which itself is never denied */
  denies(segments: readonly string[]): boolean;
  /** The pattern that denies a path, and the set it is of: `"*.pem" of "@secrets"`. For the operator. */
  patternOf?(segments: readonly string[]): string | undefined;
  /**
   * Whether an allowed path would be denied in a directory that folds case, so that the resolver has to look. Absent: never.
   */
  isDoubtful?(segments: readonly string[]): boolean;
  /** Whether an entry is denied, given that its directory is allowed. */
  deniesEntry(directory: readonly string[], name: string): boolean;
  /** {@link isDoubtful} of an entry, given that its directory is allowed. */
  isDoubtfulEntry?(directory: readonly string[], name: string): boolean;
  /** Depths, from 1, of the directories above a denied entry that must not be renamed, so that it stays denied. */
  anchors(directory: readonly string[], name: string): readonly number[];
}
