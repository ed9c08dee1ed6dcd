// Reads blobs without keeping their cells.

import { blobLayout, CHUNK_BYTES, childLength } from "../../cad3/blob.js";
import { missingCell } from "../../cad3/encoding/assemble.js";
import { cellOf } from "../../cad3/encoding/cell.js";
import { parseCell } from "../../cad3/encoding/parse-cell.js";
import type { ParsedBlob, ParsedCell } from "../../cad3/encoding/parsed.js";
import { badFormat } from "../../cad3/encoding/reader.js";
import { hexOfBranch, isBranch } from "../../cad3/ref.js";
import type { FileNode } from "../../dlfs/node.js";
import type { CellScope } from "../cells.js";

/** Reads cells without keeping them. */
export type CellReader = Pick<CellScope, "peek">;

/** Maximum parts of a blob read at once. */
const MAX_TOGETHER = 256;

interface Part {
  readonly ref: Uint8Array;
  readonly start: number;
  readonly length: number;
}

/**
 * @param expected length of the blob, if known
 * @throws MISSING_CELL, BAD_FORMAT
 */
export async function readBlobCell(ref: Uint8Array, cells: CellReader, expected?: number): Promise<ParsedBlob> {
  const [bytes] = isBranch(ref) ? await cells.peek([hexOfBranch(ref)]) : [ref];
  if (bytes === undefined) throw missingCell(hexOfBranch(ref));
  return blobOf(parseCell(bytes), expected);
}

function blobOf(cell: ParsedCell | undefined, expected?: number): ParsedBlob {
  if (cell?.kind !== "blob" || cell.isText) throw badFormat("a part of a file is no blob");
  if (expected !== undefined && cell.length !== expected) throw badFormat("a part of a blob has a wrong length");
  return cell;
}

export interface BlobRange {
  readonly offset: number;
  readonly length: number;
  /** Where the bytes go, at least `length` of them. Absent: new memory. */
  readonly into?: Buffer | undefined;
}

/**
 * Reads a range of a file: only the chunks of the range and the cells leading to them.
 *
 * @returns fewer bytes than requested only at the end of the file; `size` of the whole file
 * @throws MISSING_CELL, BAD_FORMAT
 */
export async function readRange(
  data: FileNode["data"],
  { offset, length, into }: BlobRange,
  cells: Pick<CellScope, "peek" | "content">,
): Promise<{ bytes: Buffer; size: number }> {
  const top = await readBlobCell(cellOf(data).ref, cells);
  const size = top.length;
  const end = Math.min(size, offset + length);
  if (offset >= end) return { bytes: Buffer.alloc(0), size };
  const bytes = into?.subarray(0, end - offset) ?? Buffer.allocUnsafe(end - offset);
  const copy = ({ content, length: partLength }: ParsedBlob, start: number): void => {
    if (content === undefined || start >= end || start + partLength <= offset) return;
    const from = Math.max(0, offset - start);
    const isWhole = from === 0 && partLength <= end - start;
    bytes.set(isWhole ? content : content.subarray(from, end - start), start + from - offset);
  };
  copy(top, 0);
  // Level by level, only the parts that overlap the range.
  let level = partsOf(top, 0);
  while (level.length > 0) {
    const touched = level.filter((part) => part.start < end && part.start + part.length > offset);
    level = [];
    for (let at = 0; at < touched.length; at += MAX_TOGETHER) {
      const some = touched.slice(at, at + MAX_TOGETHER);
      const take = (part: Part, cell: Uint8Array): void => {
        // The Refs of parts are views.
        const blob = blobOf(parseCell(part.length > CHUNK_BYTES ? new Uint8Array(cell) : cell), part.length);
        copy(blob, part.start);
        level.push(...partsOf(blob, part.start));
      };
      const branches = some.filter(({ ref }) => isBranch(ref));
      for (const part of some) if (!isBranch(part.ref)) take(part, part.ref);
      await cells.content(
        branches.map(({ ref }) => ref),
        (which, cell) => {
          const part = branches[which];
          if (part !== undefined) take(part, cell);
        },
      );
    }
  }
  return { bytes, size };
}

function partsOf({ content, length, refs }: ParsedBlob, start: number): Part[] {
  if (content !== undefined) return [];
  const layout = blobLayout(length);
  return refs.map(({ bytes }, place) => ({
    ref: bytes,
    start: start + place * layout.childBytes,
    length: childLength(layout, place),
  }));
}
