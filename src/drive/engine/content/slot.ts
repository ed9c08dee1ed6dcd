// The place of a node in a directory of a drive, with the time of a change there. Synchronous, to be run by a scope.

import type { Value } from "../../cad3/value.js";
import { checkNames, invalidPath } from "../../dlfs/name.js";
import { directoryNode, fileNode, type LiveView, type Node } from "../../dlfs/node.js";
import { replaceAt, type Slot, slotAt, stampFor } from "../../dlfs/tree-path.js";
import { isADirectory } from "../../error.js";
import type { DriveLimits } from "../drives.js";
import { quotaExceeded } from "../fault.js";

/** A place in a directory for a node, with the time of the change. */
export interface StampedSlot extends Slot {
  readonly stamp: bigint;
}

/** @param at clock time in ms since the epoch @throws INVALID_PATH, NOT_FOUND, NOT_A_DIRECTORY */
export function slotFor(
  root: Value,
  path: readonly string[],
  { at, limits }: { readonly at: number; readonly limits: DriveLimits },
): StampedSlot {
  checkNames(path, limits.maxPathDepth);
  if (path.length === 0) throw isADirectory(path);
  const slot = slotAt(root, path);
  return { ...slot, stamp: stampFor(slot.path, at, slot.held) };
}

/** The root with a node put in a slot. @throws QUOTA_EXCEEDED if the directory is full */
export function placeIn(
  slot: StampedSlot,
  node: Node,
  { drive, limits }: { readonly drive: string; readonly limits: DriveLimits },
): Node {
  const used = slot.path.parent.entries.size;
  if (slot.held === undefined && used >= limits.maxEntries) {
    throw quotaExceeded(drive, { used, limit: limits.maxEntries, requested: 1, unit: "entries" });
  }
  return replaceAt(slot.path, [slot.name, node], slot.stamp);
}

/** @throws INVALID_PATH for a move of a directory into itself, or of the root */
export function requireOutside(from: readonly string[], to: readonly string[]): void {
  const isInside = from.length <= to.length && from.every((name, depth) => to[depth] === name);
  if (from.length === 0 || (isInside && from.length < to.length)) {
    throw invalidPath(to.join("/"), "a directory cannot be moved into itself");
  }
}

/** A live node at another time. */
export const nodeWith = (view: LiveView, stamp: bigint): Node =>
  view.kind === "file" ? fileNode(view.data, stamp, view.metadata) : directoryNode(view.entries, stamp);
