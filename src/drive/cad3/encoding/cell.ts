// Encoding and hashing of values: `encode`, `hashOf`, and emission of branches.

import { blobCell } from "../blob.js";
import { fold } from "../fold.js";
import { Keyword } from "../keyword.js";
import { type Cell, cellFrom, type Emit, hashOfRef, isBranch, sameBytes, toHex } from "../ref.js";
import { BLOB_TAG, FALSE, keywordBytes, longBytes, NIL, STRING_TAG, TRUE, utf8Bytes } from "../scalar.js";
import type { Value } from "../value.js";
import { vectorCell } from "../vector.js";

/**
 * Encodes the top cell of a value.
 *
 * @returns at most 16383 bytes, owned by the caller
 * @throws TypeError if it is not a value, RangeError if it cannot be encoded, MISSING_CELL
 */
export const encode = (value: Value): Uint8Array => new Uint8Array(cellOf(value).bytes);

/** SHA3-256 of the encoding. @returns 64 hex digits */
export const hashOf = (value: Value): string => toHex(hashOfRef(cellOf(value).ref));

/** Whether containers embed the value: its encoding has at most 140 bytes. */
export const isEmbedded = (value: Value): boolean => !isBranch(cellOf(value).ref);

/** The top cell of a value. */
export function cellOf(value: Value): Cell {
  const known = value instanceof Composite ? value.knownCell() : undefined;
  return known ?? encodeWith(value, undefined);
}

/** Whether two values have the same encoding. */
export const isSameValue = (one: Value, other: Value): boolean => sameBytes(cellOf(one).ref, cellOf(other).ref);

/**
 * Emits every branch of a value, then its top cell if that is a branch. The order is otherwise unspecified, and a
 * branch may be emitted repeatedly.
 *
 * @returns the top cell
 * @throws MISSING_CELL if a branch is missing
 */
export const emitCells = (value: Value, emit: Emit): Cell => encodeWith(value, emit);

function encodeWith(root: Value, emit: Emit | undefined): Cell {
  return fold<Cell>(root, {
    parts: (value) => partsOf(value, emit !== undefined),
    known: (value) => (emit === undefined && value instanceof Composite ? value.knownCell() : undefined),
    make(value, of) {
      const cell = value instanceof Composite ? value.toCell({ cellOf: of, emit }) : plainCell(value, of, emit);
      if (isBranch(cell.ref)) emit?.(cell);
      return cell;
    },
  });
}

function partsOf(value: Value, all: boolean): Iterable<Value> | undefined {
  if (value instanceof Composite) return value.parts(all);
  return isArray(value) ? value : undefined;
}

const isArray = (value: Value): value is readonly Value[] => Array.isArray(value);

function plainCell(value: Exclude<Value, Composite>, of: (part: Value) => Cell, emit: Emit | undefined): Cell {
  switch (typeof value) {
    case "boolean":
      return cellFrom(value ? TRUE : FALSE);
    case "number":
    case "bigint":
      return cellFrom(longBytes(value));
    case "string":
      return blobCell(STRING_TAG, utf8Bytes(value), emit);
    default:
      if (value === null) return cellFrom(NIL);
      if (value instanceof Uint8Array) return blobCell(BLOB_TAG, value, emit);
      if (value instanceof Keyword) return cellFrom(keywordBytes(value));
      if (isArray(value))
        return vectorCell(
          Array.from(value, (part) => of(part).ref),
          emit,
        );
      throw new TypeError(`Not a value of a drive: ${typeof value}`);
  }
}

// Base class of values that contain other values.

/** Gives a composite the cells of its parts. */
export interface Encoder {
  cellOf(part: Value): Cell;
  /** Present if every branch must be emitted, including those already encoded. */
  readonly emit?: Emit | undefined;
}

/** A value that contains other values. Its members are for the encoder only. */
export abstract class Composite {
  /** The cached encoding, if any. @internal */
  abstract knownCell(): Cell | undefined;

  /** The contained values: all, or only those without a known Ref. @internal */
  abstract parts(all: boolean): Iterable<Value>;

  /** Encodes this value; its parts are already encoded. @internal */
  abstract toCell(encoder: Encoder): Cell;
}
