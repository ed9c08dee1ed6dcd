// Multi-cell format: a top cell followed by its branches.

import { type CellLimits, checkLimit, DEFAULT_CELL_LIMITS } from "../limits.js";
import { lazyCell } from "../open.js";
import { hexOfBranch, MAX_EMBEDDED_BYTES, refOf, sha3, toHex, vlqLength, writeVlq } from "../ref.js";
import type { Value } from "../value.js";
import { assemble, branchRefs, checkAlone, type Load, missingCell, type Source, wholeOf } from "./assemble.js";
import { emitCells } from "./cell.js";
import { parseCell, takeCell } from "./parse-cell.js";
import { badFormat, type Reader, readerOf, take, takeVlq } from "./reader.js";

/** Encodings of branches, by hash in hex digits. */
type Cells = ReadonlyMap<string, Uint8Array>;

/**
 * Encodes a value and all its branches, each once, in the order in which they are first met from the top.
 *
 * @throws MISSING_CELL if a branch is missing
 */
export function toMultiCell(value: Value): Uint8Array {
  const cells = new Map<string, Uint8Array>();
  const { bytes: top } = emitCells(value, ({ bytes, ref }) => cells.set(hexOfBranch(ref), bytes));
  const branches = [...branchesInOrder(top, cells)];
  const length = branches.reduce((sum, bytes) => sum + vlqLength(bytes.length) + bytes.length, top.length);
  const written = new Uint8Array(length);
  written.set(top);
  let at = top.length;
  for (const bytes of branches) {
    at = writeVlq(written, at, bytes.length);
    written.set(bytes, at);
    at += bytes.length;
  }
  return written;
}

/** Yields each branch before its own branches, at its first occurrence. @throws MISSING_CELL */
function* branchesInOrder(top: Uint8Array, cells: Cells): Generator<Uint8Array> {
  const waiting = branchRefs(parseCell(top)).reverse();
  const met = new Set<string>();
  for (let ref = waiting.pop(); ref !== undefined; ref = waiting.pop()) {
    const hash = hexOfBranch(ref);
    if (met.has(hash)) continue;
    met.add(hash);
    const bytes = cells.get(hash);
    if (bytes === undefined) throw missingCell(hash);
    yield bytes;
    for (const below of branchRefs(parseCell(bytes)).reverse()) waiting.push(below);
  }
}

/**
 * Decodes a value and its branches strictly. Cells that do not belong to the value are checked and dropped.
 *
 * @throws BAD_FORMAT, UNSUPPORTED_CELL, LIMIT; MISSING_CELL if a branch is missing
 */
export function fromMultiCell(bytes: Uint8Array, limits: Partial<CellLimits> = {}): Value {
  const all = { ...DEFAULT_CELL_LIMITS, ...limits };
  const { top, cells } = readMultiCell(bytes, all);
  const own = new Uint8Array(top);
  const rest = new Map(cells);
  const load = (hash: string) => {
    rest.delete(hash);
    return cells.get(hash);
  };
  const assembled = assemble(parseCell(own), refOf(own), { load, limits: all });
  for (const branch of rest.values()) checkAlone(parseCell(branch), branch, all);
  return wholeOf(assembled);
}

/**
 * Splits a multi-cell into cells. Only the top cell has been parsed when it returns.
 *
 * @returns views of the bytes
 * @throws BAD_FORMAT, UNSUPPORTED_CELL, LIMIT
 */
function readMultiCell(bytes: Uint8Array, limits: CellLimits): { top: Uint8Array; cells: Cells } {
  checkLimit(bytes.length, limits.maxImportBytes, "bytes");
  const reader = readerOf(bytes);
  const top = takeCell(reader).bytes;
  const cells = new Map<string, Uint8Array>();
  for (let count = 1; reader.at < reader.end; count += 1) {
    checkLimit(count, limits.maxImportCells, "cells");
    const branch = takeBranch(reader);
    cells.set(toHex(sha3(branch)), branch);
  }
  return { top, cells };
}

/** The next branch, with its length before it. @throws BAD_FORMAT, LIMIT */
export function takeBranch(reader: Reader): Uint8Array {
  const length = takeVlq(reader);
  checkBranchLength(length);
  return take(reader, length);
}

function checkBranchLength(length: number): void {
  if (length <= MAX_EMBEDDED_BYTES) throw badFormat("a branch is so short that it is none");
  if (length > MAX_CELL_BYTES) throw badFormat("a branch is too long");
}

// Strict decoding of a value from its top cell and available branches.

/**
 * Returns the encoding of a branch by the 64 hex digits of its hash; `undefined` if it is missing. The bytes are
 * verified and must not change until decoding ends.
 */
export type Resolve = (hashHex: string) => Uint8Array | undefined;

/** Maximum length of an encoding in bytes. */
export const MAX_CELL_BYTES = 16383;

/**
 * Decodes a value strictly. All branches that `resolve` finds are read and checked too.
 *
 * @param bytes copied where they are retained
 * @param limits for a value with branches
 * @returns the value, or a {@link LazyValue} if a branch is missing
 * @throws BAD_FORMAT, UNSUPPORTED_CELL, LIMIT
 */
export function decode(bytes: Uint8Array, resolve: Resolve = () => undefined, limits: Partial<CellLimits> = {}): Value {
  if (bytes.length > MAX_CELL_BYTES) throw badFormat("it is too long");
  const own = new Uint8Array(bytes);
  const cell = parseCell(own);
  const ref = refOf(own);
  const source: Source = { load: checkedLoad(resolve), limits: { ...DEFAULT_CELL_LIMITS, ...limits } };
  const { top } = assemble(cell, ref, source);
  return top.made === undefined ? lazyCell(cell, ref, source) : top.made.value();
}

function checkedLoad(resolve: Resolve): Load {
  return (hash) => {
    const bytes = resolve(hash);
    if (bytes === undefined) return undefined;
    checkBranchLength(bytes.length);
    if (toHex(sha3(bytes)) !== hash) throw badFormat("a branch has another hash");
    return bytes;
  };
}
