// Mark phase over object storage, with batched reads.

import { branchHashes } from "../../cell-refs.js";
import { type HashText, type MarkCount, type Marks, textOfHash } from "../../mark.js";

export interface MarkSource {
  /** Those without branches, which need not be read. */
  leaves(wanted: ReadonlySet<HashText>): Promise<ReadonlySet<HashText>>;
  read(wanted: ReadonlySet<HashText>): Promise<ReadonlyMap<HashText, Uint8Array>>;
}

/** Maximum cells looked up at once. */
const MAX_TOGETHER = 512;

/** Marks every cell below a root, reading many at once. @throws STORE_UNAVAILABLE */
export async function markRoot(root: Uint8Array, marks: Marks, source: MarkSource): Promise<MarkCount> {
  let [live, missing] = [0, 0];
  const waiting = branchHashesOf(root);
  if (waiting === undefined) return { live, missing: 1 };
  while (waiting.length > 0) {
    const wanted = new Set<HashText>();
    for (const text of waiting.splice(-MAX_TOGETHER)) if (!marks.has(text)) wanted.add(text);
    if (wanted.size === 0) continue;
    for (const text of wanted) marks.add(text);
    const leaves = await source.leaves(wanted);
    live += leaves.size;
    for (const text of leaves) wanted.delete(text);
    const cells = await source.read(wanted);
    for (const text of wanted) {
      const cell = cells.get(text);
      const branches = cell === undefined ? undefined : branchHashesOf(cell);
      if (branches === undefined) missing += 1;
      else {
        live += 1;
        for (const branch of branches) waiting.push(branch);
      }
    }
  }
  return { live, missing };
}

/** @returns `undefined` if it is not a cell */
function branchHashesOf(cell: Uint8Array): HashText[] | undefined {
  try {
    return branchHashes(cell).map(textOfHash);
  } catch {
    return undefined;
  }
}
