import { missingCell } from "../../../../src/drive/cad3/encoding/assemble.js";
import { cellOf, emitCells } from "../../../../src/drive/cad3/encoding/cell.js";
import { parseCell } from "../../../../src/drive/cad3/encoding/parse-cell.js";
import { isBranch, toHex } from "../../../../src/drive/cad3/ref.js";
import type { Value } from "../../../../src/drive/cad3/value.js";
import type { ImportCells } from "../../../../src/drive/engine/exchange/stored-cells.js";

/** The cells of a value by their Refs, its top included. */
export function cellsOf(value: Value): Map<string, Uint8Array> {
  const cells = new Map<string, Uint8Array>();
  const top = emitCells(value, ({ ref, bytes }) => cells.set(toHex(ref), bytes));
  if (isBranch(top.ref)) cells.set(toHex(cellOf(value).ref), top.bytes);
  return cells;
}

/** Cells as if they had come with an import. */
export function importCellsOf(cells: ReadonlyMap<string, Uint8Array>): ImportCells {
  const find = (ref: Uint8Array): Uint8Array => {
    const bytes = isBranch(ref) ? cells.get(toHex(ref)) : ref;
    if (bytes === undefined) throw missingCell();
    return bytes;
  };
  return {
    read: async (ref) => find(ref),
    lengthOf(ref) {
      const cell = parseCell(find(ref));
      return cell.kind === "blob" && !cell.isText ? cell.length : 0;
    },
  };
}
