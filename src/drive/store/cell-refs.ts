import { branchRefs } from "../cad3/encoding/assemble.js";
import { parseCell } from "../cad3/encoding/parse-cell.js";
import { isBranch } from "../cad3/ref.js";
import { BLOB_TAG } from "../cad3/scalar.js";

/** Of a blob's encoding with a count of two bytes, up to 4096; a longer blob is a tree. */
const LEAF_HEAD_BYTES = 3;
const CHUNK_BYTES = 4096;

/** The hashes of the branches of a cell, in their order. @throws BAD_FORMAT for what is no cell */
export function branchHashes(bytes: Uint8Array): Uint8Array[] {
  return isLeafBlob(bytes)
    ? []
    : branchRefs(parseCell(bytes))
        .filter(isBranch)
        .map((ref) => ref.subarray(1));
}

/** Whether this encodes a blob that has no parts. @param bytes an encoding of more than 140 bytes */
export function isLeafBlob(bytes: Uint8Array): boolean {
  const [tag, high = 0, low = 0x80] = bytes;
  if (tag !== BLOB_TAG || high < 0x80 || low >= 0x80) return false;
  const length = (high & 0x7f) * 128 + low;
  return length <= CHUNK_BYTES && bytes.length === LEAF_HEAD_BYTES + length;
}
