// Lists directories without keeping their cells.

import { missingCell } from "../../cad3/encoding/assemble.js";
import { cellOf } from "../../cad3/encoding/cell.js";
import { parseCell } from "../../cad3/encoding/parse-cell.js";
import type { ParsedCell, ParsedIndex, ParsedRef } from "../../cad3/encoding/parsed.js";
import { textOf } from "../../cad3/encoding/parsed.js";
import type { CadIndex } from "../../cad3/maps/index-map.js";
import { hashOfRef, isBranch, toHex } from "../../cad3/ref.js";
import { NIL, NIL_TAG } from "../../cad3/scalar.js";
import { modifiedOf, notANode } from "../../dlfs/node.js";
import { undefinedIfDamaged } from "../fault.js";
import type { CellReader } from "./blob-reader.js";

/** Maximum cells per request. */
const MAX_TOGETHER = 1024;

/** An entry as stored in its directory. */
export interface Slot {
  readonly key: ParsedRef;
  readonly node: ParsedRef;
}

/** A node according to its own cell; its content is not read. */
export type NodeSummary =
  | { readonly kind: "directory"; readonly utime: bigint; readonly entries: ParsedRef }
  | { readonly kind: "file"; readonly utime: bigint; readonly modified: number; readonly data: ParsedRef }
  | { readonly kind: "tombstone"; readonly utime: bigint };

/**
 * The cells of Refs, in order; `undefined` for cells the store does not have.
 * @throws BAD_FORMAT, STORE_DAMAGED
 */
async function cellsAt(refs: readonly ParsedRef[], peek: CellReader["peek"]): Promise<(ParsedCell | undefined)[]> {
  const branches = refs.filter(({ cell }) => cell === undefined);
  if (branches.length === 0) return refs.map(({ cell }) => cell);
  const found = await peek(branches.map(({ bytes }) => toHex(hashOfRef(bytes))));
  let next = 0;
  return refs.map(({ cell }) => {
    if (cell !== undefined) return cell;
    const bytes = found[next];
    next += 1;
    return bytes === undefined ? undefined : parseCell(bytes);
  });
}

/** Cells, with `undefined` for damaged ones, so that the others can still be read. */
export async function readIntact(hashes: readonly string[], cells: CellReader): Promise<(Uint8Array | undefined)[]> {
  const all = await undefinedIfDamaged(() => cells.peek(hashes));
  if (all !== undefined) return all;
  const found: (Uint8Array | undefined)[] = [];
  for (const hash of hashes) found.push((await undefinedIfDamaged(() => cells.peek([hash])))?.[0]);
  return found;
}

/**
 * The entries of a directory, ordered by the bytes of their names. Reads encoded cells and keeps none: values and index
 * nodes would take several times the memory of the listing.
 *
 * @throws MISSING_CELL, BAD_FORMAT
 */
export async function slotsOf(entries: CadIndex, cells: CellReader): Promise<Slot[]> {
  const { bytes, ref } = cellOf(entries);
  let parts: (Slot | ParsedRef)[] = [{ bytes: ref, cell: parseCell(bytes) }];
  for (let isWhole = false; !isWhole; ) {
    isWhole = true;
    const next: (Slot | ParsedRef)[] = [];
    for (let at = 0; at < parts.length; at += MAX_TOGETHER) {
      const some = parts.slice(at, at + MAX_TOGETHER);
      const nodes = some.flatMap((part) => ("key" in part ? [] : [part]));
      const read = await cellsAt(nodes, cells.peek);
      let place = 0;
      for (const part of some) {
        if ("key" in part) next.push(part);
        else {
          isWhole = takeNode(indexOf(read[place], part), next) && isWhole;
          place += 1;
        }
      }
    }
    parts = next;
  }
  return parts.flatMap((part) => ("key" in part ? [part] : []));
}

function indexOf(cell: ParsedCell | undefined, { bytes }: Pick<ParsedRef, "bytes">): ParsedIndex {
  if (cell === undefined) throw missingCell(isBranch(bytes) ? toHex(hashOfRef(bytes)) : undefined);
  if (cell.kind !== "index") throw notANode("the entries of a directory are an index");
  return cell;
}

/**
 * Collects the parts of an index in order: entries, and nodes still to be read.
 * @returns whether there are only entries
 */
function takeNode({ hasOwn, refs }: ParsedIndex, next: (Slot | ParsedRef)[]): boolean {
  let isWhole = true;
  const [key, node] = refs;
  if (hasOwn && key !== undefined && node !== undefined) next.push({ key, node });
  for (let place = hasOwn ? 2 : 0; place < refs.length; place += 1) {
    const part = refs[place];
    if (part?.cell?.kind === "index") isWhole = takeNode(part.cell, next) && isWhole;
    else if (part !== undefined) {
      next.push(part);
      isWhole = false;
    }
  }
  return isWhole;
}

/**
 * The names of entries; `undefined` for a key that is not a name.
 * @throws MISSING_CELL, BAD_FORMAT
 */
export async function namesOf(slots: readonly Slot[], cells: CellReader): Promise<(string | undefined)[]> {
  const keys = slots.map(({ key }) => key);
  const read = await cellsAt(keys, cells.peek);
  return read.map((cell, place) => {
    if (cell === undefined) throw missingCell(toHex(hashOfRef(keys[place]?.bytes ?? NIL)));
    return cell.kind === "blob" && cell.isText && cell.content !== undefined ? textOf(cell.content) : undefined;
  });
}

const isNil = ({ bytes }: ParsedRef): boolean => bytes.length === 1 && bytes[0] === NIL_TAG;

/** @returns `undefined` if damaged, so that the other entries can still be listed */
export function summaryOf(cell: ParsedCell | undefined): NodeSummary | undefined {
  if (cell?.kind !== "vector" || cell.count !== 4) return undefined;
  const [entries, data, meta, time] = cell.refs;
  const utime = time?.cell?.kind === "scalar" ? time.cell.value : undefined;
  if (entries === undefined || data === undefined || typeof utime !== "bigint") return undefined;
  if (isNil(data)) return isNil(entries) ? { kind: "tombstone", utime } : { kind: "directory", utime, entries };
  if (!isNil(entries)) return undefined;
  const metadata = meta?.cell?.kind === "scalar" ? meta.cell.value : undefined;
  return { kind: "file", utime, modified: modifiedOf(metadata, utime), data };
}

/** The nodes of slots, in order; `undefined` for damaged ones. */
export async function summariesOf(slots: readonly Slot[], cells: CellReader): Promise<(NodeSummary | undefined)[]> {
  const nodes = slots.map(({ node }) => node);
  return (await cellsAt(nodes, (hashes) => readIntact(hashes, cells))).map(summaryOf);
}
