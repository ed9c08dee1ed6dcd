// The results of the changes in one swap of the root.

import { adapterError } from "../../../core/errors/errors.js";
import type { CadMap } from "../../cad3/maps/hash-map.js";
import type { CellScope, Overlay } from "../cells.js";
import type { LogChange } from "../log/append.js";
import type { Noted } from "../log/entry.js";
import { type NewCell, newCells } from "../new-cells.js";
import type { OwnerState } from "../state.js";
import type { WriteSet } from "../write-set.js";

/** Shared by the changes of one swap. */
export interface DraftBase {
  readonly scope: CellScope;
  readonly writes: WriteSet;
  /** Cells that may not be in the store yet. */
  readonly overlay: Overlay;
}

/** Result of the changes of one swap. */
export interface Made extends LogChange {
  readonly drives: CadMap;
  /** Bytes of all files, if known. */
  readonly usedBytes: number | undefined;
  readonly isRepeatable: boolean;
}

export const tooManyTries = (): Error =>
  adapterError("CONFLICT", "The drives of the owner changed too often meanwhile");

/** As counted by the writer of the root; only if there is a single root, since merged ones are not counted. */
export function usedBytesOf({ roots }: OwnerState): number | undefined {
  const [first, ...others] = [...roots.values()].flat();
  return others.length === 0 ? first?.usedBytes : undefined;
}

export const putNew = (drives: CadMap, { scope, writes }: DraftBase): Promise<void> =>
  writes.putTree(newCells(drives, (hash) => scope.has(hash) || writes.has(hash)));

export const cellsOf = (cells: ReadonlyMap<string, Uint8Array>): NewCell[] =>
  Array.from(cells, ([hash, bytes]) => ({ hash, bytes }));

/** A deleted directory, or a drive that was changed as a whole, keeps what is gone. */
export const withSizes = (notes: readonly Noted[], freed: number): readonly Noted[] =>
  notes.map((noted, place) =>
    place === 0 && noted.note.kind === "directory" && noted.before !== undefined ? { ...noted, kept: freed } : noted,
  );
