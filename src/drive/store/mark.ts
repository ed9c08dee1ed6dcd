import { setImmediate as nextTurn } from "node:timers/promises";
import { branchHashes } from "./cell-refs.js";

/** The bytes of a hash as a string of 32 characters, for maps and sets. */
export type HashText = string;

export const textOfHash = (hash: Uint8Array): HashText => viewOf(hash).toString("latin1");
export const hashOfText = (text: HashText): Buffer => Buffer.from(text, "latin1");

const viewOf = (bytes: Uint8Array): Buffer => Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);

/** A cell that has no branches is told of by `leaf`, so that nobody needs to read it. */
export type LoadForMark = (hash: HashText) => Uint8Array | "leaf" | "damaged" | undefined;

export interface Marks {
  has(hash: HashText): boolean;
  add(hash: HashText): void;
}

export interface MarkCount {
  readonly live: number;
  /** Cells that are not there or damaged. */
  readonly missing: number;
}

/** How many cells are looked at before others get their turn. */
const CELLS_PER_TURN = 256;

/**
 * Marks every cell that roots need. Depth first, so that what waits is bounded by the depth of the trees.
 *
 * @param roots encodings of root cells, which are not marked themselves
 */
export async function markTrees(roots: Iterable<Uint8Array>, marks: Marks, load: LoadForMark): Promise<MarkCount> {
  let [live, missing, steps] = [0, 0, 0];
  for (const root of roots) {
    const waiting = unmarked(root, marks);
    if (waiting === undefined) missing += 1;
    for (let hash = waiting?.pop(); hash !== undefined; hash = waiting?.pop()) {
      steps += 1;
      if (steps % CELLS_PER_TURN === 0) await nextTurn();
      if (marks.has(hash)) continue;
      marks.add(hash);
      const found = load(hash);
      const below = found === "leaf" ? [] : typeof found === "object" ? unmarked(found, marks) : undefined;
      if (below === undefined) missing += 1;
      else live += 1;
      waiting?.push(...(below ?? []));
    }
  }
  return { live, missing };
}

/** @returns `undefined` for what is no cell */
function unmarked(cell: Uint8Array, marks: Marks): HashText[] | undefined {
  try {
    return branchHashes(cell)
      .map(textOfHash)
      .filter((hash) => !marks.has(hash));
  } catch {
    return undefined;
  }
}
