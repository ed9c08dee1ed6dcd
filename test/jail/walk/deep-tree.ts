import { mkdirSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";

/**
 * Makes a directory of many levels, each named `d`, with a file at every hundredth. It is built from both ends of short
 * paths: a path to its bottom would be too long for any call.
 */
export function makeDeepTree(root: string, top: string, levels: number): void {
  let built = join(root, ".building0");
  mkdirSync(built);
  writeFileSync(join(built, "bottom"), "x");
  for (let level = 1; level < levels; level++) {
    const above = join(root, `.building${level}`);
    mkdirSync(above);
    renameSync(built, join(above, "d"));
    if (level % 100 === 0) writeFileSync(join(above, "file"), "x");
    built = above;
  }
  renameSync(built, join(root, top));
}

/** A path of so many segments, each `d`. */
export const down = (segments: number): string => Array(segments).fill("d").join("/");
