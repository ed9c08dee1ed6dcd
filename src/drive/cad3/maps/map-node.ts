// Hash tree behind Map: leaves of up to 15 entries, inner nodes that branch on hex digits of key hashes.

import type { Encoder } from "../encoding/cell.js";
import { type Cell, HASH_BYTES, isBranch, joinCell } from "../ref.js";
import { MAP_TAG } from "../scalar.js";
import type { Value } from "../value.js";
import { depthAndMask, digitAt, hasDigit, placeOf, sharedDigits } from "./index-key.js";

/** Maximum entries in one cell. */
export const MAX_LEAF_ENTRIES = 15;
const MAX_DIGITS = 2 * HASH_BYTES;

/** A key and its value with their Refs, if known; the Refs survive when nodes around the entry are rebuilt. */
export interface MapEntry {
  readonly key: Value;
  /** Hash of the key's encoding, which orders the entries. */
  readonly hash: Uint8Array;
  readonly keyRef: Uint8Array;
  readonly value: Value;
  valueRef?: Uint8Array | undefined;
}

/** A node of a Map, immutable apart from the cached `cell`: a leaf with entries, or an inner node with children. */
export interface MapNode {
  readonly count: number;
  /** In a leaf; ascending by hash. */
  readonly entries: readonly MapEntry[];
  /** Number of leading digits shared by the hashes; 0 in a leaf. */
  readonly shift: number;
  /** Digits of the children at `shift`, as a bit mask. */
  readonly mask: number;
  readonly children: readonly MapNode[];
  /** The encoding, once computed. */
  cell?: Cell | undefined;
}

const EMPTY_MAP: MapNode = { count: 0, entries: [], shift: 0, mask: 0, children: [] };

const childAt = ({ mask, children }: MapNode, digit: number): MapNode | undefined =>
  hasDigit(mask, digit) ? children[placeOf(mask, digit)] : undefined;

const leafOf = (entries: readonly MapEntry[]): MapNode => ({ ...EMPTY_MAP, count: entries.length, entries });

export function findEntry(root: MapNode, hash: Uint8Array): MapEntry | undefined {
  let node: MapNode | undefined = root;
  while (node !== undefined && node.children.length > 0) node = childAt(node, digitAt(hash, node.shift));
  return node?.entries.find((entry) => isHash(entry, hash));
}

/** The tree of all entries; the last entry for a key wins. */
export function buildMap(entries: Iterable<MapEntry>): MapNode {
  // The sort is stable, so the last entry for a key stays last.
  const all = [...entries].sort((one, other) => Buffer.compare(one.hash, other.hash));
  return buildSorted(all.filter(({ hash }, place) => !isHash(all[place + 1], hash)));
}

const isHash = (entry: MapEntry | undefined, hash: Uint8Array): boolean =>
  entry !== undefined && Buffer.compare(entry.hash, hash) === 0;

function buildSorted(sorted: readonly MapEntry[]): MapNode {
  const [first, last] = [sorted[0], sorted.at(-1)];
  if (first === undefined || last === undefined || sorted.length <= MAX_LEAF_ENTRIES) return leafOf(sorted);
  const shift = sharedDigits(first.hash, last.hash, MAX_DIGITS);
  const groups = new Map<number, MapEntry[]>();
  for (const entry of sorted) {
    const digit = digitAt(entry.hash, shift);
    const group = groups.get(digit);
    if (group === undefined) groups.set(digit, [entry]);
    else group.push(entry);
  }
  return treeOf(
    shift,
    Array.from(groups, ([digit, group]) => [digit, buildSorted(group)]),
  );
}

/** @param children ascending by digit */
function treeOf(shift: number, children: readonly (readonly [number, MapNode])[]): MapNode {
  const mask = children.reduce((bits, [digit]) => bits | (1 << digit), 0);
  const nodes = children.map(([, child]) => child);
  return { count: countOf(nodes), entries: [], shift, mask, children: nodes };
}

const countOf = (nodes: readonly MapNode[]): number => nodes.reduce((sum, { count }) => sum + count, 0);

/** The tree with an entry, replacing one with the same key. */
export function putEntry(node: MapNode, entry: MapEntry): MapNode {
  if (node.children.length === 0) return buildMap([...node.entries, entry]);
  const shared = sharedDigits(anyHash(node), entry.hash, node.shift);
  const digit = digitAt(entry.hash, shared);
  if (shared < node.shift) {
    const pair: [number, MapNode][] = [
      [digitAt(anyHash(node), shared), node],
      [digit, leafOf([entry])],
    ];
    return treeOf(
      shared,
      pair.sort(([one], [other]) => one - other),
    );
  }
  const child = childAt(node, digit);
  return withChild(node, digit, child === undefined ? leafOf([entry]) : putEntry(child, entry));
}

/** Hash of any key below a node. */
function anyHash(root: MapNode): Uint8Array {
  let node = root;
  while (node.children[0] !== undefined) node = node.children[0];
  return node.entries[0]?.hash ?? new Uint8Array(HASH_BYTES);
}

function withChild(node: MapNode, digit: number, child: MapNode): MapNode {
  const place = placeOf(node.mask, digit);
  const children = node.children.toSpliced(place, hasDigit(node.mask, digit) ? 1 : 0, child);
  return { count: countOf(children), entries: [], shift: node.shift, mask: node.mask | (1 << digit), children };
}

/** The tree without the entry of a key that is present. */
export function removeEntry(node: MapNode, hash: Uint8Array): MapNode {
  if (node.count - 1 <= MAX_LEAF_ENTRIES) return leafOf([...entriesOf(node)].filter((entry) => !isHash(entry, hash)));
  const digit = digitAt(hash, node.shift);
  const child = childAt(node, digit);
  if (child === undefined) return node;
  if (child.count > 1) return withChild(node, digit, removeEntry(child, hash));
  const children = node.children.toSpliced(placeOf(node.mask, digit), 1);
  const [only] = children;
  if (only !== undefined && children.length === 1) return only;
  return { ...node, count: node.count - 1, mask: node.mask & ~(1 << digit), children, cell: undefined };
}

/** All entries, ordered by key hash. */
export function* entriesOf(node: MapNode): Generator<MapEntry> {
  yield* node.entries;
  for (const child of node.children) yield* entriesOf(child);
}

/** Keys and values of a tree; those below a known Ref only if `all`. */
export function* partsOf(node: MapNode, all: boolean): Generator<Value> {
  if (!all && node.cell !== undefined) return;
  for (const { key, value, valueRef } of node.entries) {
    if (all) yield key;
    if (all || valueRef === undefined) yield value;
  }
  for (const child of node.children) yield* partsOf(child, all);
}

/** Encodes a node and its not yet encoded descendants. */
export function cellOfNode(node: MapNode, encoder: Encoder): Cell {
  const { emit } = encoder;
  if (node.cell !== undefined && emit === undefined) return node.cell;
  const parts: Uint8Array[] = node.children.length > 0 ? [depthAndMask(node.shift, node.mask)] : [];
  for (const entry of node.entries) {
    if (emit !== undefined) encoder.cellOf(entry.key);
    if (emit !== undefined || entry.valueRef === undefined) entry.valueRef = encoder.cellOf(entry.value).ref;
    parts.push(entry.keyRef, entry.valueRef);
  }
  for (const child of node.children) {
    const cell = cellOfNode(child, encoder);
    if (isBranch(cell.ref)) emit?.(cell);
    parts.push(cell.ref);
  }
  node.cell ??= joinCell(MAP_TAG, node.count, parts);
  return node.cell;
}
