// Decodes streams of cell files.

import { MAX_CELL_BYTES } from "../../cad3/encoding/multi-cell.js";
import { takeCell } from "../../cad3/encoding/parse-cell.js";
import { badFormat, readerOf, takeVlq } from "../../cad3/encoding/reader.js";
import { MAX_EMBEDDED_BYTES } from "../../cad3/ref.js";
import { checkLimit } from "../../dlfs/limits.js";

/** Reads cells from files as they arrive; keeps at most a few cells and the last chunk. */
export interface CellStream {
  /**
   * A copy of the cell without length prefix.
   * @throws BAD_FORMAT, UNSUPPORTED_CELL
   */
  top(): Promise<Uint8Array>;
  /**
   * The next length-prefixed cell, valid until the next call; `undefined` at the end.
   * @throws BAD_FORMAT, LIMIT
   */
  next(): Promise<Uint8Array | undefined>;
  /** Tells the source that reading has ended. */
  end(): Promise<void>;
}

export interface StreamLimits {
  readonly maxImportBytes: number;
  readonly maxImportCells: number;
}

/** Counts shared by all files of one import, for its limits. */
export interface StreamCount {
  bytes: number;
  cells: number;
}

const MAX_LENGTH_BYTES = 9;
/** Size of the read buffer; holds several cells. */
const WINDOW_BYTES = 65_536;

export function readCellStream(
  source: AsyncIterable<Uint8Array>,
  limits: StreamLimits,
  count: StreamCount,
): CellStream {
  const bytesOf = windowOn(source, (more) => {
    count.bytes += more;
    checkLimit(count.bytes, limits.maxImportBytes, "bytes");
  });
  return {
    async top() {
      const bytes = await bytesOf.fill(MAX_CELL_BYTES);
      return new Uint8Array(bytesOf.take(takeCell(readerOf(bytes)).bytes.length));
    },
    async next() {
      const bytes = await bytesOf.fill(MAX_LENGTH_BYTES);
      if (bytes.length === 0) return undefined;
      count.cells += 1;
      checkLimit(count.cells, limits.maxImportCells, "cells");
      const reader = readerOf(bytes);
      const length = takeVlq(reader);
      if (length <= MAX_EMBEDDED_BYTES) throw badFormat("a branch is so short that it is none");
      if (length > MAX_CELL_BYTES) throw badFormat("a branch is too long");
      bytesOf.take(reader.at);
      if ((await bytesOf.fill(length)).length < length) throw badFormat("it ends too early");
      return bytesOf.take(length);
    },
    end: bytesOf.end,
  };
}

interface Window {
  /** The next bytes, at least `length` unless at the end; valid until the next call. */
  fill(length: number): Promise<Uint8Array>;
  /** Consumes buffered bytes. */
  take(length: number): Uint8Array;
  end(): Promise<void>;
}

/** One buffer for all cells, since a buffer per cell would be garbage for a long time. */
function windowOn(source: AsyncIterable<Uint8Array>, onPiece: (bytes: number) => void): Window {
  const pieces = source[Symbol.asyncIterator]();
  const window = new Uint8Array(WINDOW_BYTES);
  let [start, end] = [0, 0];
  let piece: Uint8Array = new Uint8Array();
  let hasEnded = false;
  const nextPiece = async (): Promise<void> => {
    // A failure also ends the source.
    hasEnded = true;
    const next = await pieces.next();
    if (next.done === true) return;
    hasEnded = false;
    piece = next.value;
    onPiece(piece.length);
  };
  return {
    async fill(length) {
      while (end - start < length) {
        if (piece.length === 0) {
          if (hasEnded) break;
          await nextPiece();
          continue;
        }
        window.copyWithin(0, start, end);
        [start, end] = [0, end - start];
        const some = piece.subarray(0, window.length - end);
        window.set(some, end);
        end += some.length;
        piece = piece.subarray(some.length);
      }
      return window.subarray(start, end);
    },
    take(length) {
      start += length;
      return window.subarray(start - length, start);
    },
    async end() {
      if (hasEnded) return;
      hasEnded = true;
      await pieces.return?.();
    },
  };
}
