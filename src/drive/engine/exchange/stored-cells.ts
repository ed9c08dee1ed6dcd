// Reads stored cells one by one, as the walks of an export and of the checks of an import ask for them.

import { CHUNK_BYTES } from "../../cad3/blob.js";
import { missingCell } from "../../cad3/encoding/assemble.js";
import { hashOfRef, isBranch, toHex } from "../../cad3/ref.js";
import type { CellStore } from "../../store/cell-store.js";
import { textOfHash } from "../../store/mark.js";
import { createTurn } from "../../turn.js";
import { type CellScope, createCellPool, createScope } from "../cells.js";
import type { Arrived } from "./intake.js";

/** @param beside hashes of cells that will be asked for next; they are read along @throws MISSING_CELL */
export type ReadCell = (hash: string, beside: readonly string[]) => Promise<Uint8Array>;

/** Maximum cells read along that wait to be asked for. */
const MAX_READY = 1024;

export function createCellReader(scope: CellScope): ReadCell {
  const ready = new Map<string, Uint8Array>();
  return async (hash, beside) => {
    const known = ready.get(hash);
    ready.delete(hash);
    if (known !== undefined) return known;
    const others = beside.filter((other) => !ready.has(other));
    const [bytes, ...found] = await scope.peek([hash, ...others]);
    for (const [place, other] of others.entries()) {
      const cell = found[place];
      if (cell !== undefined) ready.set(other, cell);
    }
    for (const oldest of ready.keys()) {
      if (ready.size <= MAX_READY) break;
      ready.delete(oldest);
    }
    if (bytes === undefined) throw missingCell(hash);
    return bytes;
  };
}

/** Cells are often read a second time soon. */
const CACHE_BYTES = 4 * 2 ** 20;

export const isLeaf = (length: number): boolean => length > 0 && length <= CHUNK_BYTES;

export type ImportCells = ReturnType<typeof createImportCells>;

/** The cells of an import, and no others, whatever else the store has. @param store has the cells, flushed */
export function createImportCells(store: CellStore, arrived: Arrived) {
  // A separate pool: cells read once must not displace those in use.
  const readCell = createCellReader(
    createScope(createCellPool({ store, verifyReads: false, cacheBytes: CACHE_BYTES })),
  );
  const turn = createTurn();
  /** The length of a branch that is a blob, 0 for another. @throws MISSING_CELL */
  const lengthOf = (ref: Uint8Array): number => {
    const hash = hashOfRef(ref);
    const length = arrived.get(textOfHash(hash));
    if (length === undefined) throw missingCell(toHex(hash));
    return length;
  };
  /** Leaves are rarely read. */
  const isWanted = (ref: Uint8Array): boolean => isBranch(ref) && !isLeaf(arrived.get(textOfHash(hashOfRef(ref))) ?? 1);
  const hexOf = (ref: Uint8Array): string => toHex(hashOfRef(ref));
  return {
    lengthOf,
    /**
     * The encoding of a Ref's cell.
     *
     * @param beside Refs that will be requested next
     * @throws MISSING_CELL if it has not arrived
     */
    async read(ref: Uint8Array, beside: readonly Uint8Array[] = []): Promise<Uint8Array> {
      // Reading a cell embedded in another is work too.
      await turn();
      if (!isBranch(ref)) return ref;
      lengthOf(ref);
      return readCell(hexOf(ref), beside.filter(isWanted).map(hexOf));
    },
  };
}
