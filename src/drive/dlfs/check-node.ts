// Validation of drive trees received from elsewhere.

import { encode, fold } from "../cad3/encoding/cell.js";
import { claimedSize } from "../cad3/encoding/parsed.js";
import { checkLimit, DEFAULT_CELL_LIMITS } from "../cad3/limits.js";
import type { IndexKey } from "../cad3/maps/index-key.js";
import type { Value } from "../cad3/value.js";
import { driveError } from "../error.js";
import { isDeletedDrive } from "./lifetime.js";
import { DEFAULT_TREE_LIMITS, DELETED_MARK, invalidPath, LAST_TIME, nameFault, type TreeLimits } from "./name.js";
import { type Directory, type FileNode, type NodeView, notANode, type Utime, viewOf } from "./node.js";

/** Limits on a tree received from elsewhere. */
export interface NodeLimits extends TreeLimits {
  /** Maximum entries of all directories; a shared directory counts each time. */
  readonly maxImportEntries: number;
  /** Maximum bytes of all files, by their encoded lengths; a shared file counts each time. */
  readonly maxImportLogicalBytes: number;
  /** Latest time that a node may have, apart from `futureSkewMs`. A time in the future would win every merge. */
  readonly latestUtime: Utime;
  /** How much later than that times may be, in ms. */
  readonly futureSkewMs: number;
}

const DEFAULT_NODE_LIMITS: NodeLimits = {
  ...DEFAULT_TREE_LIMITS,
  maxImportEntries: DEFAULT_CELL_LIMITS.maxImportEntries,
  maxImportLogicalBytes: DEFAULT_CELL_LIMITS.maxImportLogicalBytes,
  latestUtime: LAST_TIME,
  futureSkewMs: 0,
};

/** Totals of a node and everything below it. */
export interface Extent {
  readonly entries: number;
  readonly bytes: number;
  /** Number of names in the longest path from here. */
  readonly height: number;
}

export const NOTHING: Extent = { entries: 0, bytes: 0, height: 0 };

/**
 * Validates a tree received from elsewhere, deeply; a shared directory is traversed once. Checks on single cells have
 * already been done by decoding.
 *
 * @param root must be a directory, or what stands for a deleted drive
 * @throws BAD_FORMAT, MISSING_CELL, INVALID_PATH for a name, FUTURE_TIME, TOO_LARGE for one file, LIMIT
 */
export function checkNode(root: Value, limits: Partial<NodeLimits> = {}): void {
  const all = { ...DEFAULT_NODE_LIMITS, ...limits };
  isDeletedDrive(root);
  let visited = 0;
  fold<Extent>(root, {
    parts(node) {
      const view = viewOf(node);
      if (view.kind !== "directory") return undefined;
      checkLimit(view.entries.size, all.maxEntries, "entries in a directory");
      return nodesIn(view);
    },
    known: () => undefined,
    make(node, extentOf) {
      const view = viewOf(node);
      checkTime(view, all);
      if (view.kind !== "directory") return view.kind === "file" ? { ...NOTHING, bytes: sizeOf(view, all) } : NOTHING;
      // Checked before shared directories are multiplied out, which can give very large counts.
      visited += view.entries.size;
      checkLimit(visited, all.maxImportEntries, "entries");
      checkNames(view, node === root);
      return checkExtent(sum(view, extentOf), all);
    },
  });
}

function* nodesIn({ entries }: Directory): Generator<Value> {
  for (const [, node] of entries) yield node;
}

function checkNames({ entries }: Directory, isRoot: boolean): void {
  for (const [key, node] of entries) if (!(isRoot && isMark(key, node))) checkName(key);
}

/** The one entry with an invalid name: it marks the root of a deleted drive. */
const isMark = (key: IndexKey, node: Value): boolean => key === DELETED_MARK && viewOf(node).kind === "tombstone";

/** @throws BAD_FORMAT, INVALID_PATH */
export function checkName(key: IndexKey): void {
  if (typeof key !== "string") throw notANode("names are strings");
  const fault = nameFault(key);
  if (fault !== undefined) throw invalidPath(key, fault);
}

/** @throws BAD_FORMAT, FUTURE_TIME */
export function checkTime({ utime }: Pick<NodeView, "utime">, { latestUtime, futureSkewMs }: NodeLimits): void {
  if (utime < 0n || utime > LAST_TIME) throw notANode("a time is from 0 to 2^63 - 1");
  const ahead = utime - BigInt(latestUtime);
  if (ahead <= futureSkewMs) return;
  const [seconds, allowed] = [(ahead + 999n) / 1000n, futureSkewMs / 1000];
  throw driveError(
    "FUTURE_TIME",
    `The drive holds a time that lies ${seconds} s in the future; ${allowed} s are allowed`,
  );
}

function sizeOf({ data }: FileNode, limits: NodeLimits): number {
  const size = data instanceof Uint8Array ? data.length : claimedSize(encode(data));
  if (size === undefined) throw notANode("the data of a file is a blob");
  checkFileSize(size, limits);
  return size;
}

/** @throws TOO_LARGE */
export function checkFileSize(size: number, { maxFileBytes }: Pick<NodeLimits, "maxFileBytes">): void {
  if (size > maxFileBytes) throw driveError("TOO_LARGE", `File too large: ${size} bytes, limit ${maxFileBytes}`);
}

function sum({ entries }: Directory, extentOf: (node: Value) => Extent): Extent {
  let { bytes, height } = NOTHING;
  let count = entries.size;
  for (const [, node] of entries) {
    const below = extentOf(node);
    bytes += below.bytes;
    count += below.entries;
    height = Math.max(height, below.height + 1);
  }
  return { entries: count, bytes, height };
}

/** @throws LIMIT */
export function checkExtent(
  extent: Extent,
  { maxPathDepth, maxImportEntries, maxImportLogicalBytes }: NodeLimits,
): Extent {
  checkLimit(extent.height, maxPathDepth, "names in a path");
  checkLimit(extent.entries, maxImportEntries, "entries");
  checkLimit(extent.bytes, maxImportLogicalBytes, "bytes in files");
  return extent;
}
