// Compares two trees of a drive by their content, and gives one the content of the other. Times do not count.

import { cellOf, isSameValue } from "../../cad3/encoding/cell.js";
import { sharedDigits } from "../../cad3/maps/index-key.js";
import { type CadIndex, index } from "../../cad3/maps/index-map.js";
import { childAt, type IndexChild, type IndexEntry, type IndexNode, nodeOf } from "../../cad3/maps/index-node.js";
import { anySlot, areEqual, DIGITS, isSame, raise, wantedOf } from "../../cad3/maps/index-union.js";
import type { Value } from "../../cad3/value.js";
import {
  type Directory,
  directoryNode,
  directoryOf,
  type LiveView,
  laterTime,
  liveOf,
  type Node,
  type NodeView,
  tombstone,
  viewOf,
} from "../../dlfs/node.js";
import { checkStamp } from "../../dlfs/tree-path.js";
import { type Steps, stepOf } from "../../steps.js";
import { createTurn } from "../../turn.js";
import type { CellScope } from "../cells.js";
import { nodeWith } from "./slot.js";

/** An entry in which two trees differ. A directory that only one of them has is one difference. */
export interface Difference {
  readonly path: readonly string[];
  readonly before: LiveView | undefined;
  readonly after: LiveView | undefined;
}

interface Comparing {
  readonly scope: CellScope;
  /** Begins every path. */
  readonly path: readonly string[];
  /** Whether to go on. */
  differs(difference: Difference): boolean;
  /** Compares directories that only one side has with empty ones. */
  readonly isDeep?: boolean;
}

const NOTHING = index([]);

/** Reads only what differs. @param before nodes of the trees; `undefined`: there is none */
export async function compareTrees(before: Value | undefined, after: Value | undefined, how: Comparing): Promise<void> {
  const { scope, differs, isDeep = false } = how;
  const waiting = [{ path: how.path, before: await viewIn(before, scope), after: await viewIn(after, scope) }];
  for (let pair = waiting.pop(); pair !== undefined; pair = waiting.pop()) {
    const { path } = pair;
    const [one, other] = [liveOf(pair.before), liveOf(pair.after)];
    if (one === undefined && other === undefined) continue;
    if (one?.kind === "file" && other?.kind === "file" && isSameValue(one.data, other.data)) continue;
    const areBoth = one?.kind === "directory" && other?.kind === "directory";
    if (!areBoth && !differs({ path, before: one, after: other })) return;
    if (!areBoth && !isDeep) continue;
    const [own = NOTHING, others = NOTHING] = [one, other].map((view) =>
      view?.kind === "directory" ? view.entries : NOTHING,
    );
    const pairs = await differing(own, others, scope);
    const turn = createTurn();
    for (const [own, other] of pairs.reverse()) {
      const name = String((own ?? other)?.key);
      waiting.push({
        path: [...path, name],
        before: await viewIn(own?.value, scope),
        after: await viewIn(other?.value, scope),
      });
      await turn();
    }
  }
}

type Pair = readonly [own: IndexEntry | undefined, other: IndexEntry | undefined];

/** The slots in which two indexes differ, in the order of the keys. */
async function differing(own: CadIndex, other: CadIndex, scope: CellScope): Promise<Pair[]> {
  const pairs: Pair[] = [];
  await scope.runSteps(differencesOf(own, other, (...both) => pairs.push(both)));
  return pairs;
}

/** All entries of an index, with its nodes fetched together. */
export const entriesOf = async (index: CadIndex, scope: CellScope): Promise<IndexEntry[]> =>
  (await differing(NOTHING, index, scope)).flatMap(([, entry]) => entry ?? []);

const viewIn = async (node: Value | undefined, scope: CellScope): Promise<NodeView | undefined> =>
  node === undefined ? undefined : scope.run(() => viewOf(node));

/**
 * A root with the content of another. All nodes that differ get one new time, later than those they replace.
 *
 * @param at clock time in ms since the epoch @throws FUTURE_TIME, MISSING_CELL
 */
