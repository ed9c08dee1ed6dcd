import { digitAt, sharedDigits } from "../digits.js";
import { cellOf } from "../encoding/cell.js";
import { sameBytes } from "../ref.js";
import { CadIndex } from "./index-map.js";
import { childAt, type IndexChild, type IndexEntry, type IndexNode, knownRef, nodeOf } from "./index-node.js";

const DIGITS = 16;

/** Says what stands in a slot that both sides hold, with a key of that slot. */
export type Both = (own: IndexEntry, other: IndexEntry) => IndexEntry;

/**
 * The entries of two indexes. Goes only where their Refs differ: what is equal on both sides stays as it is, and `both`
 * hears nothing of it.
 *
 * @returns `own` itself when nothing changes it
 */
export function unite(own: CadIndex, other: CadIndex, both: Both): CadIndex {
  // Encoded first, so that every node below knows its Ref.
  cellOf(own);
  cellOf(other);
  if (other.root === undefined) return own;
  if (own.root === undefined) return other;
  const root = isSame(own.root, other.root) ? own.root : uniteNodes(own.root, other.root, both);
  return root === own.root ? own : new CadIndex(root);
}

function uniteChildren(own: IndexChild | undefined, other: IndexChild | undefined, both: Both): IndexChild | undefined {
  if (own === undefined || other === undefined) return own ?? other;
  return isSame(own, other) ? own : uniteNodes(nodeOf(own), nodeOf(other), both);
}

const isSame = (own: IndexChild, other: IndexChild): boolean => areEqual(knownRef(own), knownRef(other));

/** Refs that are not known count as different. */
const areEqual = (own: Uint8Array | undefined, other: Uint8Array | undefined): boolean =>
  own !== undefined && other !== undefined && sameBytes(own, other);

function uniteNodes(own: IndexNode, other: IndexNode, both: Both): IndexNode {
  const [ownSlot, otherSlot] = [anySlot(own), anySlot(other)];
  const depth = sharedDigits(ownSlot, otherSlot, Math.min(own.depth, other.depth));
  return joinNodes(raise(own, depth, ownSlot), raise(other, depth, otherSlot), both);
}

/** A slot of any of the keys below a node. */
function anySlot(root: IndexNode): Uint8Array {
  let node = root;
  while (node.own === undefined) {
    const [first] = node.children;
    if (first === undefined) break;
    node = nodeOf(first);
  }
  return node.own?.slot ?? new Uint8Array();
}

/** A node as the only child of one at a lesser depth, or the node itself if it is at that depth. */
function raise(node: IndexNode, depth: number, slot: Uint8Array): IndexNode {
  if (node.depth === depth) return node;
  return { count: node.count, own: undefined, depth, mask: 1 << digitAt(slot, depth), children: [node] };
}

function uniteEntries(own: IndexEntry | undefined, other: IndexEntry | undefined, both: Both): IndexEntry | undefined {
  if (own === undefined || other === undefined) return own ?? other;
  const isEqual = areEqual(own.valueRef, other.valueRef) && areEqual(own.keyRef, other.keyRef);
  return isEqual ? own : both(own, other);
}

/** Unites two nodes of one depth whose keys share all digits up to it. */
function joinNodes(own: IndexNode, other: IndexNode, both: Both): IndexNode {
  const entry = uniteEntries(own.own, other.own, both);
  const children: IndexChild[] = [];
  let changed = entry !== own.own;
  let count = own.count + (own.own === undefined && entry !== undefined ? 1 : 0);
  for (let digit = 0; digit < DIGITS; digit += 1) {
    const before = childAt(own, digit);
    const after = uniteChildren(before, childAt(other, digit), both);
    if (after === undefined) continue;
    children.push(after);
    if (after === before) continue;
    changed = true;
    count += nodeOf(after).count - (before === undefined ? 0 : nodeOf(before).count);
  }
  return changed ? { count, own: entry, depth: own.depth, mask: own.mask | other.mask, children } : own;
}
