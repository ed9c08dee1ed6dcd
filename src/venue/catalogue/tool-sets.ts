/** The file operations that agents use all day, in the order in which they are offered. */
const EVERYDAY: readonly string[] = [
  ...["roots", "list", "tree", "read", "stat", "glob", "grep"],
  ...["write", "edit", "append", "mkdir", "move", "copy", "delete"],
].map((name) => `file:${name}`);

/** Which of the file operations a set has: each costs a model some tokens before it has asked for anything. */
export const isInToolSet = (set: "default" | "full", name: string): boolean =>
  set === "full" || EVERYDAY.includes(name);

/** In which order operations are offered: those of every day first, then as they come. */
export function inToolOrder(one: string, other: string): number {
  const [a, b] = [one, other].map((name) => EVERYDAY.indexOf(name));
  return rank(a) - rank(b);
}

const rank = (index = -1): number => (index < 0 ? EVERYDAY.length : index);
