import { hashOf } from "../../../../src/drive/cad3/encoding/cell.js";
import type { Value } from "../../../../src/drive/cad3/value.js";
import type { NodeView } from "../../../../src/drive/dlfs/node.js";
import { dir, directoryOf, viewOf } from "../../../../src/drive/dlfs/node.js";

type Ties = "hash" | "own";
type Entries = [name: string, node: Value][];

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
  const all = new Map(own);
  for (const [name, node] of other) {
    const held = all.get(name);
    all.set(name, held === undefined ? node : plainMerge(held, node, ties));
  }
  return [...all];
}
