import { expectEqual, expectThat } from "../expect.mjs";
import { BIG_TREE, LISTED, TREE } from "../fixture.mjs";
import { row } from "./forms.mjs";

/** A capped tree is quick; it is called more often than the whole one, or its median would rest on a handful of samples. */
const TIMES = 10;

/** Rows that say what is in directories. */
export function enumerationRows({ at, listed }) {
  const path = at(LISTED.path);
  const names = [...listed.keys()].toSorted();
  const isListing = (text) => expectEqual(namesOf(text), names, "list");
  const withSizes = {
    theirs: (tool) => tool("list_directory_with_sizes", { path }),
    is: { ours: isLines(listed), theirs: isListing },
  };
  const asLines = { scale: "list", ours: (call) => call("list", { path: LISTED.path }), only: ["ours", "theirs"] };
  const isOurs = ({ entries, total, truncated }) => {
    expectEqual([total, truncated], [LISTED.entries, false], "list");
    for (const { name, type, size } of entries) expectEqual({ type, size }, listed.get(name), name);
    expectEqual(entries.map(({ name }) => name).toSorted(), names, "list");
  };
  return [
    row({
      ...{ id: "list-1000", title: "list 1,000", scale: "list", most: 0.6 },
      ours: (call) => call("list", { path: LISTED.path }),
      mcp: { format: "json" },
      theirs: withSizes.theirs,
      is: {
        library: isOurs,
        ours: (text) => isOurs(JSON.parse(text)),
        theirs: isListing,
      },
    }),
    row({ id: "list-lines", title: "list 1,000, in the default format", most: 1, ...asLines, ...withSizes }),
    // Names and types only, which venue-files has no operation for.
    row({
      ...{ id: "list-plain", title: "list 1,000, against list_directory (no sizes)", most: 2.5, ...asLines },
      theirs: (tool) => tool("list_directory", { path }),
      is: withSizes.is,
    }),
    treeRow(at),
    bigTreeRow(at),
  ];
}

/** The same listing, as models get it: a line for each entry. */
function isLines(listed) {
  const lines = [...listed].map(([name, { type, size }]) => (type === "directory" ? `${name}/` : `${name} ${size}`));
  return (text) => expectEqual(text.trimEnd().split("\n").toSorted(), lines.toSorted(), "list");
}

const namesOf = (listing) =>
  listing
    .split("\n")
    .flatMap((line) => /^\[(?:FILE|DIR)\] (\S+)/.exec(line)?.[1] ?? [])
    .toSorted();

function treeRow(at) {
  const isTree = (tree) => expectEqual(tree.trimEnd().split("\n").length, TREE.entries + 1, "lines of the tree");
  return row({
    ...{ id: "tree-5k", title: "tree of 5,000", scale: "tree", most: 0.15 },
    ours: (call) => call("tree", { path: TREE.path, maxDepth: 10, maxEntries: TREE.entries }),
    theirs: (tool) => tool("directory_tree", { path: at(TREE.path) }),
    is: {
      library({ tree, truncated, entries, depthLimited }) {
        expectEqual([truncated, entries, depthLimited], [false, TREE.entries, false], "tree");
        isTree(tree);
      },
      ours: isTree,
      theirs: (text) => isTheirTree(text, TREE.entries),
    },
  });
}

/** At default caps: an agent's first look at a large tree. server-filesystem has no caps. */
function bigTreeRow(at) {
  const isTree = (tree) => expectThat(tree.trimEnd().split("\n").length > 400, "The tree is too short");
  return row({
    ...{ id: "tree-100k", title: "tree at default caps in 100,000", scale: "bigTree", most: 0.02 },
    ours: (call) => call("tree", { path: BIG_TREE.path }),
    theirs: (tool) => tool("directory_tree", { path: at(BIG_TREE.path) }),
    times: { library: TIMES, ours: TIMES },
    is: {
      library({ tree, truncated }) {
        expectEqual(truncated, true, "truncated");
        isTree(tree);
      },
      ours: isTree,
      theirs: (text) => isTheirTree(text, BIG_TREE.entries),
    },
  });
}

function isTheirTree(text, expected) {
  const count = (entries) => entries.reduce((sum, { children = [] }) => sum + 1 + count(children), 0);
  expectEqual(count(JSON.parse(text)), expected, "directory_tree");
}
