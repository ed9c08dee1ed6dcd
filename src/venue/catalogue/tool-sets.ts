/** The file operations agents use most, in the order they are offered. */
const EVERYDAY: readonly string[] = [
  ...["roots", "list", "tree", "read", "stat", "glob", "grep"],
  ...["write", "edit", "append", "mkdir", "move", "copy", "delete"],
].map((name) => `file:${name}`);

/** Whether a tool set includes a file operation. Each tool costs a model tokens before its first call. */
export const isInToolSet = (set: "default" | "full", name: string): boolean =>
  set === "full" || EVERYDAY.includes(name);

/** Compares operations by the order they are offered in: everyday ones first, the others in their given order. */
export function inToolOrder(one: string, other: string): number {
  const [a, b] = [one, other].map((name) => EVERYDAY.indexOf(name));
  return rank(a) - rank(b);
}

const rank = (index = -1): number => (index < 0 ? EVERYDAY.length : index);
