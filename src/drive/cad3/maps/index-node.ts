// Radix tree behind Index: nodes branch on the hex digits of keys.

import type { Encoder } from "../encoding/cell.js";
import { type Cell, isBranch, joinCell } from "../ref.js";
import { INDEX_TAG, NIL } from "../scalar.js";
import type { Value } from "../value.js";
import {
  depthAndMask,
  digitAt,
  digitsOf,
  hasDigit,
  type IndexKey,
  placeOf,
  sharedDigits,
  slotOf,
} from "./index-key.js";

/** Precedes an entry held by the node itself. */
const ENTRY_MARK = Uint8Array.of(0x80);

/** A key and its value with their Refs, if known; the Refs survive when nodes around the entry are rebuilt. */
export interface IndexEntry {
  readonly key: IndexKey;
  /** The significant bytes of the key. */
  readonly slot: Uint8Array;
  readonly value: Value;
  keyRef?: Uint8Array | undefined;
  valueRef?: Uint8Array | undefined;
}

/**
 * A node of an Index, immutable apart from the cached `cell`. A single entry is a node without children whose depth is
 * the length of its key.
 */
export interface IndexNode {
  readonly count: number;
  /** The entry whose key ends at this node. */
  readonly own: IndexEntry | undefined;
  /** Number of leading digits shared by all keys. */
  readonly depth: number;
  /** Digits of the children at `depth`, as a bit mask. */
  readonly mask: number;
  /** Ascending by digit. */
  readonly children: readonly IndexChild[];
  /** The encoding, once computed. */
  cell?: Cell | undefined;
}

/** A node known only by its Ref. */
export interface IndexStub {
  readonly ref: Uint8Array;
  /** @throws MISSING_CELL; BAD_FORMAT if the cell does not belong here */
  load(): IndexNode;
  /** Drops the loaded node, which is loaded again where it is needed. */
  forget(): void;
}

export type IndexChild = IndexNode | IndexStub;

export const nodeOf = (child: IndexChild): IndexNode => ("load" in child ? child.load() : child);

/** Ref of a child; `undefined` until it has been encoded. */
export const knownRef = (child: IndexChild): Uint8Array | undefined => ("load" in child ? child.ref : child.cell?.ref);

export const childAt = ({ mask, children }: IndexNode, digit: number): IndexChild | undefined =>
  hasDigit(mask, digit) ? children[placeOf(mask, digit)] : undefined;

export const entryOf = (key: IndexKey, value: Value): IndexEntry => ({ key, slot: slotOf(key), value });

function leafNode(own: IndexEntry): IndexNode {
  return { count: 1, own, depth: digitsOf(own.slot), mask: 0, children: [] };
}

export function findSlot(root: IndexNode | undefined, slot: Uint8Array): IndexEntry | undefined {
  const found = root === undefined ? undefined : nearest(root, slot);
  return isSlot(found, slot) ? found : undefined;
}

/** An entry that shares a maximal number of digits with a slot, found by following the slot's digits. */
function nearest(root: IndexNode, slot: Uint8Array): IndexEntry | undefined {
  let node = root;
  for (;;) {
    const ends = digitsOf(slot) <= node.depth;
    const child = ends ? undefined : childAt(node, digitAt(slot, node.depth));
    if (child === undefined && node.own !== undefined) return node.own;
    const next = child ?? node.children[0];
    if (next === undefined) return undefined;
    node = nodeOf(next);
  }
}

/** The tree with an entry in its slot, replacing any entry there. */
export function putEntry(root: IndexNode | undefined, entry: IndexEntry): IndexNode {
  const near = root === undefined ? undefined : nearest(root, entry.slot);
  if (root === undefined || near === undefined) return leafNode(entry);
  const shared = sharedDigits(near.slot, entry.slot, digitsOf(entry.slot));
  return putBelow(root, entry, { shared, nearSlot: near.slot });
}

/** Insertion point of an entry: the depth to which it shares digits with the tree. */
function putBelow(
  node: IndexNode,
  entry: IndexEntry,
  place: { readonly shared: number; readonly nearSlot: Uint8Array },
): IndexNode {
  const { shared, nearSlot } = place;
  const ends = digitsOf(entry.slot) === shared;
  if (shared < node.depth) {
    const split = branchNode(shared, ends ? entry : undefined, [[digitAt(nearSlot, shared), node]]);
    return ends ? split : withChild(split, digitAt(entry.slot, shared), leafNode(entry));
  }
  if (ends && shared === node.depth) {
    return { ...node, own: entry, count: node.count + (node.own === undefined ? 1 : 0), cell: undefined };
  }
  const digit = digitAt(entry.slot, node.depth);
  const child = childAt(node, digit);
  return withChild(node, digit, child === undefined ? leafNode(entry) : putBelow(nodeOf(child), entry, place));
}

function branchNode(depth: number, own: IndexEntry | undefined, children: [number, IndexNode][]): IndexNode {
  let count = own === undefined ? 0 : 1;
  let mask = 0;
  for (const [digit, child] of children) {
    count += child.count;
    mask |= 1 << digit;
  }
  return { count, own, depth, mask, children: children.map(([, child]) => child) };
}

