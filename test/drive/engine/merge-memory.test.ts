import { expect, test } from "@jest/globals";
import { encode } from "../../../src/drive/cad3/encoding/cell.js";
import type { IndexChild, IndexNode } from "../../../src/drive/cad3/maps/index-node.js";
import { refOf, sha3 } from "../../../src/drive/cad3/ref.js";
import type { Value } from "../../../src/drive/cad3/value.js";
import { merge, mergeSteps } from "../../../src/drive/dlfs/merge.js";
import { dir, directoryOf, file, type Node } from "../../../src/drive/dlfs/node.js";
import { createCellPool, createScope } from "../../../src/drive/engine/cells.js";
import { newCells } from "../../../src/drive/engine/new-cells.js";
import { settleIn } from "../../../src/drive/engine/owner/change-results.js";
import { createWriteSet } from "../../../src/drive/engine/write-set.js";
import type { CellStore } from "../../../src/drive/store/cell-store.js";
import { createMemoryStore } from "../../../src/drive/store/memory.js";
import { cellsOf } from "./exchange/import-cells.js";

const ENTRIES = 3000;

const entriesOf = (side: string): [string, Node][] =>
  Array.from({ length: ENTRIES }, (_, place) => {
    const name = `${place}-${side}`;
    return [name, file(Buffer.from(name.repeat(20)), 5)];
  });

/** One large directory, in which there is a small one that the other side has, too. */
const tree = (side: string): Node =>
  dir([...entriesOf(side), ["both", dir(entriesOf(`${side}-in`).slice(0, 50), 5)]], 5);

async function put(trees: readonly Node[], store: CellStore): Promise<void> {
  const batch = store.batch();
  for (const one of trees) {
    for (const bytes of cellsOf(one).values()) await batch.put(sha3(bytes), bytes);
  }
  await batch.flush();
}

/** Nodes that are in memory, without those that would be loaded first. */
function nodesIn(child: IndexChild): number {
  if ("load" in child) return 0;
  return child.children.reduce((sum, below) => sum + nodesIn(below), 1);
}

const rootOf = (directory: Value): IndexNode => {
  const { root } = directoryOf(directory).entries;
  if (root === undefined) throw new Error("It is empty");
  return root;
};

test("a merge of large directories stores its parts as they are complete, and lets go of them and of both sides", async () => {
  const [own, other] = [tree("a"), tree("b")];
  const store = createMemoryStore();
  await put([own, other], store);
  const writes = createWriteSet(store);
  const scope = createScope(createCellPool({ store, verifyReads: false, cacheBytes: 0 }), writes.overlay);
  const { source } = scope;
  const { load } = source;
  let loads = 0;
  Object.assign(source, {
    load: (hash: string) => {
      loads += 1;
      return load(hash);
    },
  });
  const sides = [await scope.open(refOf(encode(own))), await scope.open(refOf(encode(other)))] as const;
  const merged = await scope.runSteps(mergeSteps(...sides, { settle: settleIn({ scope, writes }) }));

  const expected = merge(own, other);
  expect(encode(merged)).toEqual(encode(expected));
  // The root, and what is so small that it lies in it.
  expect(nodesIn(rootOf(merged))).toBeLessThan(20);
  // Nor are there the cells of either side, of which there are two for each entry.
  expect(scope.size).toBeLessThan(ENTRIES / 10);
  for (const side of sides) {
    const before = loads;
    for (const child of rootOf(side).children) {
      if (!("load" in child)) continue;
      await scope.fetch([child.ref]);
      child.load();
    }
    // Had it been kept, nothing would be asked for.
    expect(loads).toBeGreaterThan(before);
  }
  await writes.putTree(newCells(merged, (hash) => scope.has(hash) || writes.has(hash)));
  await writes.flush();
  const hashes = [...cellsOf(expected).values()].map(sha3);
  expect((await store.getMany(hashes)).filter((cell) => cell === undefined)).toEqual([]);
});
