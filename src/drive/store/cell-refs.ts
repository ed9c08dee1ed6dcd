// References found in stored cells.

import { branchRefs } from "../cad3/encoding/assemble.js";
import { parseCell } from "../cad3/encoding/parse-cell.js";
import { isBranch } from "../cad3/ref.js";
import { BLOB_TAG } from "../cad3/scalar.js";

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
