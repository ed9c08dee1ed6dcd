import fc from "fast-check";
import { hashOf } from "../../../../src/drive/cad3/encoding/cell.js";
import type { Value } from "../../../../src/drive/cad3/value.js";
import { applyOp, type TreeChange } from "../../../../src/drive/dlfs/apply-op.js";
import { checkNode } from "../../../../src/drive/dlfs/check-node.js";
import { createDrive, deleteDrive, isDeletedDrive } from "../../../../src/drive/dlfs/lifetime.js";
import { merge } from "../../../../src/drive/dlfs/merge.js";
import { directoryOf, viewOf } from "../../../../src/drive/dlfs/node.js";

/** One thing that happens to one of several copies of a drive. */
export type Step =
  | {
      readonly kind: "change";
      readonly who: number;
      readonly op: TreeChange["op"];
      readonly path: string;
      readonly text: string;
    }
  | { readonly kind: "life"; readonly who: number; readonly what: "create" | "delete" }
  /** A state that a copy had some steps ago reaches another one, late, twice or out of order. */
  | { readonly kind: "deliver"; readonly from: number; readonly to: number; readonly age: number }
  | { readonly kind: "wait"; readonly ms: number };

/** What happens to copies of a drive while they are apart, and the order in which they meet in the end. */
export interface Schedule {
  /** By how much the clock of each copy is wrong. */
  readonly skews: readonly number[];
  readonly steps: readonly Step[];
  readonly meetings: number;
}

const SHARED = "long names that share 32 bytes: ";
export const PLAIN_NAMES = ["a", "b", "é", "\u{1f600}"];
/** Of 1 to 255 bytes, which share their beginnings. */
export const LONG_NAMES = [
  "a",
  SHARED,
  `${SHARED}1`,
  SHARED.padEnd(137, "x"),
  SHARED.padEnd(200, "x"),
  SHARED.padEnd(255, "x"),
];

const who = fc.nat({ max: 4 });
const pathOf = (names: readonly string[]): fc.Arbitrary<string> =>
  fc.array(fc.constantFrom(...names), { minLength: 1, maxLength: 3 }).map((parts) => parts.join("/"));

function stepOf(names: readonly string[]): fc.Arbitrary<Step> {
  const change = fc.record({
    kind: fc.constant("change" as const),
    who,
    op: fc.constantFrom<TreeChange["op"]>("mkdir", "mkdir", "create", "write", "write", "append", "delete", "delete"),
    path: pathOf(names),
    text: fc.constantFrom("", "x", "y", "long content ".repeat(20)),
  });
  const deliver = fc.record({ kind: fc.constant("deliver" as const), from: who, to: who, age: fc.nat({ max: 6 }) });
  const wait = fc.record({ kind: fc.constant("wait" as const), ms: fc.integer({ min: 1, max: 9 }) });
  const life = fc.record({
    kind: fc.constant("life" as const),
    who,
    what: fc.constantFrom("create" as const, "delete" as const),
  });
  return fc.oneof(
    { weight: 12, arbitrary: change },
    { weight: 4, arbitrary: deliver },
    { weight: 3, arbitrary: wait },
    { weight: 1, arbitrary: life },
  );
}

/** Random schedules of 2 to 5 copies. @param names of which paths are made */
export const schedules = (names: readonly string[]): fc.Arbitrary<Schedule> =>
  fc.record({
    skews: fc.array(fc.integer({ min: -20, max: 20 }), { minLength: 2, maxLength: 5 }),
    steps: fc.array(stepOf(names), { minLength: 5, maxLength: 40, size: "max" }),
    meetings: fc.nat(),
  });

