// Encoding of blobs and strings (CAD3): one cell up to 4096 bytes, above that a tree of 4096-byte chunks with fan-out
// 16.

import {
  type Cell,
  cellFrom,
  type Emit,
  isBranch,
  joinCell,
  MAX_EMBEDDED_BYTES,
  REF_BYTES,
  refOf,
  vlqLength,
  writeVlq,
} from "./ref.js";
import { BLOB_TAG } from "./scalar.js";

/** Chunk size; longer blobs are trees of chunks of this size. */
export const CHUNK_BYTES = 4096;
/** Maximum children of a long blob. */
export const FAN_OUT = 16;

/** Children of a long blob: `children` blobs, each except the last of `childBytes` bytes. */
export interface BlobLayout {
  readonly children: number;
  readonly childBytes: number;
  readonly lastBytes: number;
}

/** Tree shape of a blob, determined by its length. @param length in bytes, more than 4096 */
export function blobLayout(length: number): BlobLayout {
  let childBytes = CHUNK_BYTES;
  while (childBytes * FAN_OUT < length) childBytes *= FAN_OUT;
  const children = Math.ceil(length / childBytes);
  return { children, childBytes, lastBytes: length - (children - 1) * childBytes };
}

export const childLength = ({ children, childBytes, lastBytes }: BlobLayout, place: number): number =>
  place < children - 1 ? childBytes : lastBytes;

/**
 * Length of a blob's encoding in bytes. All children except the last hold at least 4096 bytes, so they are never
 * embedded.
 */
export function encodedBlobBytes(length: number): number {
  const head = 1 + vlqLength(length);
  if (length <= CHUNK_BYTES) return head + length;
  const { children, lastBytes } = blobLayout(length);
  const last = encodedBlobBytes(lastBytes);
  return head + (children - 1) * REF_BYTES + (last <= MAX_EMBEDDED_BYTES ? last : REF_BYTES);
}

/**
 * Encodes a blob or string of any length.
 *
 * @param content not copied, except for the current chunk
 * @param emit called for every branch below the top
 */
export function blobCell(tag: number, content: Uint8Array, emit?: Emit): Cell {
  if (content.length <= CHUNK_BYTES) return cellFrom(chunkBytes(tag, content));
  const tree = new BlobTree(emit);
  const refOfChunk = emit === undefined ? createChunkHasher() : (chunk: Uint8Array) => emitChunk(chunk, emit);
  for (let at = 0; at < content.length; at += CHUNK_BYTES) {
    const chunk = content.subarray(at, at + CHUNK_BYTES);
    tree.add({ ref: refOfChunk(chunk), length: chunk.length });
  }
  return tree.finish(tag);
}

/** A blob as a part of a longer one. */
export interface BlobPart {
  readonly ref: Uint8Array;
  readonly length: number;
}

/** Builds a long blob from its chunks, holding at most 16 hashes per level. */
export class BlobTree {
  readonly #emit: Emit | undefined;
  readonly #levels: BlobPart[][];

  /**
   * @param emit called for every branch below the top as soon as it is complete
   * @param levels the right edge of a blob to be continued: whole blobs of 4096 bytes, of 16 times that, and so on
   */
  constructor(emit: Emit | undefined, levels: readonly (readonly BlobPart[])[] = []) {
    this.#emit = emit;
    this.#levels = levels.map((level) => [...level]);
  }

  /** @param part a chunk, of 4096 bytes unless it is the last, or at a greater height a whole blob */
  add(part: BlobPart, height = 0): void {
    this.#levels[height] ??= [];
    const level = this.#levels[height];
    // A full level is joined only when another part arrives: it may be the top, whose tag differs from the others.
    if (level.length === FAN_OUT) this.add(this.#join(level.splice(0)), height + 1);
    level.push(part);
  }

  /** The top cell; requires more than one chunk. @param tag of the blob or string */
  finish(tag: number): Cell {
    const levels = this.#levels;
    // Remainder at the right edge: nothing, or one blob shorter than its siblings.
    let rest: BlobPart[] = [];
    for (let height = 0; height < levels.length; height += 1) {
      const level = levels[height] ?? [];
      if (level.length + rest.length > FAN_OUT) this.add(this.#join(level), height + 1);
      else rest = [...level, ...rest];
      if (height < levels.length - 1 && rest.length > 1) rest = [this.#join(rest)];
    }
    return joinParts(tag, rest);
  }

  #join(parts: readonly BlobPart[]): BlobPart {
    const cell = joinParts(BLOB_TAG, parts);
    if (isBranch(cell.ref)) this.#emit?.(cell);
    return { ref: cell.ref, length: lengthOf(parts) };
  }
}

function joinParts(tag: number, parts: readonly BlobPart[]): Cell {
  const refs = parts.map(({ ref }) => ref);
  return joinCell(tag, lengthOf(parts), refs);
}

const lengthOf = (parts: readonly BlobPart[]): number => parts.reduce((sum, { length }) => sum + length, 0);

function emitChunk(chunk: Uint8Array, emit: Emit): Uint8Array {
  const cell = cellFrom(chunkBytes(BLOB_TAG, chunk));
  if (isBranch(cell.ref)) emit(cell);
  return cell.ref;
}

/** Hashes chunks in one reused buffer: hashing one contiguous piece is cheaper than two, and nothing is retained. */
function createChunkHasher(): (chunk: Uint8Array) => Uint8Array {
  const scratch = new Uint8Array(1 + vlqLength(CHUNK_BYTES) + CHUNK_BYTES);
  return (chunk) => {
    const encoding = scratch.subarray(0, writeChunk(scratch, BLOB_TAG, chunk));
    return encoding.length <= MAX_EMBEDDED_BYTES ? encoding.slice() : refOf(encoding);
  };
}

function chunkBytes(tag: number, chunk: Uint8Array): Uint8Array {
  const bytes = new Uint8Array(1 + vlqLength(chunk.length) + chunk.length);
  writeChunk(bytes, tag, chunk);
  return bytes;
}

function writeChunk(target: Uint8Array, tag: number, chunk: Uint8Array): number {
  target[0] = tag;
  const start = writeVlq(target, 1, chunk.length);
  target.set(chunk, start);
  return start + chunk.length;
}
