import { expect, test } from "@jest/globals";
import { encode } from "../../../../src/drive/cad3/encoding/cell.js";
import { toMultiCell } from "../../../../src/drive/cad3/encoding/multi-cell.js";
import { refOf, sha3 } from "../../../../src/drive/cad3/ref.js";
import type { Value } from "../../../../src/drive/cad3/value.js";
import { merge, mergeSteps } from "../../../../src/drive/dlfs/merge.js";
import { dir, file, type Node } from "../../../../src/drive/dlfs/node.js";
import { createCellPool, createScope } from "../../../../src/drive/engine/cells.js";
import type { Steps } from "../../../../src/drive/steps.js";
import { createMemoryStore } from "../../../../src/drive/store/memory.js";
import { ALICE, openEngine, type Tap, type TestEngine, tapped } from "../engines.js";
import { cellsOf } from "./import-cells.js";

test("an import that has all its bytes at hand lets others run while it takes in cells", async () => {
  const bytes = toMultiCell(flat("file", 5000));
  let turns = 0;
  let turnsAtEnd: number | undefined;
  const turn = (): void => {
    turns++;
    if (turnsAtEnd === undefined) setImmediate(turn);
  };
  async function* whole(): AsyncGenerator<Uint8Array> {
    yield bytes;
    // Asked for more: all cells have been taken in.
    turnsAtEnd = turns;
  }
  setImmediate(turn);
  const { cells } = await openEngine().owner(ALICE).importDrive([whole()], { drive: "d" });
  expect(cells).toBeGreaterThan(5000);
  expect(turnsAtEnd).toBeGreaterThanOrEqual(Math.floor(cells / 64) - 1);
});

/** @param side ends the names, so that two trees have no entry in common, and their entries lie between each other */
function flat(side: string, entries: number): Node {
  const names = Array.from({ length: entries }, (_, place) => `${place}-${side}`);
  return dir(
    names.map((name) => [name, file(Buffer.from(name.repeat(20)), 5)]),
    5,
  );
}

/** Directories that are in both trees, with other entries in each. */
const nested = (side: string, entries: number): Node =>
  dir(
    Array.from({ length: 20 }, (_, place) => [`d-${place}`, flat(`${side}${place}`, entries / 20)]),
    5,
  );

/** Names that share 32 bytes and more, and a root that is a cell of its own. */
const alike = (side: string, entries: number): Node =>
  dir(
    Array.from({ length: entries }, (_, place) => [
      `${String(place).padStart(32, "0")}-${side}`,
      file(Buffer.from(`${side}-${place}`.repeat(20)), 5),
    ]),
    5,
  );

/** In a turn 16 steps are done, of which each may ask for the children of two nodes. */
const MAX_CELLS_PER_TURN = 16 * 33;

/** Counts the cells that are read and put between two turns. */
function watchTurns(tap: Tap): { most: number; stop(): void } {
  const watch = { most: 0, isOn: true, stop: (): boolean => (watch.isOn = false) };
  const count = (): number => tap.gets.length + tap.puts.length;
  let before = count();
  const turn = (): void => {
    const cells = count();
    watch.most = Math.max(watch.most, cells - before);
    before = cells;
    if (watch.isOn) setImmediate(turn);
  };
  setImmediate(turn);
  return watch;
}

async function* once(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  yield bytes;
}

async function topOf(engine: TestEngine): Promise<Uint8Array> {
  for await (const { bytes } of engine.owner(ALICE).exportDrive({ top: "drive", drive: "d" })) return bytes;
  throw new Error("nothing was exported");
}

test.each([
  { what: "one directory", tree: flat },
  { what: "directories that both have", tree: nested },
  { what: "names that begin alike", tree: alike },
])("an import into a drive that exists works on few cells before others run: $what", async ({ tree }) => {
  const { store, tap } = tapped(createMemoryStore());
  // Cells that the engine keeps are not seen by the store.
  const engine = openEngine({ store, cacheBytes: 0 });
  const [own, other] = [tree("a", 4000), tree("b", 4000)];
  await engine.owner(ALICE).importDrive([once(toMultiCell(own))], { drive: "d" });
  const [getsBefore, watch] = [tap.gets.length, watchTurns(tap)];
  await engine.owner(ALICE).importDrive([once(toMultiCell(other))], { drive: "d" });
  watch.stop();
  expect(tap.gets.length - getsBefore).toBeGreaterThan(500);
  expect(watch.most).toBeLessThanOrEqual(MAX_CELLS_PER_TURN);
  expect(await topOf(engine)).toEqual(encode(merge(own, other)));
});

test("a merge that finds cells missing takes as many steps as one that has them all", async () => {
  const [own, other] = [nested("a", 2000), nested("b", 2000)];
  const store = createMemoryStore();
  const batch = store.batch();
  for (const tree of [own, other]) {
    for (const bytes of cellsOf(tree).values()) await batch.put(sha3(bytes), bytes);
  }
  await batch.flush();
  const scope = createScope(createCellPool({ store, verifyReads: false, cacheBytes: 0 }));
  const [mine, theirs] = [await scope.open(refOf(encode(own))), await scope.open(refOf(encode(other)))];
  const counted = { missing: 0, steps: 0 };
  const merged = await scope.runSteps(counting(mergeSteps(mine, theirs), counted));
  const atOnce = { missing: 0, steps: 0 };
  const steps = counting(mergeSteps(own, other), atOnce);
  while (steps.next().done !== true);
  expect(encode(merged)).toEqual(encode(merge(own, other)));
  expect(counted.missing).toBeGreaterThan(0);
  expect(counted.steps).toBe(atOnce.steps);
});

function* counting(steps: Steps<Value>, counted: { missing: number; steps: number }): Steps<Value> {
  for (let step = steps.next(); ; step = steps.next()) {
    if (step.done === true) return step.value;
    if (step.value.missing === undefined) counted.steps += 1;
    else counted.missing += 1;
    yield step.value;
  }
}
