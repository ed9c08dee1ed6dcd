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

test("directories that a change has written are not read from the store again, by reads and by the next change", async () => {
  const { store, tap } = tapped(createMemoryStore());
  const owner = openEngine({ store }).owner(ALICE);
  const write = (turn: string) =>
    owner.change("d", async (tree) => {
      for (const name of NAMES) await tree.writeFile([name], Buffer.from(`${turn} ${contentOf(name)}`));
    });
  await write("first");
  const directories = tap.puts.filter(({ bytes }) => bytes[0] === 0x84);
  expect(directories.length).toBeGreaterThan(0);
  tap.gets.length = 0;
  await write("second");
  const tree = await owner.read("d");
  expect(await tree.stat(["f7"])).toMatchObject({ type: "file" });
  expect(tap.gets).toEqual([]);
  // Content is read from the store.
  expect((await tree.readFile(["f7"], 0, 4096)).bytes.toString()).toBe(`second ${contentOf("f7")}`);
  expect(tap.gets).toHaveLength(1);
  tree.release();
});

test("a change whose commit fails leaves nothing in memory that the next one takes for stored", async () => {
  const { store, tap } = tapped(createMemoryStore());
  const owner = openEngine({ store }).owner(ALICE);
  const write = () =>
    owner.change("d", async (tree) => {
      for (const name of NAMES) await tree.writeFile([name], Buffer.from(contentOf(name)));
    });
  tap.beforeCommit = async () => {
    throw new Error("the disk is full");
  };
  expect(await rejection(write())).toBe("STORE_UNAVAILABLE");
  await write();
  const tree = await openEngine({ store }).owner(ALICE).read("d");
  expect((await tree.entries([])).map(({ name }) => name).sort()).toEqual([...NAMES].sort());
  expect((await tree.readFile(["f7"], 0, 4096)).bytes.toString()).toBe(contentOf("f7"));
  tree.release();
});
