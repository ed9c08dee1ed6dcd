// The mark phase of garbage collection.

import { type Awaitable, yieldToLoop } from "../../core/io.js";
import { branchRefs } from "../cad3/encoding/assemble.js";
import { encode } from "../cad3/encoding/cell.js";
import { parseCell } from "../cad3/encoding/parse-cell.js";
import { asBuffer, isBranch } from "../cad3/ref.js";
import { BLOB_TAG, keyword } from "../cad3/scalar.js";
import type { RootRecord } from "./cell-store.js";

/** The bytes of a hash as a string of 32 characters, for use as a map key. */
export type HashText = string;

export const textOfHash = (hash: Uint8Array): HashText => asBuffer(hash).toString("latin1");
export const hashOfText = (text: HashText): Buffer => Buffer.from(text, "latin1");

/** Loads cells; `leaf` for one without branches, which need not be read. Missing and damaged ones are left out. */
export type LoadForMark = (wanted: ReadonlySet<HashText>) => Awaitable<ReadonlyMap<HashText, Uint8Array | "leaf">>;

export interface Marks {
  has(hash: HashText): boolean;
  add(hash: HashText): void;
}

export interface MarkCount {
  readonly live: number;
  /** Missing or damaged cells. */
  readonly missing: number;
}

/** Cells loaded together; others run in between. */
const CELLS_PER_TURN = 256;

/** Marks what roots need, and their logs: a log that has lost a part loses no drive. @returns cells of the roots */
export async function markRoots(roots: readonly RootRecord[], marks: Marks, load: LoadForMark): Promise<MarkCount> {
  const count = await markTrees(
    roots.map(({ bytes }) => bytes),
    marks,
    load,
  );
  await markTrees(logsOf(roots), marks, load);
  return count;
}

/**
 * Marks every cell that the roots need, and none that is missing: another root may count it. Depth-first, so that the stack
 * is bounded by the depth of the trees.
 *
 * @param roots encodings of root cells, which are not marked themselves
 */
export async function markTrees(roots: Iterable<Uint8Array>, marks: Marks, load: LoadForMark): Promise<MarkCount> {
  let [live, missing] = [0, 0];
  for (const root of roots) {
    const branches = branchesOf(root);
    if (branches === undefined) missing += 1;
    const waiting = branches ?? [];
    while (waiting.length > 0) {
      const wanted = new Set(waiting.splice(-CELLS_PER_TURN).filter((text) => !marks.has(text)));
      const found = await load(wanted);
      for (const text of wanted) {
        const cell = found.get(text);
        const below = cell === "leaf" ? [] : cell && branchesOf(cell);
        if (below === undefined) {
          missing += 1;
          continue;
        }
        marks.add(text);
        live += 1;
        for (const branch of below) waiting.push(branch);
      }
      await yieldToLoop();
    }
  }
  return { live, missing };
}

export const logsOf = (roots: readonly RootRecord[]): Uint8Array[] => roots.flatMap(({ log }) => log ?? []);

/** @returns `undefined` if it is not a cell */
function branchesOf(cell: Uint8Array): HashText[] | undefined {
  try {
    return branchHashes(cell).map(textOfHash);
  } catch {
    return undefined;
  }
}

/** Header length of a blob with a two-byte count (up to 4096 bytes); longer blobs are trees. */
const LEAF_HEAD_BYTES = 3;
const CHUNK_BYTES = 4096;

/** Hashes of a cell's branches, in order. @throws BAD_FORMAT if it is not a cell */
export function branchHashes(bytes: Uint8Array): Uint8Array[] {
  return isLeafBlob(bytes)
    ? []
    : branchRefs(parseCell(bytes))
        .filter(isBranch)
        .map((ref) => ref.subarray(1));
}

/** Whether this encodes a blob without parts. @param bytes an encoding of more than 140 bytes */
export function isLeafBlob(bytes: Uint8Array): boolean {
  const [tag, high = 0, low = 0x80] = bytes;
  if (tag !== BLOB_TAG || high < 0x80 || low >= 0x80) return false;
  const length = (high & 0x7f) * 128 + low;
  return length <= CHUNK_BYTES && bytes.length === LEAF_HEAD_BYTES + length;
}

export const LOG_MARK = keyword("venue-files-log");
/** Tag and count of a vector of up to 127 elements. */
const HEAD_BYTES = 2;
const VECTOR_TAG = 0x80;
const MARK = encode(LOG_MARK);

export const isLogCell = (cell: Uint8Array): boolean =>
  cell[0] === VECTOR_TAG && Buffer.compare(cell.subarray(HEAD_BYTES, HEAD_BYTES + MARK.length), MARK) === 0;
