import { lstatSync, promises, readdirSync } from "node:fs";
import { join } from "node:path";
import { expectEqual, expectThat, textOf } from "../expect.mjs";
import { BIG_TREE, LISTED, TREE } from "../fixture.mjs";

/** Rows that say what is in directories. */
export function enumerationRows(fixture) {
  return [listRow(fixture), linesRow(fixture), plainListRow(fixture), treeRow(fixture), bigTreeRow(fixture)];
}

/** Names, types and sizes: server-filesystem's answer to the same question is `list_directory_with_sizes`. */
function listRow({ at, listed }) {
  const path = at(LISTED.path);
  const expected = [...listed.keys()].toSorted();
  const checkOurs = ({ entries, total, truncated }) => {
    expectEqual([total, truncated], [LISTED.entries, false], "list");
    for (const { name, type, size } of entries) expectEqual({ type, size }, listed.get(name), name);
    expectEqual(entries.map(({ name }) => name).toSorted(), expected, "list");
  };
  const checkStats = (entries) => {
    for (const [name, stats] of entries) {
      expectEqual(stats.isFile() ? stats.size : 0, listed.get(name)?.size, name);
    }
    expectEqual(entries.length, LISTED.entries, "readdir");
  };
  return {
    id: "list-1000",
    title: "list 1,000",
    scale: "list",
    forms: {
      library: { run: (invoke) => invoke("file:list", { root: "bench", path: LISTED.path }), check: checkOurs },
      ours: {
        run: (tool) => tool("file_list", { root: "bench", path: LISTED.path, format: "json" }),
        check: (result) => checkOurs(JSON.parse(textOf(result, "file_list"))),
      },
      theirs: {
        run: (tool) => tool("list_directory_with_sizes", { path }),
        check: (result) => expectEqual(namesOf(textOf(result, "list_directory_with_sizes")), expected, "list"),
      },
      sync: {
        run: () => readdirSync(path).map((name) => [name, lstatSync(join(path, name))]),
        check: checkStats,
      },
      promises: {
        run: async () =>
          Promise.all(
            (await promises.readdir(path)).map(async (name) => [name, await promises.lstat(join(path, name))]),
          ),
        check: checkStats,
      },
    },
  };
}

/** The same question, answered as models get it: a line for each entry. */
function linesRow(fixture) {
  return {
    id: "list-lines",
    title: "list 1,000, in the default format",
    scale: "list",
    forms: { ours: linesForm(fixture), theirs: listRow(fixture).forms.theirs },
  };
}

function linesForm({ listed }) {
  const expected = [...listed].map(([name, { type, size }]) => (type === "directory" ? `${name}/` : `${name} ${size}`));
  return {
    run: (tool) => tool("file_list", { root: "bench", path: LISTED.path }),
    check: (result) =>
      expectEqual(textOf(result, "file_list").trimEnd().split("\n").toSorted(), expected.toSorted(), "list"),
  };
}

/** Names and types only, which venue-files has no operation for: shown for whoever compares with `list_directory`. */
function plainListRow(fixture) {
  const { at, listed } = fixture;
  const path = at(LISTED.path);
  const checkNames = (names) => expectEqual(names.length, LISTED.entries, "readdir");
  return {
    id: "list-plain",
    title: "list 1,000, against list_directory (no sizes)",
    scale: "list",
    forms: {
      ours: linesForm(fixture),
      theirs: {
        run: (tool) => tool("list_directory", { path }),
        check: (result) =>
          expectEqual(namesOf(textOf(result, "list_directory")), [...listed.keys()].toSorted(), "list"),
      },
      sync: { run: () => readdirSync(path, { withFileTypes: true }), check: checkNames },
      promises: { run: () => promises.readdir(path, { withFileTypes: true }), check: checkNames },
    },
  };
}

function namesOf(listing) {
  return listing
    .split("\n")
    .flatMap((line) => /^\[(?:FILE|DIR)\] (\S+)/.exec(line)?.[1] ?? [])
    .toSorted();
}

function treeRow({ at }) {
  const input = { root: "bench", path: TREE.path, maxDepth: 10, maxEntries: TREE.entries };
  const checkTree = (tree) => expectEqual(tree.trimEnd().split("\n").length, TREE.entries + 1, "lines of the tree");
  const checkWalk = (count) => expectEqual(count, TREE.entries, "entries");
  return {
    id: "tree-5k",
    title: "tree of 5,000",
    scale: "tree",
    forms: {
      library: {
        run: (invoke) => invoke("file:tree", input),
        check: ({ tree, truncated, entries, depthLimited }) => {
          expectEqual(
            { truncated, entries, depthLimited },
            { truncated: false, entries: TREE.entries, depthLimited: false },
            "tree",
          );
          checkTree(tree);
        },
      },
      ours: {
        run: (tool) => tool("file_tree", input),
        check: (result) => checkTree(textOf(result, "file_tree")),
      },
      theirs: {
        run: (tool) => tool("directory_tree", { path: at(TREE.path) }),
        check: (result) => checkTheirTree(result, TREE.entries),
      },
      sync: { run: () => countSync(at(TREE.path)), check: checkWalk },
      promises: { run: () => countAsync(at(TREE.path)), check: checkWalk },
    },
  };
}

/** A capped tree is quick; it is called more often than the whole one, or its median would rest on a handful of samples. */
const TIMES = 10;

/** At default caps: an agent's first look at a large tree. server-filesystem has no caps. */
function bigTreeRow({ at }) {
  const input = { root: "bench", path: BIG_TREE.path };
  const checkTree = (tree) => {
    expectThat(tree.trimEnd().split("\n").length > 400, "The tree is too short");
  };
  return {
    id: "tree-100k",
    title: "tree at default caps in 100,000",
    scale: "bigTree",
    forms: {
      library: {
        times: TIMES,
        run: (invoke) => invoke("file:tree", input),
        check: ({ tree, truncated }) => {
          expectEqual(truncated, true, "truncated");
          checkTree(tree);
        },
      },
      ours: {
        times: TIMES,
        run: (tool) => tool("file_tree", input),
        check: (result) => checkTree(textOf(result, "file_tree")),
      },
      theirs: {
        run: (tool) => tool("directory_tree", { path: at(BIG_TREE.path) }),
        check: (result) => checkTheirTree(result, BIG_TREE.entries),
      },
      sync: {
        run: () => countSync(at(BIG_TREE.path)),
        check: (count) => expectEqual(count, BIG_TREE.entries, "entries"),
      },
    },
  };
}

function checkTheirTree(result, expected) {
  const count = (entries) => entries.reduce((sum, { children = [] }) => sum + 1 + count(children), 0);
  expectEqual(count(JSON.parse(textOf(result, "directory_tree"))), expected, "directory_tree");
}

function countSync(directory) {
  let count = 0;
  for (const entry of readdirSync(directory, { withFileTypes: true })) {
    count += 1 + (entry.isDirectory() ? countSync(join(directory, entry.name)) : 0);
  }
  return count;
}

async function countAsync(directory) {
  let count = 0;
  for (const entry of await promises.readdir(directory, { withFileTypes: true })) {
    count += 1 + (entry.isDirectory() ? await countAsync(join(directory, entry.name)) : 0);
  }
  return count;
}
