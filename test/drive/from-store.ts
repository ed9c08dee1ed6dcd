import { emitCells } from "../../src/drive/cad3/encoding/cell.js";
import { parseCell } from "../../src/drive/cad3/encoding/parse-cell.js";
import { DEFAULT_CELL_LIMITS } from "../../src/drive/cad3/limits.js";
import { lazyCell } from "../../src/drive/cad3/open.js";
import { toHex } from "../../src/drive/cad3/ref.js";
import type { Value } from "../../src/drive/cad3/value.js";

/** The same value as from a store: its top cell is at hand, every other one is loaded when it is looked into. */
export function fromStore(value: Value, visit: (hash: string) => void = () => undefined): Value {
  const cells = new Map<string, Uint8Array>();
  const { bytes, ref } = emitCells(value, (cell) => cells.set(toHex(cell.ref.subarray(1)), cell.bytes));
  const load = (hash: string): Uint8Array | undefined => {
    visit(hash);
    return cells.get(hash);
  };
  return lazyCell(parseCell(bytes), ref, { load, limits: DEFAULT_CELL_LIMITS });
}
