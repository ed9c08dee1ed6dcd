import { renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, describe, expect, test } from "@jest/globals";
import type { HistoryOutput, TrashOutput } from "../../src/schema/types.js";
import { KilledRoot, type Moment, type Tree } from "./killed-changes.js";

const LARGE = "l".repeat(100_000);
const BEFORE: Tree = {
  ...{ a: "one\n", b: "two\n", large: LARGE, "t/": "", "t/in": "inside", "t/u/": "", "t/u/deep": LARGE, "e/": "" },
};

interface Case {
  readonly name: string;
  readonly call: readonly [op: string, input: object];
  /** Entries that the call makes, newest first: operation and path. */
  readonly entries: readonly string[];
}

const change = (name: string, entries: readonly string[], op: string, input: object): Case => ({
  ...{ name, call: [op, input], entries },
});

const CASES: readonly Case[] = [
  change("a new file", ["write n"], "write", { path: "n", content: "new" }),
  change("a new file in new folders", ["write x/y/n"], "write", { path: "x/y/n", content: "new", parents: true }),
  change("a small file replaced", ["write a"], "write", { path: "a", content: "other" }),
  change("a large file replaced", ["write large"], "write", { path: "large", content: LARGE.slice(1) }),
  change("an edit", ["edit b"], "edit", { path: "b", edits: [{ oldText: "two", newText: "2" }] }),
  change("an append", ["append a"], "append", { path: "a", content: "more\n" }),
  change("an append of much", ["append large"], "append", { path: "large", content: "m".repeat(400_000) }),
  change("a file made by an append", ["append x/n"], "append", { path: "x/n", content: "first", parents: true }),
  change("a folder", ["mkdir m"], "mkdir", { path: "m" }),
  change("folders", ["mkdir m/n/o"], "mkdir", { path: "m/n/o", parents: true }),
  change("a copied file", ["copy c"], "copy", { path: "a", to: "c" }),
  change("a copy over a file", ["copy b"], "copy", { path: "large", to: "b", overwrite: true }),
  change("a copied tree", ["copy x/t"], "copy", { path: "t", to: "x/t", recursive: true, parents: true }),
  change("a moved file", ["move c"], "move", { path: "a", to: "c" }),
  change("a moved tree", ["move x/t"], "move", { path: "t", to: "x/t", parents: true }),
  change("a move over a file", ["move large"], "move", { path: "a", to: "large", overwrite: true }),
  change("a deleted file", ["delete a"], "delete", { path: "a" }),
  change("a deleted tree", ["delete t"], "delete", { path: "t", recursive: true }),
  change("a patch", ["patch p/q", "patch t/in", "patch m", "patch large", "patch a"], "patch", {
    changes: [
      { op: "write", path: "a", content: "patched" },
      { op: "write", path: "large", content: "short" },
      { op: "move", path: "b", to: "m" },
      { op: "delete", path: "t/in" },
      { op: "mkdir", path: "p/q" },
    ],
  }),
];

let killed: KilledRoot | undefined;
afterEach(() => killed?.remove());

async function kill(call: Case["call"], moment: Moment): Promise<KilledRoot> {
  killed = new KilledRoot(BEFORE);
  expect(killed.tree).toEqual(BEFORE);
  expect(await killed.kill(call, moment)).toBe("SIGKILL");
  return killed;
}

const operations = ({ entries }: HistoryOutput): string[] => entries.map(({ op, path }) => `${op} ${path}`);

