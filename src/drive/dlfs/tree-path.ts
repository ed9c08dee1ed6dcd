import { escapeText } from "../../core/errors/texts.js";
import type { IndexEntry } from "../cad3/maps/index-node.js";
import type { Value } from "../cad3/value.js";
import { driveError } from "../error.js";
import {
  type Directory,
  directoryNode,
  directoryOf,
  later,
  type Node,
  type NodeView,
  type Utime,
  viewOf,
} from "./node.js";
import { LAST_TIME } from "./tree-limits.js";

/** The directories from the root down to the one in which something is done, and the names that lead from each to the next. */
export interface TreePath {
  /** At least the root. */
  readonly directories: readonly Directory[];
  /** One fewer. */
  readonly names: readonly string[];
  readonly parent: Directory;
}

/**
 * Goes down from a root.
 *
 * @param names of directories, one in the other
 * @throws NOT_FOUND, NOT_A_DIRECTORY, BAD_FORMAT, MISSING_CELL
 */
export function walk(root: Value, names: readonly string[]): TreePath {
  let parent = directoryOf(root);
  const directories = [parent];
  for (const [depth, name] of names.entries()) {
    const value = parent.entries.get(name);
    const view = value === undefined ? undefined : viewOf(value);
    const here = names.slice(0, depth + 1).join("/");
    if (view === undefined || view.kind === "tombstone") throw notFound(here);
    if (view.kind === "file") throw driveError("NOT_A_DIRECTORY", `Not a directory: ${escapeText(here)}`);
    parent = view;
    directories.push(view);
  }
  return { directories, names, parent };
}

/** Who has the slot of a name in a directory: maybe a tombstone, maybe under another name. */
export interface Holder {
  /** The name in full. */
  readonly name: IndexEntry["key"];
  readonly node: NodeView;
}

export function holderOf({ entries }: Directory, name: string): Holder | undefined {
  const entry = entries.holder(name);
  return entry === undefined ? undefined : { name: entry.key, node: viewOf(entry.value) };
}

/**
 * The time of a change: later than what it changes, and no earlier than the directories above, whatever the clock says.
 *
 * @param at what the clock says
 * @param changed what holds the slot, a tombstone too
 * @throws FUTURE_TIME when a stamp of the drive is the greatest there is; RangeError when `at` is no integer
 */
export function stampFor({ directories }: TreePath, at: Utime, changed: NodeView | undefined): bigint {
  let stamp = BigInt(at);
  if (changed !== undefined) stamp = later(stamp, changed.utime + 1n);
  for (const { utime } of directories) stamp = later(stamp, utime);
  return checkStamp(stamp);
}

/** @throws FUTURE_TIME when it is later than a time can be */
export function checkStamp(stamp: bigint): bigint {
  if (stamp > LAST_TIME) throw driveError("FUTURE_TIME", "Cannot change the drive: its time is the last there is");
  return stamp;
}

/**
 * The root with a node in the slot of a name in the last directory, and the stamp on every directory above it.
 *
 * @param entry the name, and the node with the same stamp
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

export const notFound = (path: string): Error => driveError("NOT_FOUND", `Not found: ${escapeText(path)}`);
