import { missingCell } from "../../cad3/encoding/assemble.js";
import { cellOf } from "../../cad3/encoding/cell.js";
import { parseCell } from "../../cad3/encoding/parse-cell.js";
import { textOf } from "../../cad3/encoding/parse-scalar.js";
import type { ParsedCell, ParsedIndex, ParsedRef } from "../../cad3/encoding/parsed.js";
import type { CadIndex } from "../../cad3/maps/index-map.js";
import { hashOfRef, isBranch, toHex } from "../../cad3/ref.js";
import { NIL, NIL_TAG } from "../../cad3/scalar.js";
import { notANode } from "../../dlfs/node.js";
import { unlessDamaged } from "../fault.js";
import type { CellReader } from "./blob-reader.js";

/** Cells asked for at once. */
const MAX_TOGETHER = 1024;

/** An entry of a directory, as the directory holds it. */
export interface Slot {
  readonly key: ParsedRef;
  readonly node: ParsedRef;
}

/** A node as its one cell tells of it; what it holds is not looked into. */
export type NodeSummary =
  | { readonly kind: "directory"; readonly utime: bigint; readonly entries: ParsedRef }
  | { readonly kind: "file"; readonly utime: bigint; readonly data: ParsedRef }
  | { readonly kind: "tombstone"; readonly utime: bigint };

/** What stands behind Refs, in their order; `undefined` for what the store has not. @throws BAD_FORMAT, STORE_DAMAGED */
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

/** Cells of which those that are damaged are `undefined`: they do not keep the others from being read. */
export async function readable(hashes: readonly string[], cells: CellReader): Promise<(Uint8Array | undefined)[]> {
  const all = await unlessDamaged(() => cells.peek(hashes));
  if (all !== undefined) return all;
  const found: (Uint8Array | undefined)[] = [];
  for (const hash of hashes) found.push((await unlessDamaged(() => cells.peek([hash])))?.[0]);
  return found;
}

/**
 * The entries of a directory, by the bytes of their names. Reads cells as they stand there, and keeps none: values and
 * the nodes of an index would take several times what is listed.
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

export function indexOf(cell: ParsedCell | undefined, { bytes }: Pick<ParsedRef, "bytes">): ParsedIndex {
  if (cell === undefined) throw missingCell(isBranch(bytes) ? toHex(hashOfRef(bytes)) : undefined);
  if (cell.kind !== "index") throw notANode("the entries of a directory are an index");
  return cell;
}

/** Puts what an index holds in order: entries, and parts that are to be read. @returns whether there are none of those */
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

/** The names of entries; `undefined` for a key that is none. @throws MISSING_CELL, BAD_FORMAT */
export async function namesOf(slots: readonly Slot[], cells: CellReader): Promise<(string | undefined)[]> {
  const keys = slots.map(({ key }) => key);
  const read = await cellsAt(keys, cells.peek);
  return read.map((cell, place) => {
    if (cell === undefined) throw missingCell(toHex(hashOfRef(keys[place]?.bytes ?? NIL)));
    return cell.kind === "blob" && cell.isText && cell.content !== undefined ? textOf(cell.content) : undefined;
  });
}

const isNil = ({ bytes }: ParsedRef): boolean => bytes.length === 1 && bytes[0] === NIL_TAG;

/** @returns undefined for what is damaged: one entry does not keep the others from being listed */
export function summaryOf(cell: ParsedCell | undefined): NodeSummary | undefined {
  if (cell?.kind !== "vector" || cell.count !== 4) return undefined;
  const [entries, data, , time] = cell.refs;
  const utime = time?.cell?.kind === "scalar" ? time.cell.value : undefined;
  if (entries === undefined || data === undefined || typeof utime !== "bigint") return undefined;
  if (isNil(data)) return isNil(entries) ? { kind: "tombstone", utime } : { kind: "directory", utime, entries };
  return isNil(entries) ? { kind: "file", utime, data } : undefined;
}

/** The nodes in slots, in their order; `undefined` for damaged ones. */
export async function summariesOf(slots: readonly Slot[], cells: CellReader): Promise<(NodeSummary | undefined)[]> {
  const nodes = slots.map(({ node }) => node);
  return (await cellsAt(nodes, (hashes) => readable(hashes, cells))).map(summaryOf);
}
