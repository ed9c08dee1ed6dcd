// Finds the slots in which two indexes differ, without reading what is equal.

import { type Steps, stepOf } from "../../steps.js";
import { sharedDigits } from "../digits.js";
import { cellOf } from "../encoding/cell.js";
import type { CadIndex } from "./index-map.js";
import { childAt, type IndexChild, type IndexEntry, type IndexNode, nodeOf } from "./index-node.js";
import { anySlot, areEqual, DIGITS, isSame, raise, wantedOf } from "./index-union.js";

/** Told of each slot that differs, in the order of the keys. */
export type Differing = (own: IndexEntry | undefined, other: IndexEntry | undefined) => void;

/** Compares two indexes. Descends only where Refs differ. One step compares two nodes. */
export function* differencesOf(own: CadIndex, other: CadIndex, differs: Differing): Steps<void> {
  // Encoded first, so that every node below has a Ref.
  cellOf(own);
  cellOf(other);
  if (own.root !== undefined || other.root !== undefined) yield* compare(own.root, other.root, differs);
}

/** At least one of the two is there. */
function* compare(own: IndexChild | undefined, other: IndexChild | undefined, differs: Differing): Steps<void> {
  if (own !== undefined && other !== undefined && isSame(own, other)) return;
  const before = own === undefined ? undefined : yield* stepOf(() => nodeOf(own));
  const after = other === undefined ? undefined : yield* stepOf(() => nodeOf(other));
  if (before === undefined || after === undefined) return yield* compareNodes(before, after, differs);
  const beforeSlot = yield* stepOf(() => anySlot(before));
  const afterSlot = yield* stepOf(() => anySlot(after));
  const depth = sharedDigits(beforeSlot, afterSlot, Math.min(before.depth, after.depth));
  yield* compareNodes(raise(before, depth, beforeSlot), raise(after, depth, afterSlot), differs);
}

/** Nodes of equal depth whose keys share all digits up to it. */
function* compareNodes(own: IndexNode | undefined, other: IndexNode | undefined, differs: Differing): Steps<void> {
  const pairs = Array.from({ length: DIGITS }, (_, digit) => ({
    own: own && childAt(own, digit),
    other: other && childAt(other, digit),
  })).filter((pair) => pair.own !== undefined || pair.other !== undefined);
  const changed = pairs.filter(
    (pair) => pair.own === undefined || pair.other === undefined || !isSame(pair.own, pair.other),
  );
  yield { wanted: wantedOf(changed) };
  const [before, after] = [own?.own, other?.own];
  const isEqual = areEqual(before?.valueRef, after?.valueRef) && areEqual(before?.keyRef, after?.keyRef);
  if ((before !== undefined || after !== undefined) && !isEqual) differs(before, after);
  for (const pair of changed) yield* compare(pair.own, pair.other, differs);
}
