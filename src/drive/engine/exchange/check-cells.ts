// Validates the cells of an import.

import { checkWeight, weightOf } from "../../cad3/encoding/assemble.js";
import { type Checked, checkParts, type Weight } from "../../cad3/encoding/check-parts.js";
import { parseCell } from "../../cad3/encoding/parse-cell.js";
import type { ParsedBlob, ParsedCell } from "../../cad3/encoding/parsed.js";
import { textOf } from "../../cad3/encoding/parsed.js";
import { badFormat } from "../../cad3/encoding/reader.js";
import { type CellLimits, checkLimit, MAX_BRANCH_DEPTH } from "../../cad3/limits.js";
import { SLOT_BYTES } from "../../cad3/maps/index-key.js";
import { isBranch, toHex } from "../../cad3/ref.js";
import { MAX_PATH_DEPTH } from "../../dlfs/name.js";
import { createLru, type Lru } from "../../lru.js";
import { type ImportCells, isLeaf } from "./stored-cells.js";

/** Result for a cell checked together with everything below it. */
interface Summary extends Checked {
  readonly weight: Weight;
  /** Levels of branches below. */
  readonly height: number;
}

interface Checking {
  readonly cells: ImportCells;
  readonly limits: CellLimits;
  /** Checked cells, as far as they are remembered. */
  readonly known: Lru<Summary>;
  readonly count: { visits: number; textBytes: number };
}

/** For each name of a path the branches of a usual directory: one of long names may nest 510. */
const MAX_DEPTH = MAX_BRANCH_DEPTH + MAX_PATH_DEPTH * 66;
const MAX_KNOWN = 20_000;
/** Maximum checks per cell on average: shared cells are checked again once forgotten. */
const MAX_VISITS_PER_CELL = 4;
const NONE = new Uint8Array();

/**
 * Checks a foreign value as strictly as `decode`, cell by cell; memory use does not grow with the value.
 *
 * @param top its encoding
 * @throws BAD_FORMAT, UNSUPPORTED_CELL, MISSING_CELL, LIMIT, STORE_UNAVAILABLE
 */
export async function checkCells(top: Uint8Array, cells: ImportCells, limits: CellLimits): Promise<void> {
  const known = createLru<Summary>(MAX_KNOWN);
  await checkBytes(top, 0, { cells, limits, known, count: { visits: 0, textBytes: 0 } });
}

async function checkBytes(bytes: Uint8Array, depth: number, checking: Checking): Promise<Summary> {
  const quick = checkShort(parseCell(bytes), checking);
  if (quick !== undefined) return quick;
  const refs = refsIn(bytes);
  const parts: Summary[] = [];
  for (const [place, ref] of refs.entries()) {
    parts.push(await checkRef(ref, { beside: refs.slice(place + 1), depth }, checking));
  }
  // Parsed again rather than kept: a parsed cell takes many times its bytes, and nesting is deep.
  const cell = parseCell(bytes);
  const summary = summarise(cell, parts, checking);
  if (cell.kind === "blob" && cell.isText) await checkLongText(cell, checking);
  return summary;
}

const refsIn = (bytes: Uint8Array): Uint8Array[] => parseCell(bytes).refs.map((ref) => ref.bytes);

async function checkRef(
  ref: Uint8Array,
  { beside, depth }: { readonly beside: readonly Uint8Array[]; readonly depth: number },
  checking: Checking,
): Promise<Summary> {
  if (!isBranch(ref)) return headOf(await checkBytes(ref, depth, checking));
  const { cells, known, count, limits } = checking;
  const length = cells.lengthOf(ref);
  if (isLeaf(length)) return leafOf(length);
  const hash = toHex(ref);
  const before = known.get(hash);
  checkLimit(depth + 1 + (before?.height ?? 0), MAX_DEPTH, "branches in each other");
  if (before !== undefined) return before;
  count.visits += 1;
  checkLimit(count.visits, MAX_VISITS_PER_CELL * limits.maxImportCells, "cells");
  const summary = await checkBytes(await cells.read(ref, beside), depth + 1, checking);
  const kept = { ...headOf(summary), height: summary.height + 1 };
  known.set(hash, kept);
  return kept;
}

/** Checks a cell whose only branches are blob leaves; `undefined` if it has others. */
function checkShort(cell: ParsedCell, checking: Checking): Summary | undefined {
  if (cell.kind === "blob" && cell.isText && cell.content === undefined) return undefined;
  const parts: Summary[] = [];
  for (const part of cell.refs) {
    const summary = part.cell === undefined ? leafAt(part.bytes, checking) : checkShort(part.cell, checking);
    if (summary === undefined) return undefined;
    parts.push(summary);
  }
  return summarise(cell, parts, checking);
}

function leafAt(ref: Uint8Array, { cells }: Checking): Summary | undefined {
  const length = cells.lengthOf(ref);
  return isLeaf(length) ? leafOf(length) : undefined;
}

/** A blob of one cell, known only to have arrived. File sizes are counted per drive. */
function leafOf(length: number): Summary {
  const cell: ParsedBlob = { kind: "blob", isText: false, length, content: undefined, refs: [], bytes: NONE };
  return { cell, parts: [], slot: undefined, shared: 0, weight: { bytes: 0, entries: 0, elements: 0 }, height: 1 };
}

function summarise(cell: ParsedCell, parts: readonly Summary[], { limits }: Checking): Summary {
  const { slot, shared } = checkParts(cell, parts);
  if (cell.kind === "blob" && cell.isText && cell.content !== undefined) textOf(cell.content);
  const weight = weightOf(cell, parts);
  checkWeight(weight, limits);
  const height = parts.reduce((most, part) => Math.max(most, part.height), 0);
  return { cell, parts: [], slot: slot === undefined ? undefined : new Uint8Array(slot), shared, weight, height };
}

/** The part of a result that a containing cell needs, without the bytes. */
const headOf = (summary: Summary): Summary => ({ ...summary, cell: withoutParts(summary.cell) });

function withoutParts(cell: ParsedCell): ParsedCell {
  const head = { bytes: NONE, refs: [] };
  if (cell.kind === "blob") return { ...cell, ...head, content: cell.content?.slice(0, SLOT_BYTES) };
  if (cell.kind === "map") return { ...cell, ...head, hashes: [] };
  if (cell.kind === "signed") return { ...cell, ...head, publicKey: NONE, signature: NONE };
  return { ...cell, ...head };
}

/**
 * Checks a text of several cells: blobs of the right lengths that form valid UTF-8.
 * @throws BAD_FORMAT
 */
async function checkLongText(text: ParsedBlob, { cells, limits, count }: Checking): Promise<void> {
  count.textBytes += text.length;
  checkLimit(count.textBytes, limits.maxImportLogicalBytes, "bytes of text");
  const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
  const isText = (content: Uint8Array, options: { readonly stream: boolean }): void => {
    try {
      decoder.decode(content, options);
    } catch {
      throw badFormat("a text is not valid UTF-8");
    }
  };
  const read = async (refs: readonly Uint8Array[]): Promise<void> => {
    for (const ref of refs) {
      const cell = parseCell(await cells.read(ref));
      if (cell.kind === "blob" && cell.content !== undefined) isText(cell.content, { stream: true });
      else await read(cell.refs.map(({ bytes }) => bytes));
    }
  };
  await read(text.refs.map(({ bytes }) => bytes));
  isText(NONE, { stream: false });
}
