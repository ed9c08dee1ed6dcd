/** What the operator keeps every caller of one root away from, whether it exists or not. */
export interface DenyPolicy {
  /** Whether a path is denied: it, or a directory above it. @param segments from the root; the root itself never is */
  denies(segments: readonly string[]): boolean;
  /** The same for an entry of a directory that is known to be allowed. */
  deniesEntry(directory: readonly string[], name: string): boolean;
  /** Depths, from 1, of the directories above a denied entry that must keep their names so that it stays denied. */
  anchors(directory: readonly string[], name: string): readonly number[];
}