export async function withContentOf(
  now: Value,
  then: Value,
  { scope, at }: { scope: CellScope; at: number },
): Promise<Node> {
  const [root, former] = [await scope.run(() => directoryOf(now)), await scope.run(() => directoryOf(then))];
  let stamp = laterTime(BigInt(at), root.utime + 1n);
  for (;;) {
    const turning: Turning = { scope, stamp: checkStamp(stamp), latest: 0n };
    const made = await turnedTo(root, former, turning);
    // In trees of others, an entry can be later than its directory.
    if (turning.latest < stamp) return made ?? directoryNode(root.entries, stamp);
    stamp = turning.latest + 1n;
  }
}

interface Turning {
  readonly scope: CellScope;
  readonly stamp: bigint;
  /** Latest time of the replaced nodes. */
  latest: bigint;
}

/** @returns `undefined` if nothing differs */
async function turnedTo(now: Directory, then: Directory, turning: Turning): Promise<Node | undefined> {
  const { scope, stamp } = turning;
  const pairs = await differing(then.entries, now.entries, scope);
  let { entries } = now;
  const turn = createTurn();
  for (const [own, other] of pairs) {
    const [before, after] = [await viewIn(own?.value, scope), await viewIn(other?.value, scope)];
    const node = await nodeFor(before, after, turning);
    if (node === undefined) continue;
    turning.latest = laterTime(turning.latest, after?.utime ?? 0n);
    const key = own?.key ?? other?.key;
    if (key !== undefined) entries = await scope.run(() => entries.with(key, node));
    await turn();
  }
  return entries === now.entries ? undefined : directoryNode(entries, stamp);
}

/** The new node of the slot; `undefined`: the slot stays as it is. */
async function nodeFor(
  before: NodeView | undefined,
  after: NodeView | undefined,
  turning: Turning,
): Promise<Node | undefined> {
  const [then, now] = [liveOf(before), liveOf(after)];
  if (then === undefined) return now === undefined ? undefined : tombstone(turning.stamp);
  if (then.kind === "directory" && now?.kind === "directory") return turnedTo(now, then, turning);
  if (then.kind === "file" && now?.kind === "file" && isSameValue(then.data, now.data)) return undefined;
  return nodeWith(then, turning.stamp);
}

// Finds the slots in which two indexes differ, without reading what is equal.

/** Told of each slot that differs, in the order of the keys. */
type Differing = (own: IndexEntry | undefined, other: IndexEntry | undefined) => void;

/** Compares two indexes. Descends only where Refs differ. One step compares two nodes. */
export function* differencesOf(own: CadIndex, other: CadIndex, differs: Differing): Steps<void> {
  // Encoded first, so that every node below has a Ref.
  cellOf(own);
  cellOf(other);
  if (own.root !== undefined || other.root !== undefined) yield* compare(own.root, other.root, differs);
}

/** At least one of the two is there. */
function* compare(own: IndexChild | undefined, other: IndexChild | undefined, differs: Differing): Steps<void> {
  if (own !== undefined && other !== undefined && isSame(own, other)) return;
  const before = own === undefined ? undefined : yield* stepOf(() => nodeOf(own));
  const after = other === undefined ? undefined : yield* stepOf(() => nodeOf(other));
  if (before === undefined || after === undefined) return yield* compareNodes(before, after, differs);
  const beforeSlot = yield* stepOf(() => anySlot(before));
  const afterSlot = yield* stepOf(() => anySlot(after));
  const depth = sharedDigits(beforeSlot, afterSlot, Math.min(before.depth, after.depth));
  yield* compareNodes(raise(before, depth, beforeSlot), raise(after, depth, afterSlot), differs);
}

/** Nodes of equal depth whose keys share all digits up to it. */
function* compareNodes(own: IndexNode | undefined, other: IndexNode | undefined, differs: Differing): Steps<void> {
  const pairs = Array.from({ length: DIGITS }, (_, digit) => ({
    own: own && childAt(own, digit),
    other: other && childAt(other, digit),
  })).filter((pair) => pair.own !== undefined || pair.other !== undefined);
  const changed = pairs.filter(
    (pair) => pair.own === undefined || pair.other === undefined || !isSame(pair.own, pair.other),
  );
  yield { wanted: wantedOf(changed) };
  const [before, after] = [own?.own, other?.own];
  const isEqual = areEqual(before?.valueRef, after?.valueRef) && areEqual(before?.keyRef, after?.keyRef);
  if ((before !== undefined || after !== undefined) && !isEqual) differs(before, after);
  for (const pair of changed) yield* compare(pair.own, pair.other, differs);
}
