// Encoding and hashing of values: `encode`, `hashOf`, and emission of branches.

import { blobCell } from "../blob.js";
import { type Cell, cellFrom, type Emit, hashOfRef, isBranch, sameBytes, toHex } from "../ref.js";
import { BLOB_TAG, FALSE, Keyword, keywordBytes, longBytes, NIL, STRING_TAG, TRUE, utf8Bytes } from "../scalar.js";
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

/** @param all also those with a known Ref */
export function partsOf(value: Value, all: boolean): Iterable<Value> | undefined {
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

/** Computes a result for a value from the results of its parts. `T` is never null or undefined. */
export interface Fold<T> {
  /** The parts of a value; `undefined` for a value without parts. */
  parts(value: Value): Iterable<Value> | undefined;
  /** A result available without computing. */
  known(value: Value): T | undefined;
  make(value: Value, of: (part: Value) => T): T;
}

/**
 * Maximum nesting handled by recursion. Recursion is faster, but values can nest deeper than the call stack, and each
 * index may add 510 frames.
 */
const MAX_RECURSION = 6;

/**
 * Computes a result for a value from the results of its parts, once per object.
 *
 * @throws RangeError if a value contains itself
 */
export function fold<T>(root: Value, task: Fold<T>): T {
  const results = new Map<Value, T>();
  let depth = 0;
  const of = (value: Value): T => {
    const result = results.get(value) ?? task.known(value);
    if (result !== undefined) return result;
    if (task.parts(value) === undefined) return task.make(value, of);
    if (depth === MAX_RECURSION) return foldDeep(value, task, { results, of });
    depth += 1;
    const made = task.make(value, of);
    depth -= 1;
    results.set(value, made);
    return made;
  };
  return of(root);
}

interface Progress<T> {
  readonly results: Map<Value, T>;
  readonly of: (part: Value) => T;
}

/** Computes parts before their containers, with an explicit stack. */
function foldDeep<T>(root: Value, task: Fold<T>, { results, of }: Progress<T>): T {
  const open = new Set<Value>();
  const stack = [root];
  let last = root;
  while (stack.length > 0) {
    last = stack.at(-1) ?? root;
    const waiting = results.has(last) || open.has(last) ? [] : waitingParts(last, task, results);
    if (waiting.some((part) => part === last || open.has(part))) throw new RangeError("A value contains itself");
    if (waiting.length > 0) {
      open.add(last);
      for (const part of waiting) stack.push(part);
      continue;
    }
    if (!results.has(last)) results.set(last, task.make(last, of));
    open.delete(last);
    stack.pop();
  }
  return of(last);
}

function waitingParts<T>(value: Value, task: Fold<T>, results: ReadonlyMap<Value, T>): Value[] {
  const waiting: Value[] = [];
  for (const part of task.parts(value) ?? []) {
    if (results.has(part) || task.parts(part) === undefined || task.known(part) !== undefined) continue;
    waiting.push(part);
  }
  return waiting;
}
