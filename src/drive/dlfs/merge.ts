// Merge of two copies of a drive's tree: the later change wins for each entry, with the same result on both sides.

import { cellOf, isSameValue } from "../cad3/encoding/cell.js";
import { sameKey } from "../cad3/maps/index-key.js";
import type { IndexEntry } from "../cad3/maps/index-node.js";
import { type Both, unite } from "../cad3/maps/index-union.js";
import { hashOfRef, sameBytes } from "../cad3/ref.js";
import type { Value } from "../cad3/value.js";
import { runSteps, STEP, type Steps, stepOf } from "../steps.js";
import {
  type Directory,
  directoryNode,
  directoryOf,
  fileNode,
  laterTime,
  type NodeView,
  notANode,
  viewOf,
} from "./node.js";

/** Options of a merge. */
export interface MergeOptions {
  /**
   * Winner of two nodes with equal times. `hash` (default): the live one, then the one with the greater hash, so
   * that both sides agree. `own`: ours, as in the reference implementation.
   */
  readonly ties?: "hash" | "own" | undefined;
  /**
   * `parent-time`: of two files with equal times and different data, the one in the later directory wins. For data of
   * the reference implementation, where an overwrite updates the times of the directories but not of the file.
   */
  readonly importRule?: "parent-time" | undefined;
}

export interface MergeStepsOptions extends MergeOptions, Pick<Both, "settle"> {}

interface Side {
  readonly node: Value;
  readonly ref: Uint8Array;
}

interface ViewedSide extends Side {
  readonly view: NodeView;
}

interface Task {
  readonly ties: "hash" | "own";
  readonly parentTime: boolean;
  readonly settle: Both["settle"];
  /** Merged directories by their Refs: a directory that occurs repeatedly is merged once. */
  readonly done: Map<string, Side>;
  /** Directories that must be merged before the current one. */
  readonly waiting: SidePair[];
}

interface SidePair {
  readonly own: Side;
  readonly other: Side;
}

interface DirectoryPair {
  readonly own: Directory;
  readonly other: Directory;
  readonly task: Task;
}

/**
 * Merges two copies of a tree: directories by their entries, everything else by the later time. Reads only what differs
 * between the two.
 *
 * @param a our own copy, with the newest local changes
 * @param b the other copy
 * @returns `a` itself if `b` has nothing new
 * @throws BAD_FORMAT, MISSING_CELL
 */
export const merge = (a: Value, b: Value, options: MergeOptions = {}): Value => runSteps(mergeSteps(a, b, options));

/** Like {@link merge}, as steps: callers can yield to other work between them and fetch the cells they need. */
export function* mergeSteps(a: Value, b: Value, options: MergeStepsOptions = {}): Steps<Value> {
  const { ties = "hash", importRule, settle } = options;
  const task: Task = { ties, parentTime: importRule === "parent-time", settle, done: new Map(), waiting: [] };
  const [own, other] = [
    { node: a, ref: cellOf(a).ref },
    { node: b, ref: cellOf(b).ref },
  ];
  const merged = yield* stepOf(() => mergeSides(own, other, task, true));
  yield* mergeWaiting(task);
  return (task.done.get(keyOf(own, other)) ?? merged).node;
}

/**
 * Merges the waiting directories, dependencies first. Iterative, because directories can nest deeper than the call
 * stack. A directory that finds unmerged dependencies is restarted after them.
 */
function* mergeWaiting({ waiting: stack, ...task }: Task): Steps<void> {
  for (let pair = stack.at(-1); pair !== undefined; pair = stack.at(-1)) {
    const waiting: SidePair[] = [];
    const key = keyOf(pair.own, pair.other);
    const merged = task.done.get(key) ?? (yield* mergeDirectories(pair, { ...task, waiting }));
    if (waiting.length === 0) {
      task.done.set(key, merged);
      stack.pop();
    }
    for (const below of waiting) stack.push(below);
    yield STEP;
  }
}

/**
 * The merge of two nodes; our own node for now if it depends on directories still waiting.
 * @param isRoot whether a file stands for a deleted drive
 */
