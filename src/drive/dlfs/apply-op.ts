// Applies one local change to a drive's tree (DLFS).

import { escapeText } from "../../core/errors/texts.js";
import type { Value } from "../cad3/value.js";
import { alreadyExists, driveError, isADirectory, notEmpty, notFound } from "../error.js";
import { DEFAULT_TREE_LIMITS, invalidPath, parseNames, type TreeLimits } from "./name.js";
import {
  contentOf,
  type Directory,
  dir,
  type FileNode,
  file,
  type Node,
  tombstone,
  type Utime,
  viewOf,
} from "./node.js";
import { replaceAt, type Slot, slotAt, stampFor } from "./tree-path.js";

/** One change to a tree. */
export interface TreeChange {
  readonly op: "mkdir" | "create" | "write" | "append" | "delete";
  /** Names separated by `/`. */
  readonly path: string;
  /** Content for `create`, `write` and `append`; default empty. Not copied: callers must not change it afterwards. */
  readonly data?: Uint8Array | undefined;
  /** Current time of the clock. */
  readonly at: Utime;
  readonly limits?: Partial<TreeLimits> | undefined;
}

const NO_BYTES = new Uint8Array();

/**
 * The tree after one change: a new node in the slot of the path, with the time of the change on it and on every
 * directory above. A failed change has no effect.
 *
 * @param root of the drive, a directory; not modified
 * @throws INVALID_PATH, NOT_FOUND, NOT_A_DIRECTORY, EXISTS, IS_A_DIRECTORY, NOT_EMPTY
 * @throws TOO_LARGE for the file, LIMIT for the directory, FUTURE_TIME if the tree's times leave no later one
 * @throws BAD_FORMAT, MISSING_CELL if this is not a tree; RangeError if `at` is not an integer
 */
export function applyOp(root: Value, change: TreeChange): Node {
  const limits = { ...DEFAULT_TREE_LIMITS, ...change.limits };
  const names = parseNames(change.path, limits.maxPathDepth);
  if (names.length === 0) throw rootFault(change);
  const slot = slotAt(root, names);
  const { path, name, held } = slot;
  const make = change.op === "delete" ? deletion(change, slot) : addition(change, slot, limits);
  const stamp = stampFor(path, change.at, held);
  return replaceAt(path, [name, make(stamp)], stamp);
}

function rootFault({ op, path }: TreeChange): Error {
  if (op === "delete") return invalidPath(path, "the root cannot be deleted");
  return op === "mkdir" || op === "create" ? alreadyExists(path) : isADirectory(path);
}

function deletion({ path }: TreeChange, { live }: Slot): (stamp: bigint) => Node {
  if (live === undefined) throw notFound(path);
  if (live.kind === "directory" && hasLiveEntry(live)) throw notEmpty(path);
  return tombstone;
}

/** Tombstones do not keep a directory from being deleted; they are dropped with it. */
function hasLiveEntry({ entries }: Directory): boolean {
  for (const [, node] of entries) if (viewOf(node).kind !== "tombstone") return true;
  return false;
}

function addition(change: TreeChange, slot: Slot, limits: TreeLimits): (stamp: bigint) => Node {
  const { op, path } = change;
  if (op === "mkdir" || op === "create") {
    if (slot.live !== undefined) throw alreadyExists(path);
  } else if (slot.live?.kind === "directory") {
    throw isADirectory(path);
  }
  if (slot.held === undefined && slot.path.parent.entries.size >= limits.maxEntries) {
    throw driveError("LIMIT", `Too many entries in a directory: limit ${limits.maxEntries}`);
  }
  if (op === "mkdir") return (stamp) => dir([], stamp);
  const before = op === "append" && slot.live?.kind === "file" ? slot.live : undefined;
  const content = appendedContent(change, before, limits);
  return (stamp) => file(content, stamp);
}

function appendedContent(
  { path, data = NO_BYTES }: TreeChange,
  before: FileNode | undefined,
  limits: TreeLimits,
): Uint8Array {
  const start = before === undefined ? NO_BYTES : contentOf(before);
  const size = start.length + data.length;
  if (size > limits.maxFileBytes) {
    throw driveError("TOO_LARGE", `File too large: ${size} bytes, limit ${limits.maxFileBytes}: ${escapeText(path)}`);
  }
  return start.length === 0 ? data : Buffer.concat([start, data], size);
}
