// The results of the changes in one swap of the root.

import { cellOf } from "../../cad3/encoding/cell.js";
import type { CadMap } from "../../cad3/maps/hash-map.js";
import { cellOfNode, type IndexChild, type IndexNode } from "../../cad3/maps/index-node.js";
import { indexStub } from "../../cad3/open.js";
import type { Steps } from "../../steps.js";
import type { Overlay } from "../cells.js";
import type { LogChange } from "../log/append.js";
import type { Noted } from "../log/entry.js";
import { newCellsOfNode } from "../new-cells.js";
import type { OwnerState } from "../state.js";
import { type ChangedCells, isStoredIn } from "../write-set.js";

/** Shared by the changes of one swap. */
export interface DraftBase extends ChangedCells {
  /** Cells that may not be in the store yet. */
  readonly overlay: Overlay;
}

/** Result of the changes of one swap. */
export interface Made extends LogChange {
  readonly drives: CadMap;
  /** Bytes of all files, if known. */
  readonly usedBytes: number | undefined;
}

/** As counted when the root was put; only if there is a single root, since merged ones are not counted. */
export function usedBytesOf({ roots }: OwnerState): number | undefined {
  const [first, ...others] = roots.values();
  return others.length === 0 ? first?.usedBytes : undefined;
}

/**
 * Stores the parts of a merge as they are complete, so that memory does not grow with the size of the merged directories.
 */
export const settleIn = (cells: ChangedCells) =>
  function* (node: IndexNode): Steps<IndexChild> {
    const { ref } = cellOfNode(node, { cellOf });
    yield { wanted: [], wait: () => cells.writes.putTree(newCellsOfNode(node, isStoredIn(cells))) };
    return indexStub(ref, node, cells.scope.source);
  };

/** The note of a deleted directory, or of a drive changed as a whole, gets the bytes that only the log keeps now. */
export const withSizes = (notes: readonly Noted[], freed: number): readonly Noted[] =>
  notes.map((noted, place) =>
    place === 0 && noted.note.kind === "directory" && noted.before !== undefined ? { ...noted, kept: freed } : noted,
  );