function mergeSides(own: Side, other: Side, task: Task, isRoot = false): Side {
  if (sameBytes(own.ref, other.ref)) return own;
  const [ownView, otherView] = [viewOf(own.node), viewOf(other.node)];
  if (
    ownView.kind !== "directory" ||
    otherView.kind !== "directory" ||
    isSameValue(ownView.entries, otherView.entries)
  ) {
    const sides = [
      { ...own, view: ownView },
      { ...other, view: otherView },
    ] as const;
    const rank = task.ties === "own" ? compareTimes(ownView, otherView) : rankOf(...sides, isRoot);
    return rank >= 0 ? own : other;
  }
  const merged = task.done.get(keyOf(own, other));
  if (merged === undefined) task.waiting.push({ own, other });
  return merged ?? own;
}

/** Refs are self-delimiting, so their concatenation is unambiguous. */
const keyOf = (own: Side, other: Side): string => Buffer.concat([own.ref, other.ref]).toString("latin1");

const compareTimes = (one: NodeView, other: NodeView): number =>
  one.utime === other.utime ? 0 : one.utime > other.utime ? 1 : -1;

/**
 * Order of preference between two nodes, the same on both sides: by time, then live before deleted, then by hash; 0 only for
 * equal nodes.
 */
const rankOf = (one: ViewedSide, other: ViewedSide, isRoot: boolean): number =>
  compareTimes(one.view, other.view) ||
  Number(isLive(one.view, isRoot)) - Number(isLive(other.view, isRoot)) ||
  Buffer.compare(hashOfRef(one.ref), hashOfRef(other.ref));

const isLive = ({ kind }: NodeView, isRoot: boolean): boolean => kind === "directory" || (kind === "file" && !isRoot);

function* mergeDirectories({ own: side, other: otherSide }: SidePair, task: Task): Steps<Side> {
  const own = yield* stepOf(() => directoryOf(side.node));
  const other = yield* stepOf(() => directoryOf(otherSide.node));
  const pair: DirectoryPair = { own, other, task };
  const entries = yield* unite(own.entries, other.entries, {
    both: (one, two) => stepOf(() => mergeEntries(one, two, pair)),
    isKept: () => task.waiting.length === 0,
    settle: task.settle,
  });
  if (task.waiting.length > 0) return side;
  const dominates = own.utime >= other.utime && isSameValue(entries, own.entries);
  // Keeps the node itself, and with it any metadata.
  if (task.ties === "own" && dominates) return side;
  const node = directoryNode(entries, laterTime(own.utime, other.utime));
  const { ref } = cellOf(node);
  return sameBytes(ref, side.ref) ? side : { node, ref };
}

function mergeEntries(own: IndexEntry, other: IndexEntry, pair: DirectoryPair): IndexEntry {
  const [ownSide, otherSide] = [sideOf(own), sideOf(other)];
  if (!sameKey(own.key, other.key)) throw notANode("names are strings of at most 255 bytes");
  const guessed = pair.task.parentTime ? byParentTime(ownSide, otherSide, pair) : undefined;
  const merged = guessed ?? mergeSides(ownSide, otherSide, pair.task);
  if (sameBytes(merged.ref, ownSide.ref)) return own;
  const { key, slot, keyRef } = own;
  return { key, slot, keyRef, value: merged.node, valueRef: merged.ref };
}

const sideOf = ({ value, valueRef }: IndexEntry): Side => ({ node: value, ref: valueRef ?? cellOf(value).ref });

/** Chooses an entry by the times of the directories instead of the files'. */
function byParentTime(own: Side, other: Side, pair: DirectoryPair): Side | undefined {
  if (pair.own.utime === pair.other.utime || sameBytes(own.ref, other.ref)) return undefined;
  const [one, two] = [viewOf(own.node), viewOf(other.node)];
  if (one.kind !== "file" || two.kind !== "file" || one.utime !== two.utime || isSameValue(one.data, two.data)) {
    return undefined;
  }
  const ownIsLater = pair.own.utime > pair.other.utime;
  const { data, metadata } = ownIsLater ? one : two;
  const node = fileNode(data, laterTime(pair.own.utime, pair.other.utime), metadata);
  return { node, ref: cellOf(node).ref };
}
