import { hashOf } from "../../../../src/drive/cad3/encoding/cell.js";
import type { Value } from "../../../../src/drive/cad3/value.js";
import { compareNames } from "../../../../src/drive/dlfs/name.js";
import type { NodeView } from "../../../../src/drive/dlfs/node.js";
import { dir, directoryOf, viewOf } from "../../../../src/drive/dlfs/node.js";

type Ties = "hash" | "own";
type Entries = [name: string, node: Value][];

const HEX_SLOT = 64;
const slotOf = (name: string): string => Buffer.from(name).toString("hex").slice(0, HEX_SLOT);
const live = (node: Value): number => (viewOf(node).kind === "tombstone" ? 0 : 1);
const time = (node: Value): bigint => viewOf(node).utime;
const entriesOf = (node: Value): Entries =>
  [...directoryOf(node).entries].map(([name, value]) => [String(name), value]);

/** A merge as the specification tells it, step by step and entry by entry, to compare the quick one with. */
export function plainMerge(a: Value, b: Value, ties: Ties): Value {
  if (hashOf(a) === hashOf(b)) return a;
  const [one, two] = [viewOf(a), viewOf(b)];
  if (one.kind !== "directory" || two.kind !== "directory" || sameEntries(one, two)) return later(a, b, ties);
  const entries = mergeEntries(entriesOf(a), entriesOf(b), ties);
  const merged = dir(entries, one.utime > two.utime ? one.utime : two.utime);
  const dominates = sameEntries(viewOf(merged), one) && one.utime >= two.utime;
  return ties === "own" && dominates ? a : merged;
}

const sameEntries = (one: NodeView, other: NodeView): boolean =>
  one.kind === "directory" && other.kind === "directory" && hashOf(one.entries) === hashOf(other.entries);

function later(a: Value, b: Value, ties: Ties): Value {
  if (time(a) !== time(b)) return time(a) > time(b) ? a : b;
  if (ties === "own") return a;
  if (live(a) !== live(b)) return live(a) > live(b) ? a : b;
  return hashOf(a) > hashOf(b) ? a : b;
}

function mergeEntries(own: Entries, other: Entries, ties: Ties): Entries {
  const slots = new Map(own.map((entry) => [slotOf(entry[0]), entry]));
  const lost: Entries = [];
  for (const [name, node] of other) {
    const [heldName, held] = slots.get(slotOf(name)) ?? [name, undefined];
    if (held === undefined) slots.set(slotOf(name), [name, node]);
    else if (heldName === name || ties === "own") slots.set(slotOf(name), [heldName, plainMerge(held, node, ties)]);
    else {
      const otherWins = prefers([name, node], [heldName, held]);
      slots.set(slotOf(name), otherWins ? [name, node] : [heldName, held]);
      lost.push(otherWins ? [heldName, held] : [name, node]);
    }
  }
  const moved = lost
    .filter(([, node]) => live(node))
    .map(([name, node]): [string, Value] => [`~${hashOf(node).slice(0, 8)}~${name}`, node]);
  for (const [name, node] of moved.toSorted(
    ([x, m], [y, n]) => compareNames(x, y) || (hashOf(m) > hashOf(n) ? 1 : -1),
  )) {
    const [heldName, held] = slots.get(slotOf(name)) ?? [name, undefined];
    const kept = held === undefined || prefers([name, node], [heldName, held]) ? name : heldName;
    slots.set(slotOf(name), [kept, held === undefined ? node : plainMerge(held, node, ties)]);
  }
  return [...slots.values()];
}

/** Whether an entry keeps a slot that another name wants too. */
function prefers([name, node]: [string, Value], [otherName, other]: [string, Value]): boolean {
  if (time(node) !== time(other)) return time(node) > time(other);
  if (live(node) !== live(other)) return live(node) > live(other);
  return compareNames(name, otherName) > 0;
}
