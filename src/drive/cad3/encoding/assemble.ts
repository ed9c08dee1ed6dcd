// Assembles a cell and its branches into a value, checking structure and limits.

import type { FileAdapterError } from "../../../core/errors/errors.js";
import { driveError } from "../../error.js";
import { type CellLimits, checkLimit, MAX_BRANCH_DEPTH } from "../limits.js";
import { makeValue } from "../make-value.js";
import { hexOfBranch, isBranch } from "../ref.js";
import { BLOB_TAG } from "../scalar.js";
import type { Value } from "../value.js";
import { type Built, type Checked, checkParts, type Weight } from "./check-parts.js";
import { parseCell } from "./parse-cell.js";
import type { ParsedCell, ParsedRef } from "./parsed.js";

/** Returns the encoding of a branch by its hash. The bytes must have that hash and a branch's length. */
export type Load = (hashHex: string) => Uint8Array | undefined;

export interface Source {
  readonly load: Load;
  /** Lets go of a branch that will hardly be asked for again. Absent: nothing is kept. */
  readonly forget?: (hashHex: string) => void;
  readonly limits: CellLimits;
}

export interface Assembled {
  readonly top: Built;
  /** Hash of the first missing branch, as hex digits. */
  readonly missing: string | undefined;
}

/** Vector elements allowed per entry; a node has four. */
const ELEMENTS_PER_ENTRY = 16;

/** A cell with branches still to be read. */
interface Frame {
  readonly cell: ParsedCell;
  readonly ref: Uint8Array;
  /** Refs of the branches still to be read, next one last. */
  readonly waiting: Uint8Array[];
}

/** Branches read so far; `undefined` for missing ones. */
type Done = Map<string, Built | undefined>;

/**
 * Reads a cell with all its available branches, each once, and checks that they fit together. Iterative, because
 * branches can nest deeper than the call stack.
 *
 * @param ref how a container holds the cell
 * @throws BAD_FORMAT, UNSUPPORTED_CELL, LIMIT
 */
export function assemble(cell: ParsedCell, ref: Uint8Array, { load, limits }: Source): Assembled {
  const done: Done = new Map();
  const stack = [frameOf(cell, ref)];
  let missing: string | undefined;
  for (let frame = stack[0]; frame !== undefined; frame = stack.at(-1)) {
    const next = frame.waiting.pop();
    if (next === undefined) {
      const built = build(frame, done, limits);
      stack.pop();
      if (stack.length === 0) return { top: built, missing };
      done.set(hexOfBranch(frame.ref), built);
      continue;
    }
    const hash = hexOfBranch(next);
    if (done.has(hash)) continue;
    const bytes = load(hash);
    if (bytes === undefined) {
      missing ??= hash;
      done.set(hash, undefined);
      continue;
    }
    checkLimit(stack.length, MAX_BRANCH_DEPTH, "branches in each other");
    checkLimit(done.size + stack.length, limits.maxImportCells, "cells");
    stack.push(frameOf(parseCell(keep(bytes)), next));
  }
  throw new RangeError("No cell to read");
}

/** The assembled value. @throws MISSING_CELL if a branch was missing */
export function wholeOf({ top, missing }: Assembled): Value {
  if (top.made === undefined) throw missingCell(missing);
  return top.made.value();
}

/** @param hash of the cell, as hex digits */
export const missingCell = (hash?: string): FileAdapterError =>
  driveError("MISSING_CELL", "A cell that belongs to the value is missing", hash === undefined ? {} : { hash });

/** Checks a cell as far as possible without its branches. @throws BAD_FORMAT */
export function checkAlone(cell: ParsedCell, ref: Uint8Array, limits: CellLimits): void {
  build({ cell, ref }, new Map(), limits);
}

/** Like {@link checkAlone}, but makes no values, so text is validated only when it is read. */
export function checkShape(cell: ParsedCell): Checked {
  const parts = cell.refs.map((part) => (part.cell === undefined ? undefined : checkShape(part.cell)));
  const { slot, shared } = checkParts(cell, parts);
  return { cell, parts, slot, shared };
}

/**
 * Retained cells are copied, since their parts are views and the caller may reuse the buffer. Blobs are exempt: their
 * content is copied when the value is made.
 */
const keep = (bytes: Uint8Array): Uint8Array => (bytes[0] === BLOB_TAG ? bytes : new Uint8Array(bytes));

const frameOf = (cell: ParsedCell, ref: Uint8Array): Frame => ({ cell, ref, waiting: branchRefs(cell).reverse() });

/** Refs of all branches of a cell and of its embedded parts, in order. */
export function branchRefs(cell: ParsedCell): Uint8Array[] {
  const refs: Uint8Array[] = [];
  const collect = (part: ParsedRef): void => {
    if (part.cell === undefined) refs.push(part.bytes);
    else part.cell.refs.forEach(collect);
  };
  cell.refs.forEach(collect);
  return refs;
}

function build({ cell, ref }: Pick<Frame, "cell" | "ref">, done: Done, limits: CellLimits): Built {
  const parts = cell.refs.map((part) =>
    part.cell === undefined
      ? done.get(hexOfBranch(part.bytes))
      : build({ cell: part.cell, ref: part.bytes }, done, limits),
  );
  const keys = checkParts(cell, parts);
  const weight = weightOf(cell, parts);
  checkWeight(weight, limits);
  const height = heightOf(parts);
  checkLimit(height, MAX_BRANCH_DEPTH, "branches in each other");
  const isComplete = parts.every((part) => part?.made !== undefined);
  const made = isComplete ? makeValue(cell, ref, parts) : undefined;
  return { cell, ref, parts, height, weight, ...keys, made };
}

function heightOf(parts: Built["parts"]): number {
  let height = 0;
  for (const part of parts) {
    if (part !== undefined) height = Math.max(height, part.height + (isBranch(part.ref) ? 1 : 0));
  }
  return height;
}

/** @throws LIMIT */
export function checkWeight({ bytes, entries, elements }: Weight, limits: CellLimits): void {
  checkLimit(bytes, limits.maxImportLogicalBytes, "bytes of content");
  checkLimit(entries, limits.maxImportEntries, "entries");
  checkLimit(elements, limits.maxImportEntries * ELEMENTS_PER_ENTRY, "elements");
}

/** @param parts `undefined` for missing ones */
export function weightOf(cell: ParsedCell, parts: readonly ({ readonly weight: Weight } | undefined)[]): Weight {
  // Short texts do not count: they are names and no longer than the cells that contain them.
  let bytes = cell.kind === "blob" && !cell.isText ? (cell.content?.length ?? 0) : 0;
  let entries = cell.kind === "map" ? cell.hashes.length : cell.kind === "index" && cell.hasOwn ? 1 : 0;
  let elements = cell.kind === "vector" ? cell.elements : 0;
  for (const part of parts) {
    bytes += part?.weight.bytes ?? 0;
    entries += part?.weight.entries ?? 0;
    elements += part?.weight.elements ?? 0;
  }
  return { bytes, entries, elements };
}
