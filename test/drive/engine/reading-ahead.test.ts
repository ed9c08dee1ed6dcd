import { expect, test } from "@jest/globals";
import { createMemoryStore } from "../../../src/drive/store/memory.js";
import { ALICE, openEngine, rejection, tapped } from "./engines.js";

const NAMES = Array.from({ length: 20 }, (_, place) => `f${place}`);
const contentOf = (name: string): string => `${name} ${"x".repeat(2000)}`;

/** A drive of small files, and a look at its store. */
async function smallFiles() {
  const { store, tap } = tapped(createMemoryStore());
  const owner = openEngine({ store }).owner(ALICE);
  await owner.change("d", async (tree) => {
    await tree.makeDirectory(["folder"]);
    for (const name of NAMES) await tree.writeFile([name], Buffer.from(contentOf(name)));
  });
  return { owner, tap };
}

test("small files that are read ahead are read from the store once", async () => {
  const { owner, tap } = await smallFiles();
  const tree = await owner.read("d");
  await tree.fetch(NAMES.map((name) => [name]));
  tap.gets.length = 0;
  for (const name of NAMES) {
    expect((await tree.readFile([name], 0, 4096)).bytes.toString()).toBe(contentOf(name));
  }
  expect(tap.gets).toEqual([]);
  tree.release();
});

test("what cannot be read ahead is reported by the reads that follow, as without", async () => {
  const { owner, tap } = await smallFiles();
  const tree = await owner.read("d");
  await tree.fetch([["folder"], ["f0", "below"], ["missing"], ["f1"]]);
  expect((await tree.readFile(["f1"], 0, 1)).bytes.toString()).toBe("f");
  expect(await rejection(tree.readFile(["missing"], 0, 1))).toBe("NOT_FOUND");
  expect(await rejection(tree.readFile(["f0", "below"], 0, 1))).toBe("NOT_A_DIRECTORY");
  tap.isDown = true;
  await tree.fetch([["f2"]]);
  expect(await rejection(tree.readFile(["f2"], 0, 1))).toBe("STORE_UNAVAILABLE");
  tree.release();
});
