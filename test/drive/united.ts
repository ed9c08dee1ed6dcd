import type { CadIndex } from "../../src/drive/cad3/maps/index-map.js";
import type { IndexEntry } from "../../src/drive/cad3/maps/index-node.js";
import { unite } from "../../src/drive/cad3/maps/index-union.js";
import { runSteps, stepOf } from "../../src/drive/steps.js";

/** The union of two indexes, made at once. */
export const united = (
  own: CadIndex,
  other: CadIndex,
  pick: (own: IndexEntry, other: IndexEntry) => IndexEntry,
): CadIndex => runSteps(unite(own, other, { both: (one, two) => stepOf(() => pick(one, two)), isKept: () => true }));
