// Entries of an index from one end, without reading the rest.

import { digitAt, hasDigit, type IndexKey, placeOf, sharedDigits, slotOf } from "./index-key.js";
import type { CadIndex } from "./index-map.js";
import { childAt, type IndexEntry, type IndexNode, nodeOf } from "./index-node.js";

const DIGITS = 16;

/**
 * Up to `limit` entries in descending order of keys, beginning with the greatest that is not above `from`.
 * @throws MISSING_CELL where a cell has to be loaded first
 */
export function lastEntries({ root }: CadIndex, limit: number, from?: IndexKey): IndexEntry[] {
  const found: IndexEntry[] = [];
  if (root === undefined) return found;
  if (from === undefined) takeDown(root, limit, found);
  else takeBelow(root, slotOf(from), { limit, found });
  return found;
}

/** Up to `limit` entries in ascending order of keys, beginning with the first that is not below `from`. */
export function firstEntries({ root }: CadIndex, limit: number, from?: IndexKey): IndexEntry[] {
  const found: IndexEntry[] = [];
  if (root === undefined) return found;
  if (from === undefined) takeUp(root, limit, found);
  else takeAbove(root, slotOf(from), { limit, found });
  return found;
}

interface Taking {
  readonly limit: number;
  readonly found: IndexEntry[];
}

function takeDown(node: IndexNode, limit: number, found: IndexEntry[]): void {
  for (let place = node.children.length - 1; place >= 0 && found.length < limit; place -= 1) {
    const child = node.children[place];
    if (child !== undefined) takeDown(nodeOf(child), limit, found);
  }
  if (node.own !== undefined && found.length < limit) found.push(node.own);
}

function takeUp(node: IndexNode, limit: number, found: IndexEntry[]): void {
  if (node.own !== undefined && found.length < limit) found.push(node.own);
  for (const child of node.children) if (found.length < limit) takeUp(nodeOf(child), limit, found);
}

/** Whether all keys below a node come before a slot, after it, or the slot lies among them. */
function sideOf(node: IndexNode, slot: Uint8Array): "before" | "after" | "among" {
  const some = nearEntry(node, slot);
  if (some === undefined) return "among";
  const shared = sharedDigits(some.slot, slot, Math.min(2 * some.slot.length, 2 * slot.length));
  if (shared >= node.depth) return "among";
  if (shared >= 2 * slot.length) return "after";
  return digitAt(some.slot, shared) < digitAt(slot, shared) ? "before" : "after";
}

/** Some entry below a node, found along the digits of a slot, since those nodes are read anyway. */
function nearEntry(node: IndexNode, slot: Uint8Array): IndexEntry | undefined {
  for (let at = node; at.own === undefined; ) {
    const child = childAt(at, digitAt(slot, at.depth)) ?? at.children[0];
    if (child === undefined) return undefined;
    at = nodeOf(child);
    if (at.own !== undefined) return at.own;
  }
  return node.own;
}

function takeBelow(node: IndexNode, slot: Uint8Array, taking: Taking): void {
  const { limit, found } = taking;
  const side = sideOf(node, slot);
  if (side === "after") return;
  if (side === "before") {
    takeDown(node, limit, found);
    return;
  }
  const isEnd = 2 * slot.length <= node.depth;
  const last = isEnd ? -1 : digitAt(slot, node.depth);
  for (let digit = last; digit >= 0 && found.length < limit; digit -= 1) {
    const child = hasDigit(node.mask, digit) ? node.children[placeOf(node.mask, digit)] : undefined;
    if (child === undefined) continue;
    if (digit === last) takeBelow(nodeOf(child), slot, taking);
    else takeDown(nodeOf(child), limit, found);
  }
  if (node.own !== undefined && found.length < limit) found.push(node.own);
}

function takeAbove(node: IndexNode, slot: Uint8Array, taking: Taking): void {
  const { limit, found } = taking;
  const side = sideOf(node, slot);
  if (side === "before") return;
  const isEnd = 2 * slot.length <= node.depth;
  if (side === "after" || isEnd) {
    takeUp(node, limit, found);
    return;
  }
  const first = digitAt(slot, node.depth);
  for (let digit = first; digit < DIGITS && found.length < limit; digit += 1) {
    const child = hasDigit(node.mask, digit) ? node.children[placeOf(node.mask, digit)] : undefined;
    if (child === undefined) continue;
    if (digit === first) takeAbove(nodeOf(child), slot, taking);
    else takeUp(nodeOf(child), limit, found);
  }
}
