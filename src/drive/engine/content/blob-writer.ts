// Writes blobs from streams.

import { type BlobLayout, blobCell, blobLayout, CHUNK_BYTES } from "../../cad3/blob.js";
import { type Cell, hashOfRef, isBranch, joinCell, toHex } from "../../cad3/ref.js";
import { BLOB_TAG } from "../../cad3/scalar.js";
import { type CellReader, readBlobCell } from "./blob-reader.js";

const FAN_OUT = 16;

/** Stores a cell of a blob. A returned promise is back-pressure. */
export type PutCell = (hash: string, bytes: Uint8Array) => void | Promise<void>;

interface Child {
  readonly ref: Uint8Array;
  readonly length: number;
}

type Join = (children: readonly Child[]) => Promise<Child>;

/** The right edge of a blob, from which appending continues. */
export interface BlobEdge {
  /** Complete blobs of 4096 bytes, of 16 times that, and so on. */
  readonly levels: readonly (readonly Child[])[];
  /** The last bytes, less than a chunk. */
  readonly rest: Uint8Array;
  readonly length: number;
}

export const NO_EDGE: BlobEdge = { levels: [], rest: new Uint8Array(), length: 0 };

/** Writes a blob incrementally; keeps one chunk, and 16 hashes per level. */
export interface BlobWriter {
  readonly length: number;
  /** Copies the bytes it keeps. */
  write(bytes: Uint8Array): Promise<void>;
  /** The top cell, already stored if it is a branch. */
  finish(): Promise<Cell>;
}

export function createBlobWriter(edge: BlobEdge, put: PutCell): BlobWriter {
  const levels = edge.levels.map((level) => [...level]);
  const chunk = new Uint8Array(CHUNK_BYTES);
  chunk.set(edge.rest);
  let filled = edge.rest.length;
  let { length } = edge;
  const keep = ({ ref, bytes }: Cell): void | Promise<void> =>
    isBranch(ref) ? put(toHex(hashOfRef(ref)), bytes) : undefined;
  const join: Join = async (children) => {
    const cell = joinChildren(children);
    await keep(cell);
    return { ref: cell.ref, length: lengthOf(children) };
  };
  const addChunk = async (bytes: Uint8Array): Promise<void> => {
    const cell = blobCell(BLOB_TAG, bytes);
    const waiting = keep(cell);
    if (waiting !== undefined) await waiting;
    await addTo(levels, 0, { ref: cell.ref, length: bytes.length }, join);
  };
  return {
    get length() {
      return length;
    },
    async write(bytes) {
      length += bytes.length;
      for (let at = 0; at < bytes.length; ) {
        // A full last chunk is held back: if nothing follows, it is the whole blob.
        if (filled === CHUNK_BYTES) {
          await addChunk(chunk);
          filled = 0;
        }
        const part = bytes.subarray(at, at + CHUNK_BYTES - filled);
        chunk.set(part, filled);
        filled += part.length;
        at += part.length;
      }
    },
    async finish() {
      const last = chunk.subarray(0, filled);
      if (length === filled) {
        const cell = blobCell(BLOB_TAG, last);
        await keep(cell);
        return cell;
      }
      if (filled > 0) await addChunk(last);
      const top = joinChildren(await rightEdge(levels, join));
      await keep(top);
      return top;
    },
  };
}

/** Adds a complete blob to a level. A full level is joined and moves up only when another blob follows. */
async function addTo(levels: Child[][], height: number, child: Child, join: Join): Promise<void> {
  const level = levels[height] ?? [];
  levels[height] = level;
  if (level.length === FAN_OUT) await addTo(levels, height + 1, await join(level.splice(0)), join);
  level.push(child);
}

/**
 * Joins the remaining blobs of each level into one for the level above.
 * @returns the children of the top
 */
async function rightEdge(levels: Child[][], join: Join): Promise<Child[]> {
  let rest: Child[] = [];
  for (let height = 0; height < levels.length; height += 1) {
    const level = levels[height] ?? [];
    if (level.length + rest.length > FAN_OUT) await addTo(levels, height + 1, await join(level), join);
    else rest = [...level, ...rest];
    if (height < levels.length - 1 && rest.length > 1) rest = [await join(rest)];
  }
  return rest;
}

const joinChildren = (children: readonly Child[]): Cell =>
  joinCell(
    BLOB_TAG,
    lengthOf(children),
    children.map(({ ref }) => ref),
  );

const lengthOf = (children: readonly Child[]): number => children.reduce((sum, { length }) => sum + length, 0);

/**
 * The right edge of an existing blob; reads one cell per level.
 *
 * @throws MISSING_CELL, BAD_FORMAT
 */
export async function edgeOf(ref: Uint8Array, cells: CellReader): Promise<BlobEdge> {
  const top = await readBlobCell(ref, cells);
  const levels: Child[][] = [];
  const edge = (rest: Uint8Array): BlobEdge => ({ levels, rest, length: top.length });
  for (let blob = top; ; ) {
    if (blob.content !== undefined) return edge(blob.content);
    const layout = blobLayout(blob.length);
    const children = blob.refs.map(({ bytes }, place): Child => ({ ref: bytes, length: childLength(layout, place) }));
    const last = layout.lastBytes < layout.childBytes ? children.pop() : undefined;
    levels[heightOf(layout)] = children;
    if (last === undefined) return edge(NO_EDGE.rest);
    blob = await readBlobCell(last.ref, cells, last.length);
  }
}

const childLength = ({ children, childBytes, lastBytes }: BlobLayout, place: number): number =>
  place < children - 1 ? childBytes : lastBytes;

function heightOf({ childBytes }: BlobLayout): number {
  let height = 0;
  for (let bytes = CHUNK_BYTES; bytes < childBytes; bytes *= FAN_OUT) height += 1;
  return height;
}