describe("a process that is killed right after the commit", () => {
  test.each(CASES)("has $name in the history, and it can be undone", async ({ call, entries }) => {
    const root = await kill(call, ["committed", 1]);
    expect(root.tree).not.toEqual(BEFORE);
    const told = await root.undoAll();
    expect(operations(told)).toEqual(entries);
    expect(told.entries.map(({ undoable, reason }) => reason ?? undoable)).toEqual(entries.map(() => true));
    expect(told.complete).toBe(true);
    expect(root.tree).toEqual(BEFORE);
  });

  test("tells of a deletion that keeps nothing", async () => {
    const root = await kill(["delete", { path: "t", recursive: true, permanent: true }], ["committed", 1]);
    expect(Object.keys(root.tree)).not.toContain("t/");
    const { entries, complete } = await root.history();
    expect([entries.map(({ path, reason }) => [path, reason]), complete]).toEqual([[["t", "permanent"]], true]);
  });

  test.each([2, 3, 5])("tells each change of a group once, whichever was told when it died (%d)", async (nth) => {
    const { call, entries } = CASES.at(-1) as Case;
    const root = await kill(call, ["committed", nth]);
    const told = await root.undoAll();
    expect(operations(told)).toEqual(entries);
    expect(new Set(told.entries.map(({ group }) => group)).size).toBe(1);
    expect(root.tree).toEqual(BEFORE);
  });

  test("has an undo in the history, and what it has undone is undone", async () => {
    killed = new KilledRoot(BEFORE);
    const { call, entries } = CASES.at(-1) as Case;
    await killed.with((files) => files.invoke(`file:${call[0]}`, { root: "r", ...call[1] }));
    const patched = killed.tree;
    expect(await killed.kill(["undo", { last: 1, via: "*" }], ["committed", 1])).toBe("SIGKILL");
    expect(killed.tree).toEqual(BEFORE);
    const told = await killed.history();
    const [{ group, op } = {}] = told.entries;
    const patches = told.entries.filter((one) => one.op === "patch");
    expect([op, ...patches.map(({ undoneBy }) => undoneBy)]).toEqual(["undo", ...entries.map(() => group)]);
    await killed.with((files) => files.invoke("file:undo", { group }));
    expect(killed.tree).toEqual(patched);
  });

  test("names what nobody can know: others have changed the place since", async () => {
    const root = await kill(["write", { path: "a", content: "other" }], ["committed", 1]);
    writeFileSync(join(root.root, "own"), "by a person");
    renameSync(join(root.root, "own"), join(root.root, "a"));
    const { entries } = await root.history();
    expect(entries.map(({ op, path, undoable, reason }) => [op, path, undoable, reason])).toEqual([
      ["write", "a", false, "pending"],
    ]);
    const undo = root.with((files) => files.invoke("file:undo", { id: entries[0]?.id }));
    await expect(undo).rejects.toThrow(/the process was killed/);
  });

  test("has its changes in the history of a process that runs on", async () => {
    killed = new KilledRoot(BEFORE);
    const root = killed;
    await root.with(async (files) => {
      await files.invoke("file:write", { root: "r", path: "b", content: "by the other" });
      expect(await root.kill(["write", { path: "a", content: "other" }], ["committed", 1])).toBe("SIGKILL");
      const told = (await files.invoke("file:history", { root: "r" })) as HistoryOutput;
      expect(operations(told)).toEqual(["write a", "write b"]);
    });
  });
});

test("a process that was killed and could not note all that it did is told of", async () => {
  killed = new KilledRoot(BEFORE);
  // As the disk of the state directory is full: a file may get another name, but not grow.
  expect(await killed.kill(["write", { path: "a", content: "other" }], ["committed", 1], { isFull: true })).toBe(
    "SIGKILL",
  );
  expect(killed.tree["a"]).toBe("other");
  const { complete, reason, entries } = await killed.history();
  expect([complete, reason]).toEqual([false, "visited"]);
  expect(entries.map(({ op, path, undoable }) => [op, path, undoable])).toEqual([["unknown", "", false]]);
});

describe("a process that is killed once the entry waits to be written", () => {
  test.each(CASES.filter((_, index) => index % 6 === 2))("has $name in the history once", async ({ call, entries }) => {
    const root = await kill(call, ["added", entries.length]);
    expect(operations(await root.history())).toEqual(entries);
    expect(operations(await root.undoAll())).toEqual(entries);
    expect(root.tree).toEqual(BEFORE);
  });
});

describe("a process that is killed right before the commit", () => {
  test.each(CASES.filter((_, index) => index % 5 === 0))("has nothing of $name in the history", async ({ call }) => {
    const root = await kill(call, ["noted", 1]);
    await root.with(async (files) => {
      const { entries, complete } = (await files.invoke("file:history", { root: "r" })) as HistoryOutput;
      expect([entries, complete]).toEqual([[], true]);
      expect(root.tree).toEqual(BEFORE);
      const { entries: trash } = (await files.invoke("file:trash", { root: "r" })) as TrashOutput;
      expect(trash).toEqual([]);
    });
  });

  test.each([
    ["write", { path: "x/y/n", content: "new", parents: true }],
    ["append", { path: "x/y/n", content: "new", parents: true }],
    ["mkdir", { path: "x/y/n", parents: true }],
    ["copy", { path: "t", to: "x/y/n", recursive: true, parents: true }],
    ["move", { path: "t", to: "x/y/n", parents: true }],
  ])("tells of the folders that %s has made on the way", async (op, input) => {
    const root = await kill([op, input], ["noted", 2]);
    const { entries } = await root.undoAll();
    expect(entries.map(({ path, kind, made }) => [path, kind, made])).toEqual([["x/y", "directory", ["x"]]]);
    expect(root.tree).toEqual(BEFORE);
  });
});
