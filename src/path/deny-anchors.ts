// Which ancestors of a denied entry must not be renamed, so that a deny pattern keeps matching it.

/** Depths, from 1, of the directories above an entry that must keep their names so that it stays denied. */
export type Anchors = (depth: number) => readonly number[];

/** Syntax for alternatives, or for a segment that may hold a slash. */
const GROUPS = /[\\{}()[\]]/;
const ANY_DEPTH = "**";

/**
 * The ancestors whose names a path pattern depends on. Directories matched by `**` may have any name and are left
 * out. With groups, several `**` or one at the end it is unclear which those are, so every ancestor counts.
 */
export function anchorsOf(pattern: string): Anchors {
  const names = pattern.split("/");
  const first = names.indexOf(ANY_DEPTH);
  const isPlain = !GROUPS.test(pattern) && first === names.lastIndexOf(ANY_DEPTH) && names.at(-1) !== ANY_DEPTH;
  if (!isPlain || first < 0) return allAbove;
  // The last segment after `**` is the entry itself.
  const behind = names.length - first - 2;
  return (depth) => allAbove(depth).filter((at) => at <= first || at >= depth - behind);
}

export const allAbove: Anchors = (depth) => Array.from({ length: Math.max(0, depth - 1) }, (_, index) => index + 1);
