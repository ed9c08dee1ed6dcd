// Union of two indexes that skips equal subtrees; the basis of merging.

import { type Steps, stepOf } from "../../steps.js";
import { cellOf } from "../encoding/cell.js";
import { isBranch, sameBytes } from "../ref.js";
import { digitAt, sharedDigits } from "./index-key.js";
import { CadIndex } from "./index-map.js";
import {
  cellOfNode,
  childAt,
  type IndexChild,
  type IndexEntry,
  type IndexNode,
  knownRef,
  nodeOf,
} from "./index-node.js";

export const DIGITS = 16;

/** Resolves a slot that both sides hold. */
export interface Both {
  both(own: IndexEntry, other: IndexEntry): Steps<IndexEntry>;
  /** Whether the result will be kept; its nodes are then encoded one at a time as they are made. */
  isKept(): boolean;
  /**
   * Stores a new node whose subtree is complete, and returns its replacement, so that a large union need not be in
   * memory as a whole. Absent: nodes stay.
   */
  settle?: ((node: IndexNode) => Steps<IndexChild>) | undefined;
}

/**
 * Unites two indexes. Descends only where Refs differ: equal subtrees are reused and `both` is not called for them. One
 * step joins two nodes.
 *
 * @returns `own` itself if nothing changes it
 */
export function* unite(own: CadIndex, other: CadIndex, task: Both): Steps<CadIndex> {
  // Encoded first, so that every node below has a Ref.
  cellOf(own);
  cellOf(other);
  if (other.root === undefined) return own;
  if (own.root === undefined) return other;
  const root = isSame(own.root, other.root) ? own.root : yield* uniteNodes(own.root, other.root, task);
  return root === own.root ? own : new CadIndex(root);
}

export const isSame = (own: IndexChild, other: IndexChild): boolean => areEqual(knownRef(own), knownRef(other));

/** Unknown Refs count as different. */
export const areEqual = (own: Uint8Array | undefined, other: Uint8Array | undefined): boolean =>
  own !== undefined && other !== undefined && sameBytes(own, other);

function* uniteNodes(own: IndexNode, other: IndexNode, task: Both): Steps<IndexNode> {
  const ownSlot = yield* stepOf(() => anySlot(own));
  const otherSlot = yield* stepOf(() => anySlot(other));
  const depth = sharedDigits(ownSlot, otherSlot, Math.min(own.depth, other.depth));
  return yield* joinNodes(raise(own, depth, ownSlot), raise(other, depth, otherSlot), task);
}

/** The slot of any key below a node. */
export function anySlot(root: IndexNode): Uint8Array {
  let node = root;
  while (node.own === undefined) {
    const [first] = node.children;
    if (first === undefined) break;
    node = nodeOf(first);
  }
  return node.own?.slot ?? new Uint8Array();
}

/** Wraps a node as the only child of a node at a smaller depth; returns it unchanged if the depth matches. */
export function raise(node: IndexNode, depth: number, slot: Uint8Array): IndexNode {
  if (node.depth === depth) return node;
  return { count: node.count, own: undefined, depth, mask: 1 << digitAt(slot, depth), children: [node] };
}

function* uniteEntries(
  own: IndexEntry | undefined,
  other: IndexEntry | undefined,
  task: Both,
): Steps<IndexEntry | undefined> {
  if (own === undefined || other === undefined) return own ?? other;
  const isEqual = areEqual(own.valueRef, other.valueRef) && areEqual(own.keyRef, other.keyRef);
  return isEqual ? own : yield* task.both(own, other);
}

/** The children of both nodes for a digit where the other side has a child and it differs. */
interface ChildPair {
  readonly own: IndexChild | undefined;
  readonly other: IndexChild;
}

function changedChildren(own: IndexNode, other: IndexNode): (ChildPair | undefined)[] {
  return Array.from({ length: DIGITS }, (_, digit) => {
    const [before, after] = [childAt(own, digit), childAt(other, digit)];
    if (after === undefined || (before !== undefined && isSame(before, after))) return undefined;
    return { own: before, other: after };
  });
}

interface Sides {
  readonly own: IndexChild | undefined;
  readonly other: IndexChild | undefined;
}

/** Branches that are about to be read. */
export function wantedOf(pairs: readonly (Sides | undefined)[]): Uint8Array[] {
  const wanted: Uint8Array[] = [];
  for (const pair of pairs) {
    if (pair === undefined) continue;
    for (const child of [pair.own, pair.other]) {
      if (child !== undefined && "load" in child && isBranch(child.ref)) wanted.push(child.ref);
    }
  }
  return wanted;
}

/** Joins two nodes of equal depth whose keys share all digits up to it. */
function* joinNodes(own: IndexNode, other: IndexNode, task: Both): Steps<IndexNode> {
  const pairs = changedChildren(own, other);
  yield { wanted: wantedOf(pairs) };
  const entry = yield* uniteEntries(own.own, other.own, task);
  const children: IndexChild[] = [];
  let changed = entry !== own.own;
  let count = own.count + (own.own === undefined && entry !== undefined ? 1 : 0);
  for (const [digit, pair] of pairs.entries()) {
    const before = childAt(own, digit);
    if (pair === undefined) {
      if (before !== undefined) children.push(before);
      continue;
    }
    const countBefore = before === undefined ? 0 : (yield* stepOf(() => nodeOf(before))).count;
    const after = yield* uniteChildren(pair, task);
    children.push(after);
    if (after !== before) {
      changed = true;
      count += (yield* stepOf(() => nodeOf(after))).count - countBefore;
    }
    for (const done of [before, pair.other]) if (done !== undefined && "load" in done) done.forget();
  }
  if (!changed) return own;
  const node: IndexNode = { count, own: entry, depth: own.depth, mask: own.mask | other.mask, children };
  if (!task.isKept()) return node;
  // Encoded here, node by node, rather than all at the end.
  cellOfNode(node, { cellOf });
  if (task.settle === undefined) return node;
  const settled: IndexChild[] = [];
  for (const child of children) settled.push(isNew(child) ? yield* task.settle(child) : child);
  return { ...node, children: settled };
}

/** Whether it was made here and is a cell of its own; what is embedded goes with its container. */
const isNew = (child: IndexChild): child is IndexNode =>
  !("load" in child) && child.cell !== undefined && isBranch(child.cell.ref);

function* uniteChildren({ own, other }: ChildPair, task: Both): Steps<IndexChild> {
  if (own === undefined) return other;
  const ownNode = yield* stepOf(() => nodeOf(own));
  const otherNode = yield* stepOf(() => nodeOf(other));
  const united = yield* uniteNodes(ownNode, otherNode, task);
  return united === ownNode ? own : united;
}
