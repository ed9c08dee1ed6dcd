// The place of a node in a directory of a drive, with the time of a change there. Synchronous, to be run by a scope.

import type { Value } from "../../cad3/value.js";
import { checkNames, invalidPath } from "../../dlfs/name.js";
import { directoryNode, fileNode, type Node } from "../../dlfs/node.js";
import { entryAt, replaceAt, stampFor, type TreePath, walk } from "../../dlfs/tree-path.js";
import { isADirectory } from "../../error.js";
import type { DriveLimits } from "../drives.js";
import { quotaExceeded } from "../fault.js";
import type { LiveView } from "./tree-read.js";

/** A place in a directory for a node. */
export interface Slot {
  readonly path: TreePath;
  readonly name: string;
  /** The existing entry, if any. */
  readonly live: LiveView | undefined;
  readonly stamp: bigint;
  readonly isTaken: boolean;
}

/** @param at clock time in ms since the epoch @throws INVALID_PATH, NOT_FOUND, NOT_A_DIRECTORY */
export function slotFor(
  root: Value,
  path: readonly string[],
  { at, limits }: { readonly at: number; readonly limits: DriveLimits },
): Slot {
  checkNames(path, limits.maxPathDepth);
  const name = path.at(-1);
  if (name === undefined) throw isADirectory(path);
  const above = walk(root, path.slice(0, -1));
  const held = entryAt(above.parent, name);
  const live = held?.kind === "tombstone" ? undefined : held;
  return { path: above, name, live, stamp: stampFor(above, at, held), isTaken: held !== undefined };
}

/** The root with a node put in a slot. @throws QUOTA_EXCEEDED if the directory is full */
export function placeIn(
  slot: Slot,
  node: Node,
  { drive, limits }: { readonly drive: string; readonly limits: DriveLimits },
): Node {
  const used = slot.path.parent.entries.size;
  if (!slot.isTaken && used >= limits.maxEntries) {
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
