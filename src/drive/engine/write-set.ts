// The cells written by a change.

import { parseCell } from "../cad3/encoding/parse-cell.js";
import type { ParsedCell } from "../cad3/encoding/parsed.js";
import type { Value } from "../cad3/value.js";
import type { CellBatch, CellStore } from "../store/cell-store.js";
import { NEWEST_FORMAT } from "../store/checks.js";
import { createTurn } from "../turn.js";
import { CELL_OVERHEAD_BYTES, type CellScope, callStore, type Overlay, unreachable } from "./cells.js";
import type { PutCell } from "./content/blob-writer.js";
import { storeTooOld } from "./fault.js";
import { type NewCell, newCells } from "./new-cells.js";

/** Cells of an uncommitted change. */
export interface WriteSet {
  readonly put: PutCell;
  /** Stores cells of trees and remembers them as stored. @throws NOT_SUPPORTED if the format of the store is too old */
  putTree(cells: Iterable<NewCell>): Promise<void>;
  /** Hashes of what `putTree` has stored. */
  readonly tree: ReadonlySet<string>;
  readonly overlay: Required<Overlay>;
  /** The cells by their hashes, if the change is small: the next one reads the directories that it has written. */
  smallChange(): Iterable<readonly [string, Uint8Array]>;
  flush(): Promise<void>;
  readonly commit: CellBatch["commit"];
  /** A write set for a retry of the change that replaces this one: cells already stored are not written again. */
  again(): WriteSet;
}

/**
 * Stores a cell; a returned promise is back-pressure. The caller may reuse the bytes once it is done.
 * @throws STORE_UNAVAILABLE
 */
export type PutBytes = (hash: Uint8Array, bytes: Uint8Array) => void | Promise<void>;

export const putTo =
  (batch: Pick<CellBatch, "put">): PutBytes =>
  (hash, bytes) => {
    try {
      const waiting = batch.put(hash, bytes);
      return waiting === undefined ? undefined : callStore(() => waiting);
    } catch (error) {
      throw unreachable(error);
    }
  };

/** Maximum bytes of cells readable before they are flushed; beyond that, reading one flushes. */
const MAX_KEPT_BYTES = 4 * 2 ** 20;
/** Most bytes of the cells of a small change, with what they take in memory. */
const MAX_SMALL_BYTES = 256 * 2 ** 10;

/** Depth that no index in a store of format 1 reaches: that of 32 bytes. */
const OLD_DEPTH = 64;

/** @throws NOT_SUPPORTED for an index that stores of format 1 do not hold, also embedded in the cell */
export function checkOldDepth(cell: ParsedCell): void {
  if (cell.kind === "index" && cell.depth >= OLD_DEPTH) throw storeTooOld();
  for (const part of cell.refs) if (part.cell !== undefined) checkOldDepth(part.cell);
}

/** What a change reads and writes. */
export interface ChangedCells {
  readonly scope: CellScope;
  readonly writes: WriteSet;
}

/** Whether a cell is stored with all below it, or will be with the change. */
export const isStoredIn =
  ({ scope, writes }: ChangedCells) =>
  (hash: string): boolean =>
    scope.has(hash) || writes.tree.has(hash);

/** Stores the cells of a value that are new. */
export const putNew = (value: Value, cells: ChangedCells): Promise<void> =>
  cells.writes.putTree(newCells(value, isStoredIn(cells)));

export const createWriteSet = (store: CellStore): WriteSet => writeSetOn(store.batch(), store);

function writeSetOn(batch: CellBatch, store: CellStore): WriteSet {
  const putBytes = putTo(batch);
  const kept = new Map<string, Uint8Array>();
  const tree = new Set<string>();
  let keptBytes = 0;
  let dropped = false;
  const put = (hash: string, bytes: Uint8Array): void | Promise<void> => {
    if (!kept.has(hash)) keptBytes += bytes.length + CELL_OVERHEAD_BYTES;
    kept.set(hash, bytes);
    for (const [oldest, cell] of kept) {
      if (keptBytes <= MAX_KEPT_BYTES) break;
      kept.delete(oldest);
      keptBytes -= cell.length + CELL_OVERHEAD_BYTES;
      dropped = true;
    }
    return putBytes(Buffer.from(hash, "hex"), bytes);
  };
  return {
    put,
    async putTree(cells) {
      const turn = createTurn();
      for (const { hash, bytes } of cells) {
        if (tree.has(hash)) continue;
        tree.add(hash);
        if (store.format < NEWEST_FORMAT) checkOldDepth(parseCell(bytes));
        await put(hash, bytes);
        await turn();
      }
    },
    tree,
    overlay: {
      find: (hash) => kept.get(hash),
      async settle() {
        if (!dropped) return false;
        dropped = false;
        await callStore(() => batch.flush());
        return true;
      },
    },
    smallChange: () => (keptBytes > MAX_SMALL_BYTES ? [] : kept),
    flush: () => callStore(() => batch.flush()),
    commit: (...args) => callStore(() => batch.commit(...args)),
    again() {
      if (batch.restart === undefined) return createWriteSet(store);
      batch.restart();
      return writeSetOn(batch, store);
    },
  };
}
