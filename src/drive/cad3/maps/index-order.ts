// Entries of an index from one end, without reading the rest.

import { digitAt, type IndexKey, sharedDigits, slotOf } from "./index-key.js";
import type { CadIndex } from "./index-map.js";
import { childAt, type IndexEntry, type IndexNode, nodeOf } from "./index-node.js";

const DIGITS = 16;

/**
 * Up to `limit` entries in descending order of keys, beginning with the greatest that is not above `from`.
 * @throws MISSING_CELL where a cell has to be loaded first
 */
export const lastEntries = (index: CadIndex, limit: number, from?: IndexKey): IndexEntry[] =>
  entriesOf(index, limit, from, true);

/** Up to `limit` entries in ascending order of keys, beginning with the first that is not below `from`. */
export const firstEntries = (index: CadIndex, limit: number, from?: IndexKey): IndexEntry[] =>
  entriesOf(index, limit, from, false);

function entriesOf({ root }: CadIndex, limit: number, from: IndexKey | undefined, isDown: boolean): IndexEntry[] {
  const found: IndexEntry[] = [];
  if (root === undefined || limit < 1) return found;
  for (const entry of entriesFrom(root, from === undefined ? undefined : slotOf(from), isDown)) {
    found.push(entry);
    if (found.length === limit) break;
  }
  return found;
}

/** @param slot where to begin; absent: at the end */
function* entriesFrom(node: IndexNode, slot: Uint8Array | undefined, isDown: boolean): Generator<IndexEntry> {
  const side = slot && sideOf(node, slot);
  if (side === (isDown ? "after" : "before")) return;
  const from = side === "among" ? slot : undefined;
  const isEnd = from !== undefined && 2 * from.length <= node.depth;
  const first = from === undefined || isEnd ? undefined : digitAt(from, node.depth);
  // The node's own key comes before all others below it.
  if (!isDown && first === undefined && node.own !== undefined) yield node.own;
  for (let step = 0; step < DIGITS && !(isDown && isEnd); step += 1) {
    const digit = isDown ? DIGITS - 1 - step : step;
    if (first !== undefined && (isDown ? digit > first : digit < first)) continue;
    const child = childAt(node, digit);
    if (child !== undefined) yield* entriesFrom(nodeOf(child), digit === first ? from : undefined, isDown);
  }
  if (isDown && node.own !== undefined) yield node.own;
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
