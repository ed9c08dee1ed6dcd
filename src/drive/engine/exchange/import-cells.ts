// Reads the cells of an import back from the store.

import { CHUNK_BYTES } from "../../cad3/blob.js";
import { missingCell } from "../../cad3/encoding/assemble.js";
import { hashOfRef, isBranch, toHex } from "../../cad3/ref.js";
import type { CellStore } from "../../store/cell-store.js";
import type { CellLedger } from "../cell-ledger.js";
import { createCellPool, createScope } from "../cells.js";
import { createTurn } from "../turns.js";
import { readAhead } from "./read-ahead.js";

/** The cells of an import, and no others, whatever else the store has. */
export interface ImportCells {
  /**
   * The encoding of a Ref's cell.
   *
   * @param beside Refs that will be requested next
   * @throws MISSING_CELL if it has not arrived
   */
  read(ref: Uint8Array, beside?: readonly Uint8Array[]): Promise<Uint8Array>;
  /**
   * The length of a branch that is a blob, 0 for another.
   * @throws MISSING_CELL
   */
  lengthOf(ref: Uint8Array): number;
}

/** Cells are often read a second time soon. */
const CACHE_BYTES = 4 * 2 ** 20;
/** Maximum prefetched cells waiting to be requested. */
const MAX_READY = 512;

export const isLeaf = (length: number): boolean => length > 0 && length <= CHUNK_BYTES;

/** @param store has the cells, flushed */
export function createImportCells(store: CellStore, ledger: Pick<CellLedger, "lengthOf">): ImportCells {
  // A separate pool: cells read once must not displace those in use.
  const scope = createScope(createCellPool({ store, verifyReads: false, cacheBytes: CACHE_BYTES }));
  const ready = new Map<string, Uint8Array>();
  const turn = createTurn();
  const lengthOf = (ref: Uint8Array): number => {
    const length = ledger.lengthOf(hashOfRef(ref));
    if (length === undefined) throw missingCell(toHex(hashOfRef(ref)));
    return length;
  };
  /** Leaves are rarely read. */
  const isWanted = (ref: Uint8Array): boolean => isBranch(ref) && !isLeaf(ledger.lengthOf(hashOfRef(ref)) ?? 1);
  const readTogether = async (hash: string, beside: readonly Uint8Array[]): Promise<Uint8Array> => {
    const others = beside.filter(isWanted).map((ref) => toHex(hashOfRef(ref)));
    const bytes = await readAhead(scope, hash, others, ready);
    for (const other of ready.keys()) {
      if (ready.size <= MAX_READY) break;
      ready.delete(other);
    }
    return bytes;
  };
  return {
    lengthOf,
    async read(ref, beside = []) {
      // Reading a cell embedded in another is work too.
      await turn();
      if (!isBranch(ref)) return ref;
      lengthOf(ref);
      const hash = toHex(hashOfRef(ref));
      const known = ready.get(hash);
      ready.delete(hash);
      return known ?? readTogether(hash, beside);
    },
  };
}
