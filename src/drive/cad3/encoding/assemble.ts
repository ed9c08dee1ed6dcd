import type { FileAdapterError } from "../../../core/errors/errors.js";
import { type CellLimits, checkLimit, MAX_BRANCH_DEPTH } from "../../dlfs/limits.js";
import { driveError } from "../../error.js";
import type { Built, Weight } from "../built.js";
import { makeValue } from "../make-value.js";
import { isBranch, toHex } from "../ref.js";
import { BLOB_TAG } from "../scalar.js";
import type { Value } from "../value.js";
import { type Checked, checkParts } from "./check-parts.js";
import { parseCell } from "./parse-cell.js";
import type { ParsedCell, ParsedRef } from "./parsed.js";

/** Finds the encoding of a branch by its hash; what it returns has that hash and is as long as a branch. */
export type Load = (hashHex: string) => Uint8Array | undefined;

export interface Source {
  readonly load: Load;
  readonly limits: CellLimits;
}

export interface Assembled {
  readonly top: Built;
  /** The first branch that is not at hand, as hex digits of its hash. */
  readonly missing: string | undefined;
}

/** Elements of vectors that are allowed for each entry: a node has four. */
const ELEMENTS_PER_ENTRY = 16;

/** A cell some of whose branches are still to be read. */
interface Frame {
  readonly cell: ParsedCell;
  readonly ref: Uint8Array;
  /** Refs of its branches that are still to come, the next one last. */
  readonly waiting: Uint8Array[];
}

/** The branches that have been read; `undefined` for those that are not at hand. */
type Done = Map<string, Built | undefined>;

/**
 * Reads a cell with all of its branches that are at hand, each once, and checks that they fit together. Without
 * recursion into branches, which nest more deeply than the stack.
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
      done.set(hashHexOf(frame.ref), built);
      continue;
    }
    const hash = hashHexOf(next);
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

/** The value that has been read. @throws MISSING_CELL when a branch was not at hand */
export function wholeOf({ top, missing }: Assembled): Value {
  if (top.made === undefined) throw missingCell(missing);
  return top.made.value();
}

/** @param hash of the cell, as hex digits */
export const missingCell = (hash?: string): FileAdapterError =>
  driveError("MISSING_CELL", "A cell that belongs to the value is missing", hash === undefined ? {} : { hash });

/** Checks a cell as far as that can be done without its branches. @throws BAD_FORMAT */
export function checkAlone(cell: ParsedCell, ref: Uint8Array, limits: CellLimits): void {
  build({ cell, ref }, new Map(), limits);
}

/** As {@link checkAlone} for a cell of which nothing is kept that can grow: makes no values, so that texts are checked when they are read. */
export function checkShape(cell: ParsedCell): Checked {
  const parts = cell.refs.map((part) => (part.cell === undefined ? undefined : checkShape(part.cell)));
  const { slot, shared } = checkParts(cell, parts);
  return { cell, parts, slot, shared };
}

/** The hash of a branch, by its Ref. */
export const hashHexOf = (ref: Uint8Array): string => toHex(ref.subarray(1));

/** What is kept of a cell are views of it, except for blobs; the caller's buffer may be used for other things. */
const keep = (bytes: Uint8Array): Uint8Array => (bytes[0] === BLOB_TAG ? bytes : new Uint8Array(bytes));

const frameOf = (cell: ParsedCell, ref: Uint8Array): Frame => ({ cell, ref, waiting: branchRefs(cell).reverse() });

/** The Refs of all branches of a cell and of what is embedded in it, in their order. */
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
      ? done.get(hashHexOf(part.bytes))
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

/** @param parts `undefined` for those that are not at hand */
export function weightOf(cell: ParsedCell, parts: readonly ({ readonly weight: Weight } | undefined)[]): Weight {
  // Short texts are names, and no longer than the cells they stand in.
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
