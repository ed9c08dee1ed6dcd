import { existsSync, mkdirSync, readdirSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type Arena, inArena } from "../arena.js";
import { startRacer } from "./start-racer.js";

const FILLING = 60;
const FILES = 40;

/** What became of trees that were removed while a directory in them was exchanged with a link to the outside. */
export interface Deletions {
  trees: number;
  /** Files that are missing outside. */
  escapes: number;
}

/**
 * Makes trees and removes them by `remove` until `enough`. In each tree the directory `pivot` is exchanged without pause
 * with `spare`, a link to a directory outside that holds files of the same names; other directories keep the removal busy.
 */
export async function raceDeletions(
  remove: (arena: Arena, tree: string) => Promise<void> | void,
  enough: (soFar: Deletions) => boolean,
): Promise<Deletions> {
  return inArena(async (arena) => {
    fillOutside(arena);
    makeTree(arena);
    const racer = await startRacer(join(arena.root, "tree"), "pivot", "spare");
    const soFar: Deletions = { trees: 0, escapes: 0 };
    try {
      while (!enough(soFar)) {
        await remove(arena, "tree");
        soFar.trees++;
        soFar.escapes += missingOutside(arena);
        fillOutside(arena);
        if (!existsSync(join(arena.root, "tree"))) makeTree(arena);
      }
    } finally {
      await racer.stop();
    }
    return soFar;
  });
}

/** Makes `tree` in a root, with the entries that a racer exchanges. */
export function makeTree({ root, outside }: Pick<Arena, "root" | "outside">): void {
  const tree = join(root, "tree");
  mkdirSync(tree);
  symlinkSync(join(outside, "pivot"), join(tree, "spare"));
  for (let n = 0; n < FILLING; n++) fill(join(tree, `${n % 2 === 0 ? "a" : "z"}${n}`), 3);
  fill(join(tree, "pivot"), FILES);
}

/** Makes the files outside to which the link in a tree leads, as far as they are missing. */
export const fillOutside = ({ outside }: Arena): void => fill(join(outside, "pivot"), FILES);

export const missingOutside = ({ outside }: Arena): number => FILES - readdirSync(join(outside, "pivot")).length;

function fill(directory: string, count: number): void {
  mkdirSync(directory, { recursive: true });
  for (let n = 0; n < count; n++) {
    const file = join(directory, `file${n}`);
    if (!existsSync(file)) writeFileSync(file, "x");
  }
}
