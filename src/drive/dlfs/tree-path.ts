// Paths in a drive's tree: lookup, timestamps of changes, and replacement of a node.

import type { Value } from "../cad3/value.js";
import { driveError, notADirectory, notFound } from "../error.js";
import { LAST_TIME } from "./name.js";
import {
  type Directory,
  directoryNode,
  directoryOf,
  type LiveView,
  laterTime,
  liveOf,
  type Node,
  type NodeView,
  type Utime,
  viewOf,
} from "./node.js";

/** Directories from the root to the parent of a change, and the names between them. */
export interface TreePath {
  /** At least the root. */
  readonly directories: readonly Directory[];
  /** One fewer than `directories`. */
  readonly names: readonly string[];
  readonly parent: Directory;
}

/**
 * Descends from a root.
 *
 * @param names of nested directories
 * @throws NOT_FOUND, NOT_A_DIRECTORY, BAD_FORMAT, MISSING_CELL
 */
function walk(root: Value, names: readonly string[]): TreePath {
  let parent = directoryOf(root);
  const directories = [parent];
  for (const [depth, name] of names.entries()) {
    const view = entryAt(parent, name);
    const here = names.slice(0, depth + 1);
    if (view === undefined || view.kind === "tombstone") throw notFound(here);
    if (view.kind === "file") throw notADirectory(here);
    parent = view;
    directories.push(view);
  }
  return { directories, names, parent };
}

/** The place of a name in its directory. */
export interface Slot {
  readonly path: TreePath;
  readonly name: string;
  /** The existing node, possibly a tombstone. */
  readonly held: NodeView | undefined;
  /** The existing node; `undefined` if there is none or only a tombstone. */
  readonly live: LiveView | undefined;
}

/** @param names of nested directories, down to the name @throws as {@link walk} */
export function slotAt(root: Value, names: readonly string[]): Slot {
  const path = walk(root, names.slice(0, -1));
  const name = names.at(-1) ?? "";
  const held = entryAt(path.parent, name);
  return { path, name, held, live: liveOf(held) };
}

/** The node of a name: possibly a tombstone. */
export function entryAt({ entries }: Directory, name: string): NodeView | undefined {
  const node = entries.get(name);
  return node === undefined ? undefined : viewOf(node);
}

/**
 * The time of a change: later than the node it replaces and not earlier than the directories above, whatever the clock
 * says.
 *
 * @param at current time of the clock
 * @param changed the node in the slot, tombstones included
 * @throws FUTURE_TIME if a time in the drive is the greatest possible; RangeError if `at` is not an integer
 */
export function stampFor({ directories }: TreePath, at: Utime, changed: NodeView | undefined): bigint {
  let stamp = BigInt(at);
  if (changed !== undefined) stamp = laterTime(stamp, changed.utime + 1n);
  for (const { utime } of directories) stamp = laterTime(stamp, utime);
  return checkStamp(stamp);
}

/** @throws FUTURE_TIME if the time is out of range */
export function checkStamp(stamp: bigint): bigint {
  if (stamp > LAST_TIME) throw driveError("FUTURE_TIME", "Cannot change the drive: its time is the last there is");
  return stamp;
}

/**
 * The root with a new node in the slot of a name in the last directory, and the time of the change on every directory
 * above.
 *
 * @param entry the name, and the node with the same time
 */
export function replaceAt(path: TreePath, entry: readonly [string, Node], stamp: bigint): Node {
  let [name, node] = entry;
  for (let depth = path.directories.length - 1; depth >= 0; depth -= 1) {
    const directory = path.directories[depth] ?? path.parent;
    node = directoryNode(directory.entries.with(name, node), stamp);
    name = path.names[depth - 1] ?? "";
  }
  return node;
}
