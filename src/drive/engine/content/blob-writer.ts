// Writes blobs from streams.

import {
  type BlobLayout,
  type BlobPart,
  BlobTree,
  blobCell,
  blobLayout,
  CHUNK_BYTES,
  childLength,
  FAN_OUT,
} from "../../cad3/blob.js";
import { type Cell, hashOfRef, isBranch, toHex } from "../../cad3/ref.js";
import { BLOB_TAG } from "../../cad3/scalar.js";
import { type CellReader, readBlobCell } from "./blob-reader.js";

/** Stores a cell of a blob. A returned promise is back-pressure. */
export type PutCell = (hash: string, bytes: Uint8Array) => void | Promise<void>;

/** The right edge of a blob, from which appending continues. */
export interface BlobEdge {
  /** Complete blobs of 4096 bytes, of 16 times that, and so on. */
  readonly levels: readonly (readonly BlobPart[])[];
  /** The last bytes, less than a chunk. */
  readonly rest: Uint8Array;
  readonly length: number;
}

export const NO_EDGE: BlobEdge = { levels: [], rest: new Uint8Array(), length: 0 };

/** Writes a blob incrementally; keeps one chunk, and 16 hashes per level. */
export function createBlobWriter(edge: BlobEdge, put: PutCell) {
  const chunk = new Uint8Array(CHUNK_BYTES);
  chunk.set(edge.rest);
  let filled = edge.rest.length;
  let { length } = edge;
  const waiting: Promise<void>[] = [];
  const keep = ({ ref, bytes }: Cell): void => {
    const stored = isBranch(ref) ? put(toHex(hashOfRef(ref)), bytes) : undefined;
    if (stored !== undefined) waiting.push(stored);
  };
  const tree = new BlobTree(keep, edge.levels);
  const addChunk = (bytes: Uint8Array): void => {
    const cell = blobCell(BLOB_TAG, bytes);
    keep(cell);
    tree.add({ ref: cell.ref, length: bytes.length });
  };
  return {
    get length(): number {
      return length;
    },
    /** Copies the bytes it keeps. */
    async write(bytes: Uint8Array): Promise<void> {
      length += bytes.length;
      for (let at = 0; at < bytes.length; ) {
        // A full last chunk is held back: if nothing follows, it is the whole blob.
        if (filled === CHUNK_BYTES) {
          addChunk(chunk);
          filled = 0;
          if (waiting.length > 0) await Promise.all(waiting.splice(0));
        }
        const part = bytes.subarray(at, at + CHUNK_BYTES - filled);
        chunk.set(part, filled);
        filled += part.length;
        at += part.length;
      }
    },
    /** The top cell, already stored if it is a branch. */
    async finish(): Promise<Cell> {
      const last = chunk.subarray(0, filled);
      const isOne = length === filled;
      if (!isOne && filled > 0) addChunk(last);
      const top = isOne ? blobCell(BLOB_TAG, last) : tree.finish(BLOB_TAG);
      keep(top);
      await Promise.all(waiting);
      return top;
    },
  };
}

/**
 * The right edge of an existing blob; reads one cell per level.
 *
 * @throws MISSING_CELL, BAD_FORMAT
 */
export async function edgeOf(ref: Uint8Array, cells: CellReader): Promise<BlobEdge> {
  const top = await readBlobCell(ref, cells);
  const levels: BlobPart[][] = [];
  const edge = (rest: Uint8Array): BlobEdge => ({ levels, rest, length: top.length });
  for (let blob = top; ; ) {
    if (blob.content !== undefined) return edge(blob.content);
    const layout = blobLayout(blob.length);
    const children = blob.refs.map(
      ({ bytes }, place): BlobPart => ({ ref: bytes, length: childLength(layout, place) }),
    );
    const last = layout.lastBytes < layout.childBytes ? children.pop() : undefined;
    levels[heightOf(layout)] = children;
    if (last === undefined) return edge(NO_EDGE.rest);
    blob = await readBlobCell(last.ref, cells, last.length);
  }
}

function heightOf({ childBytes }: BlobLayout): number {
  let height = 0;
  for (let bytes = CHUNK_BYTES; bytes < childBytes; bytes *= FAN_OUT) height += 1;
  return height;
}