/** The copies as they are after the steps. */
function play({ skews, steps }: Schedule): Value[] {
  let now = 100;
  const histories = skews.map((): Value[] => [createDrive(null, { at: 0 })]);
  const historyOf = (copy: number): Value[] => histories[copy % histories.length] ?? [];
  for (const step of steps) {
    if (step.kind === "wait") now += step.ms;
    else if (step.kind === "deliver") deliver(historyOf(step.from), historyOf(step.to), step.age);
    else {
      const history = historyOf(step.who);
      const at = now + (skews[step.who % skews.length] ?? 0);
      const root = newest(history);
      history.push(step.kind === "life" ? live(root, step.what, at) : change(root, step, at));
    }
  }
  return histories.map(newest);
}

const newest = (history: readonly Value[]): Value => history.at(-1) ?? null;

function deliver(from: readonly Value[], to: Value[], age: number): void {
  to.push(merge(newest(to), from[Math.max(0, from.length - 1 - age)] ?? null));
}

function live(root: Value, what: "create" | "delete", at: number): Value {
  if (what === "create") return isDeletedDrive(root) ? createDrive(root, { at }) : root;
  return isDeletedDrive(root) ? root : deleteDrive(root, { at });
}

/** As a user of a drive does it: with the directories it takes, in a drive that is made again if it is deleted. */
function change(root: Value, { op, path, text }: Extract<Step, { kind: "change" }>, at: number): Value {
  const start = isDeletedDrive(root) ? createDrive(root, { at }) : root;
  const above = op === "delete" ? [] : path.split("/").slice(0, -1);
  const ready = above.reduce((before, _, place) => {
    const parent = above.slice(0, place + 1).join("/");
    return attempt(before, { op: "mkdir", path: parent, at });
  }, start);
  return attempt(ready, { op, path, data: Buffer.from(text), at });
}

/** What is refused changes nothing. */
function attempt(root: Value, wanted: TreeChange): Value {
  try {
    return applyOp(root, wanted);
  } catch (error) {
    if (typeof error === "object" && error !== null && "code" in error) return root;
    throw error;
  }
}

/** Rounds in which every copy meets every other. One is enough for nearly all. */
const MAX_ROUNDS = 6;

/** Plays a schedule. @throws Error when the copies do not come to one tree, or it is not one they should come to */
export function converges(schedule: Schedule): void {
  const copies = play(schedule);
  checkSettled(settle(copies, schedule.meetings), copies);
}

/** Lets every copy meet every other, in some order, until all are equal. @returns the tree that all have in the end */
function settle(copies: readonly Value[], meetings: number): Value {
  const roots = [...copies];
  const pairs = shuffled(
    roots.flatMap((_, to) => roots.map((_, from) => [from, to] as const)),
    meetings,
  );
  for (let round = 0; round <= MAX_ROUNDS; round += 1) {
    if (new Set(roots.map(hashOf)).size === 1) return roots[0] ?? null;
    for (const [from, to] of pairs) roots[to] = merge(roots[to] ?? null, roots[from] ?? null);
  }
  throw new Error(`The copies still differ after ${MAX_ROUNDS} rounds`);
}

/** In an order that a number says. */
function shuffled<T>(items: readonly T[], seed: number): T[] {
  const rest = [...items];
  let state = BigInt(seed);
  return items.flatMap(() => {
    state = BigInt.asUintN(31, state * 1103515245n + 12345n);
    return rest.splice(Number(state >> 8n) % rest.length, 1);
  });
}

/** What must hold of the tree that copies end in. */
function checkSettled(root: Value, copies: readonly Value[]): void {
  checkNode(root);
  const { utime } = viewOf(root);
  const latest = copies.map((copy) => viewOf(copy).utime).reduce((one, two) => (one > two ? one : two));
  if (utime !== latest) throw new Error("The time of the root is not that of the latest copy");
  // What a deletion of the whole drive met is gone.
  if (copies.some(isDeletedDrive)) return;
  const { entries } = directoryOf(root);
  for (const copy of copies) {
    for (const [name] of directoryOf(copy).entries) {
      if (entries.entry(name) === undefined) throw new Error("A merge has removed an entry");
    }
  }
}
