// Reads a cell together with those that will be asked for next.

import { missingCell } from "../../cad3/encoding/assemble.js";
import type { CellScope } from "../cells.js";

/** Reads a cell; those beside it that can be read at once are kept in `ready`. @throws MISSING_CELL */
export async function readAhead(
  scope: CellScope,
  hash: string,
  beside: readonly string[],
  ready: Map<string, Uint8Array>,
): Promise<Uint8Array> {
  const others = beside.filter((other) => !ready.has(other));
  const [bytes, ...found] = await scope.peek([hash, ...others]);
  others.forEach((other, place) => {
    const cell = found[place];
    if (cell !== undefined) ready.set(other, cell);
  });
  if (bytes === undefined) throw missingCell(hash);
  return bytes;
}