/** Replaces the child of a digit. The old child is loaded already, so its count is known. */
function withChild(node: IndexNode, digit: number, child: IndexNode): IndexNode {
  const old = childAt(node, digit);
  const place = placeOf(node.mask, digit);
  const children = node.children.toSpliced(place, old === undefined ? 0 : 1, child);
  const count = node.count + child.count - (old === undefined ? 0 : nodeOf(old).count);
  return { ...node, count, mask: node.mask | (1 << digit), children, cell: undefined };
}

/** The tree without the entry in a slot: `undefined` if it is then empty, the same node if the slot was empty. */
export function removeSlot(root: IndexNode | undefined, slot: Uint8Array): IndexNode | undefined {
  return root === undefined || findSlot(root, slot) === undefined ? root : removeBelow(root, slot);
}

function removeBelow(node: IndexNode, slot: Uint8Array): IndexNode | undefined {
  if (digitsOf(slot) === node.depth)
    return normaliseNode({ ...node, own: undefined, count: node.count - 1, cell: undefined });
  const digit = digitAt(slot, node.depth);
  const child = childAt(node, digit);
  const rest = child === undefined ? undefined : removeBelow(nodeOf(child), slot);
  if (rest !== undefined) return withChild(node, digit, rest);
  const children = node.children.toSpliced(placeOf(node.mask, digit), 1);
  return normaliseNode({ ...node, count: node.count - 1, mask: node.mask & ~(1 << digit), children, cell: undefined });
}

/** Restores the invariant that a node without an own entry has at least two children. */
function normaliseNode(node: IndexNode): IndexNode | undefined {
  const [first, second] = node.children;
  if (node.own !== undefined || second !== undefined) return node;
  return first === undefined ? undefined : nodeOf(first);
}

/** The tree of all entries; the last entry for a slot wins. */
export function buildTree(entries: Iterable<IndexEntry>): IndexNode | undefined {
  // The sort is stable, so the last entry for a slot stays last.
  const all = [...entries].sort((one, other) => Buffer.compare(one.slot, other.slot));
  const sorted = all.filter(({ slot }, place) => !isSlot(all[place + 1], slot));
  return sorted.length === 0 ? undefined : buildRange(sorted, 0, sorted.length);
}

const isSlot = (entry: IndexEntry | undefined, slot: Uint8Array): boolean =>
  entry !== undefined && Buffer.compare(entry.slot, slot) === 0;

function buildRange(sorted: readonly IndexEntry[], start: number, end: number): IndexNode {
  const first = entryAt(sorted, start);
  if (end - start === 1) return leafNode(first);
  const length = digitsOf(first.slot);
  const depth = sharedDigits(first.slot, entryAt(sorted, end - 1).slot, length);
  const own = length === depth ? first : undefined;
  const children: [number, IndexNode][] = [];
  for (let from = own === undefined ? start : start + 1; from < end; ) {
    const digit = digitAt(entryAt(sorted, from).slot, depth);
    let to = from + 1;
    while (to < end && digitAt(entryAt(sorted, to).slot, depth) === digit) to += 1;
    children.push([digit, buildRange(sorted, from, to)]);
    from = to;
  }
  return branchNode(depth, own, children);
}

function entryAt(sorted: readonly IndexEntry[], place: number): IndexEntry {
  const entry = sorted[place];
  if (entry === undefined) throw new RangeError("No entry at this place");
  return entry;
}

/** All entries, ordered by key bytes. */
export function* entriesOf(root: IndexNode): Generator<IndexEntry> {
  const waiting: IndexChild[] = [root];
  for (let child = waiting.pop(); child !== undefined; child = waiting.pop()) {
    const { own, children } = nodeOf(child);
    if (own !== undefined) yield own;
    for (let place = children.length - 1; place >= 0; place -= 1) {
      const below = children[place];
      if (below !== undefined) waiting.push(below);
    }
  }
}

/** Values of a tree; those below a known Ref only if `all`. */
export function* valuesOf(child: IndexChild, all: boolean): Generator<Value> {
  if (!all && knownRef(child) !== undefined) return;
  const { own, children } = nodeOf(child);
  if (own !== undefined && (all || own.valueRef === undefined)) yield own.value;
  for (const below of children) yield* valuesOf(below, all);
}

/** Encodes a node and its not yet encoded descendants. */
export function cellOfNode(node: IndexNode, encoder: Encoder): Cell {
  if (node.cell !== undefined && encoder.emit === undefined) return node.cell;
  const { own, count, depth, mask, children } = node;
  const parts: Uint8Array[] = [];
  if (own !== undefined) {
    if (encoder.emit !== undefined || own.keyRef === undefined) own.keyRef = encoder.cellOf(own.key).ref;
    if (encoder.emit !== undefined || own.valueRef === undefined) own.valueRef = encoder.cellOf(own.value).ref;
    if (count > 1) parts.push(ENTRY_MARK);
    parts.push(own.keyRef, own.valueRef);
  } else {
    parts.push(NIL);
  }
  if (count > 1) parts.push(depthAndMask(depth, mask));
  for (const child of children) {
    const known = encoder.emit === undefined ? knownRef(child) : undefined;
    parts.push(known ?? emitCell(cellOfNode(nodeOf(child), encoder), encoder).ref);
  }
  node.cell ??= joinCell(INDEX_TAG, count, parts);
  return node.cell;
}

function emitCell(cell: Cell, { emit }: Encoder): Cell {
  if (isBranch(cell.ref)) emit?.(cell);
  return cell;
}
