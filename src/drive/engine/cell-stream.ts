import { MAX_CELL_BYTES } from "../decode.js";
import { checkLimit } from "../limits.js";
import { takeCell } from "../parse-cell.js";
import { badFormat, readerOf, takeVlq } from "../reader.js";
import { MAX_EMBEDDED_BYTES } from "../ref.js";

/** Reads the cells of files of cells while they arrive; keeps no more than a cell and the piece that came last. */
export interface CellStream {
  /** A cell that no length stands before. @throws BAD_FORMAT, UNSUPPORTED_CELL */
  top(): Promise<Uint8Array>;
  /** The next cell with its length, a copy; `undefined` at the end. @throws BAD_FORMAT, LIMIT */
  next(): Promise<Uint8Array | undefined>;
}

export interface StreamLimits {
  readonly maxImportBytes: number;
  readonly maxImportCells: number;
}

/** What limits hold for together, over all files of one import. */
export interface StreamCount {
  bytes: number;
  cells: number;
}

const MAX_LENGTH_BYTES = 9;

export function readCellStream(
  source: AsyncIterable<Uint8Array>,
  limits: StreamLimits,
  count: StreamCount,
): CellStream {
  const pieces = source[Symbol.asyncIterator]();
  let rest = new Uint8Array();
  let ended = false;
  /** Makes that many bytes be at hand, if there are so many. */
  const fill = async (length: number): Promise<void> => {
    while (rest.length < length && !ended) {
      const piece = await pieces.next();
      if (piece.done === true) {
        ended = true;
        break;
      }
      count.bytes += piece.value.length;
      checkLimit(count.bytes, limits.maxImportBytes, "bytes");
      rest = rest.length === 0 ? new Uint8Array(piece.value) : new Uint8Array(Buffer.concat([rest, piece.value]));
    }
  };
  const take = (length: number): Uint8Array => {
    const bytes = rest.slice(0, length);
    rest = rest.subarray(length);
    return bytes;
  };
  return {
    async top() {
      await fill(MAX_CELL_BYTES);
      return take(takeCell(readerOf(rest)).bytes.length);
    },
    async next() {
      await fill(MAX_LENGTH_BYTES);
      if (rest.length === 0) return undefined;
      count.cells += 1;
      checkLimit(count.cells, limits.maxImportCells, "cells");
      const reader = readerOf(rest);
      const length = takeVlq(reader);
      if (length <= MAX_EMBEDDED_BYTES) throw badFormat("a branch is so short that it is none");
      if (length > MAX_CELL_BYTES) throw badFormat("a branch is too long");
      take(reader.at);
      await fill(length);
      if (rest.length < length) throw badFormat("it ends too early");
      return take(length);
    },
  };
}
