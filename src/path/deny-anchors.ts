/** Depths, from 1, of the directories above an entry that must keep their names so that it stays denied. */
export type Anchors = (depth: number) => readonly number[];

/** What stands for more than one name, or for a name with a slash in it. */
const GROUPS = /[\\{}()[\]]/;
const ANY_DEPTH = "**";

/**
 * The directories that a path pattern counts on. Those that `**` stands for may have any name, and may stand anywhere below
 * the one before it; where the text does not say which those are, every directory is taken for one that counts.
 */
export function anchorsOf(pattern: string): Anchors {
  const names = pattern.split("/");
  const first = names.indexOf(ANY_DEPTH);
  const isPlain = !GROUPS.test(pattern) && first === names.lastIndexOf(ANY_DEPTH) && names.at(-1) !== ANY_DEPTH;
  if (!isPlain || first < 0) return allAbove;
  // Of those behind it, the last is the entry itself.
  const behind = names.length - first - 2;
  return (depth) => allAbove(depth).filter((at) => at <= first || at >= depth - behind);
}

export const allAbove: Anchors = (depth) => Array.from({ length: Math.max(0, depth - 1) }, (_, index) => index + 1);
