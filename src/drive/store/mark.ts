// The mark phase of garbage collection.

import { yieldToLoop } from "../../core/io.js";
import { asBuffer } from "../cad3/ref.js";
import { branchHashes } from "./cell-refs.js";
import type { RootRecord } from "./cell-store.js";

/** The bytes of a hash as a string of 32 characters, for use as a map key. */
export type HashText = string;

export const textOfHash = (hash: Uint8Array): HashText => asBuffer(hash).toString("latin1");
export const hashOfText = (text: HashText): Buffer => Buffer.from(text, "latin1");

/** Loads a cell; `leaf` for a cell without branches, which need not be read. */
export type LoadForMark = (hash: HashText) => Uint8Array | "leaf" | "damaged" | undefined;

export interface Marks {
  has(hash: HashText): boolean;
  add(hash: HashText): void;
}

export interface MarkCount {
  readonly live: number;
  /** Missing or damaged cells. */
  readonly missing: number;
}

/** Cells processed before yielding to other work. */
const CELLS_PER_TURN = 256;

/**
 * Marks every cell that the roots need. Depth-first, so that the stack is bounded by the depth of the trees.
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
      if (steps % CELLS_PER_TURN === 0) await yieldToLoop();
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

/** The logs of roots, for marking after the roots. */
export const logsOf = (roots: Iterable<RootRecord>): Uint8Array[] =>
  [...roots].flatMap(({ log }) => (log === undefined ? [] : [log]));

/** @returns `undefined` if it is not a cell */
function unmarked(cell: Uint8Array, marks: Marks): HashText[] | undefined {
  try {
    return branchHashes(cell)
      .map(textOfHash)
      .filter((hash) => !marks.has(hash));
  } catch {
    return undefined;
  }
}
