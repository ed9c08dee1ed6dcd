import { describe, expect, test } from "@jest/globals";
import fc from "fast-check";
import { encode, hashOf } from "../../../../src/drive/cad3/encoding/cell.js";
import { fromMultiCell, toMultiCell } from "../../../../src/drive/cad3/encoding/multi-cell.js";
import { index } from "../../../../src/drive/cad3/maps/index-map.js";
import type { Value } from "../../../../src/drive/cad3/value.js";
import { merge } from "../../../../src/drive/dlfs/merge.js";
import { contentOf, dir, directoryOf, file, tombstone, viewOf } from "../../../../src/drive/dlfs/node.js";
import { codeOf } from "../../cad3/code-of.js";
import { parseVectors, toHex } from "../../cad3/notation.js";
import { fromStore } from "../../from-store.js";
import { type Expected, type NodeNotation, nodeOf } from "../tree-notation.js";
import { mergeCopies } from "./copies.js";
import { plainMerge } from "./plain-merge.js";
import { FREE, LONG, STEADY, type TreeKind, trees } from "./random-trees.js";
import { converges, LONG_NAMES, PLAIN_NAMES, schedules } from "./replicas.js";
import { merged, shown, text } from "./shown-trees.js";
import { mergeThree } from "./three-copies.js";

/** The one of the greater hash, which is another for every content. */
function greater(one: Value, other: Value): Value {
  return hashOf(one) > hashOf(other) ? one : other;
}

/** Directories in each other, the index of each as deep as can be. */
function deep(depth: number, node: Value): Value {
  const name = "a".repeat(32);
  const aside = Array.from({ length: 64 }, (_, digit) => name.slice(0, digit >> 1) + (digit % 2 === 0 ? "Q" : "b"));
  let root = node;
  for (let above = 0; above < depth; above += 1) {
    root = dir(
      [...aside.map((other): [string, Value] => [other, tombstone(1)]), [name, root]],
      Number(viewOf(node).utime),
    );
  }
  return root;
}

describe("a tie", () => {
  const [one, two] = [dir([["f", text("one", 5)]], 5), dir([["f", text("two", 5)]], 5)];

  test("goes to the greater hash, whichever side it is on", () => {
    expect(merged(one, two)).toEqual({ utime: 5, f: shown(greater(text("one", 5), text("two", 5))) });
  });

  test("goes to our own side when that is asked for", () => {
    expect([merge(one, two, { ties: "own" }), merge(two, one, { ties: "own" })].map(shown)).toEqual(
      [one, two].map(shown),
    );
  });

  test("goes to the live one rather than to a tombstone, whatever their hashes", () => {
    for (const content of ["a", "b", "c", "d"]) {
      expect(merged(dir([["f", text(content, 5)]], 5), dir([["f", tombstone(5)]], 5))).toEqual({
        utime: 5,
        f: `${content} 5`,
      });
    }
    expect(merged(dir([["f", dir([], 5)]], 5), dir([["f", tombstone(5)]], 5))).toEqual({ utime: 5, f: { utime: 5 } });
  });
});

describe("a merge", () => {
  test("is our own tree itself where the other has nothing new", () => {
    const older = dir([["d", dir([["x", text("1", 1)]], 1)]], 1);
    const own = dir(
      [
        [
          "d",
          dir(
            [
              ["x", text("2", 2)],
              ["y", text("3", 3)],
            ],
            3,
          ),
        ],
      ],
      3,
    );
    expect(merge(own, older)).toBe(own);
    expect(merge(own, older, { ties: "own" })).toBe(own);
    expect(merge(own, own)).toBe(own);
  });

  test("leaves both sides as they were", () => {
    const [a, b] = [dir([["x", text("1", 1)]], 1), dir([["y", text("2", 2)]], 2)];
    const before = [hashOf(a), hashOf(b)];
    merge(a, b);
    expect([hashOf(a), hashOf(b)]).toEqual(before);
  });

  test("takes a directory that is later than a file with all that is in it, and the other way round", () => {
    const [a, b] = [dir([["n", text("f", 5)]], 9), dir([["n", dir([["x", text("old", 1)]], 7)]], 7)];
    expect(merged(a, b)).toEqual({ utime: 9, n: { utime: 7, x: "old 1" } });
    expect(merged(dir([["n", text("f", 8)]], 9), b)).toEqual({ utime: 9, n: "f 8" });
  });

  test("brings a deleted directory back as it was when something in it has changed since", () => {
    const deleted = dir([["d", tombstone(5)]], 5);
    const changed = dir(
      [
        [
          "d",
          dir(
            [
              ["old", text("o", 1)],
              ["new", text("n", 6)],
            ],
            6,
          ),
        ],
      ],
      6,
    );
    expect(merged(deleted, changed)).toEqual({ utime: 6, d: { utime: 6, old: "o 1", new: "n 6" } });
  });

  // Inherent in the format: the tombstone that a new directory takes the place of is gone.
  test("brings back what was in a directory that was deleted and made again, from a copy that has not heard of it", () => {
    const [old, deleted, again] = [
      dir([["d", dir([["x", text("o", 1)]], 1)]], 1),
      dir([["d", tombstone(5)]], 5),
      dir([["d", dir([], 6)]], 6),
    ];
    expect(merged(old, again)).toEqual({ utime: 6, d: { utime: 6, x: "o 1" } });
    expect(shown(merge(merge(old, deleted), again))).toEqual({ utime: 6, d: { utime: 6 } });
  });

  test("merges what a tree holds in many places once", () => {
    const copies = (content: string, utime: number): Value => {
      let node = dir(
        [
          ["f", text(content, utime)],
          ["long", text("x".repeat(200), 1)],
        ],
        utime,
      );
      // 2^40 files: one by one they could not be merged.
      for (let depth = 0; depth < 40; depth += 1)
        node = dir(
          [
            ["one", node],
            ["two", node],
          ],
          utime,
        );
      return node;
    };
    expect(hashOf(merge(copies("old", 1), copies("new", 2)))).toBe(hashOf(copies("new", 2)));
  });

  test("goes deeper than the stack", () => {
    const [own, other] = [deep(40, text("own", 5)), deep(40, text("other", 6))];
    expect(hashOf(merge(own, other))).toBe(hashOf(other));
  });

  test.each<[string, Value]>([
    ["a value that is no node", "node"],
    ["an entry that is no node", dir([["x", 7]], 1)],
    ["a node with entries and data", [index([]), new Uint8Array(), null, 1n]],
  ])("refuses %s", (_, node) => {
    expect(codeOf(() => merge(dir([["x", text("1", 1)]], 1), node))).toBe("BAD_FORMAT");
    expect(codeOf(() => merge(node, dir([["x", text("1", 1)]], 1)))).toBe("BAD_FORMAT");
  });
});

describe("the rule for data of the reference", () => {
  const rule = { importRule: "parent-time" } as const;
  const a = dir(
    [
      ["f", text("first", 10)],
      ["g", text("same", 10)],
      ["h", text("later", 12)],
    ],
    20,
  );
  const b = dir(
    [
      ["f", text("second", 10)],
      ["g", text("same", 10)],
      ["h", text("earlier", 11)],
    ],
    30,
  );

  test("takes a file of one time and other data from the later directory, with its time", () => {
    for (const [one, two] of [
      [a, b],
      [b, a],
    ] as const) {
      expect(shown(merge(one, two, rule))).toEqual({ utime: 30, f: "second 30", g: "same 10", h: "later 12" });
      expect(shown(merge(one, two, { ...rule, ties: "own" }))).toEqual({
        utime: 30,
        f: "second 30",
        g: "same 10",
        h: "later 12",
      });
    }
  });

  test("holds below too", () => {
    const [one, two] = [dir([["d", a]], 50), dir([["d", b]], 40)];
    expect(shown(merge(one, two, rule))).toEqual({
      utime: 50,
      d: { utime: 30, f: "second 30", g: "same 10", h: "later 12" },
    });
  });

  test.each<[string, Value, Value]>([
    ["directories of one time", dir([["f", text("x", 10)]], 20), dir([["f", text("y", 10)]], 20)],
    ["files of different times", dir([["f", text("x", 11)]], 20), dir([["f", text("y", 10)]], 30)],
    ["a file and a tombstone", dir([["f", text("x", 10)]], 20), dir([["f", tombstone(10)]], 30)],
    ["a file and a directory", dir([["f", text("x", 10)]], 20), dir([["f", dir([], 10)]], 30)],
    [
      "files that differ in metadata only",
      dir([["f", file(Buffer.from("x"), 10, "m")]], 20),
      dir([["f", text("x", 10)]], 30),
    ],
  ])("says nothing of %s", (_, one, two) => {
    expect(hashOf(merge(one, two, rule))).toBe(hashOf(merge(one, two)));
  });

  test("is not used unless it is asked for", () => {
    expect(shown(merge(a, b))).toEqual({
      ...(shown(merge(a, b, rule)) as object),
      f: shown(greater(text("first", 10), text("second", 10))),
    });
  });
});

describe("convergence", () => {
  /** Of each kind; `test/long` has 10,000. */
  const RUNS = { numRuns: 150 };

  describe("copies of a drive that were changed while apart", () => {
    test.each([
      ["with short names", PLAIN_NAMES],
      ["with names of up to 255 bytes", LONG_NAMES],
    ])("are equal in the end, whatever their clocks said and whenever they heard of each other: %s", (_, names) => {
      fc.assert(fc.property(schedules(names), converges), RUNS);
    });
  });

  /** `test/long` merges 10,000. */
  test("three copies with names of 1 to 255 bytes come to one tree, whatever the order", () => {
    expect(mergeThree(400, 1)).toBeGreaterThan(200);
  });
});

/** For 100,000 files it is 300; `test/long` has those. */
const MAX_VISITED = 200;

describe("a merge of two copies that differ in 10 files", () => {
  test.each([
    { files: 2000, directories: 1, size: 10 },
    { files: 2000, directories: 40, size: 10 },
    { files: 2000, directories: 200, size: 10 },
    { files: 2000, directories: 4, size: 200 },
  ])("visits little but these: $files files of $size bytes in $directories directories", (shape) => {
    const { visited, hash, expected } = mergeCopies({ ...shape, changes: 10 });
    expect(hash).toBe(expected);
    expect(visited).toBeGreaterThan(0);
    expect(visited).toBeLessThanOrEqual(MAX_VISITED);
  });

  test("visits nothing of copies that are equal", () => {
    expect(mergeCopies({ files: 100, directories: 10, size: 200, changes: 0 }).visited).toBe(0);
  });
});

describe("laws of a merge", () => {
  const RUNS = { numRuns: 40 };

  const KINDS: readonly [string, TreeKind][] = [
    ["trees in which a name is always of one kind", STEADY],
    ["trees of anything", FREE],
    ["trees in which names share 32 bytes", LONG],
  ];

  describe.each(KINDS)("%s, with ties by hash,", (_, kind) => {
    const tree = trees(kind);

    test("merge to the same both ways", () => {
      fc.assert(
        fc.property(tree, tree, (a, b) => {
          expect(hashOf(merge(a, b))).toBe(hashOf(merge(b, a)));
        }),
        RUNS,
      );
    });

    test("take nothing from what they have merged already", () => {
      fc.assert(
        fc.property(tree, tree, (a, b) => {
          const both = merge(a, b);
          for (const side of [a, b, both]) {
            expect(merge(both, side)).toBe(both);
            expect(hashOf(merge(side, both))).toBe(hashOf(both));
          }
        }),
        RUNS,
      );
    });
  });

  describe("merges of three", () => {
    const tree = trees(STEADY);

    test("come to the same in every order, where a name is always of one kind", () => {
      fc.assert(
        fc.property(tree, tree, tree, (a, b, c) => {
          const [one, two] = [merge(merge(a, b), c), merge(a, merge(b, c))];
          expect(hashOf(one)).toBe(hashOf(two));
          expect(hashOf(merge(merge(c, a), b))).toBe(hashOf(one));
        }),
        RUNS,
      );
    });

    // Inherent in the format: what takes the place of a directory forgets all that was in it.
    test("depend on the order where a directory stood, then something else, then a directory again", () => {
      const holding = (node: Value): Value => dir([["d", node]], 9);
      const [old, again] = [holding(dir([["x", tombstone(1)]], 1)), holding(dir([], 3))];
      for (const between of [tombstone(2), file(new Uint8Array(), 2)]) {
        const forgotten = merge(merge(old, holding(between)), again);
        const kept = merge(old, merge(holding(between), again));
        expect(hashOf(forgotten)).not.toBe(hashOf(kept));
        // But copies that have gone both ways agree when they meet.
        expect(hashOf(merge(forgotten, kept))).toBe(hashOf(merge(kept, forgotten)));
      }
    });
  });

  describe.each([...KINDS, ["trees with metadata", { ...FREE, metadata: true }] as const])("%s", (_, kind) => {
    const tree = trees(kind);

    test.each(["hash", "own"] as const)("merge as the specification tells it, with ties by %s", (ties) => {
      fc.assert(
        fc.property(tree, tree, (a, b) => {
          const wanted = hashOf(plainMerge(a, b, ties));
          expect(hashOf(merge(a, b, { ties }))).toBe(wanted);
          expect(hashOf(merge(fromMultiCell(toMultiCell(a)), fromStore(b), { ties }))).toBe(wanted);
          expect(hashOf(merge(fromStore(a), fromMultiCell(toMultiCell(b)), { ties }))).toBe(wanted);
        }),
        RUNS,
      );
    });
  });

  /** The files, tombstones and directories of a tree by their paths. */
  function flat(node: Value, path = "", into = new Map<string, Value>()): Map<string, Value> {
    into.set(path, node);
    const view = viewOf(node);
    if (view.kind === "directory") for (const [name, below] of view.entries) flat(below, `${path}/${name}`, into);
    return into;
  }

  describe("where a name is always of one kind, a merge", () => {
    test("has every path of both sides, and at each the later node", () => {
      fc.assert(
        fc.property(trees(STEADY), trees(STEADY), (a, b) => {
          const [own, other, both] = [flat(a), flat(b), flat(merge(a, b))];
          expect(new Set(both.keys())).toEqual(new Set([...own.keys(), ...other.keys()]));
          for (const [path, node] of both) {
            const candidates = [own.get(path), other.get(path)].filter((side) => side !== undefined);
            const times = candidates.map((side) => viewOf(side).utime);
            expect(viewOf(node).utime).toBe(times.reduce((one, two) => (one > two ? one : two)));
            if (viewOf(node).kind !== "directory") expect(candidates.map(hashOf)).toContain(hashOf(node));
          }
        }),
        RUNS,
      );
    });
  });
});

/** A file with a time that a client gave it. */
const timed = (content: string, utime: number, modified: number | null): Value =>
  file(Buffer.from(content), utime, modified === null ? null : BigInt(modified));
const holding = (node: Value, ...others: (readonly [string, Value])[]): Value => dir([["a", node], ...others], 9);

function found(tree: Value): readonly [content: string, metadata: Value, utime: bigint] {
  const view = viewOf(directoryOf(tree).entries.get("a") ?? null);
  if (view.kind !== "file") throw new Error(view.kind);
  return [Buffer.from(contentOf(view)).toString(), view.metadata, view.utime];
}

test.each([
  ["an earlier time of the client", timed("old", 3, 2000), timed("new", 4, 1000), ["new", 1000n, 4n]],
  ["a later time of the client", timed("old", 3, 1000), timed("new", 4, 2000), ["new", 2000n, 4n]],
  ["no time of the client", timed("old", 3, 5000), timed("new", 4, null), ["new", null, 4n]],
  ["the same content and another time", timed("same", 3, 5000), timed("same", 4, 1000), ["same", 1000n, 4n]],
] as const)("the later change stays whole, with %s, whoever merges", (_, earlier, later, expected) => {
  // What is beside it makes both rebuild the directory.
  const one = holding(earlier, ["b", timed("b", 1, 7)]);
  const two = holding(later, ["c", timed("c", 1, null)]);
  for (const [own, other] of [
    [one, two],
    [two, one],
  ] as const) {
    const merged = merge(own, other);
    expect(found(merged)).toEqual(expected);
    expect(hashOf(merged)).toBe(hashOf(merge(other, own)));
    expect(hashOf(merge(merged, other))).toBe(hashOf(merged));
  }
});

test("of two changes at one time, copies choose the same", () => {
  const [one, two] = [holding(timed("same", 3, 1000)), holding(timed("same", 3, 2000))];
  expect(hashOf(merge(one, two))).toBe(hashOf(merge(two, one)));
  expect(found(merge(one, two))[1]).toBe(found(merge(two, one))[1]);
});

describe("vectors of a merge", () => {
  interface MergeVectors {
    readonly merges: readonly {
      readonly name: string;
      readonly a: Expected & { readonly value: NodeNotation };
      readonly b: Expected & { readonly value: NodeNotation };
      readonly ab: Expected;
      readonly ba: Expected;
      readonly hashTies?: Expected;
    }[];
  }

  const { merges } = parseVectors<MergeVectors>("dlfs-merge");
  const shown = (node: Parameters<typeof encode>[0]): unknown => ({
    hash: hashOf(node),
    encoding: toHex(encode(node)),
  });
  const wanted = ({ hash, encoding }: Expected): unknown => ({ hash, encoding });

  describe("a merge of the reference", () => {
    test("is there to be compared with", () => {
      expect(merges.length).toBeGreaterThan(10);
    });

    test.each(merges)("$name: ends in the same tree", ({ a, b, ab, ba, hashTies }) => {
      const [one, two] = [nodeOf(a.value), nodeOf(b.value)];
      expect([shown(one), shown(two)]).toEqual([wanted(a), wanted(b)]);
      expect(shown(merge(one, two, { ties: "own" }))).toEqual(wanted(ab));
      expect(shown(merge(two, one, { ties: "own" }))).toEqual(wanted(ba));
      if (hashTies === undefined) return;
      expect(shown(merge(one, two))).toEqual(wanted(hashTies));
      expect(shown(merge(two, one, { ties: "hash" }))).toEqual(wanted(hashTies));
      // What was merged stays as it was.
      expect([shown(one), shown(two)]).toEqual([wanted(a), wanted(b)]);
    });
  });

  interface LongMerge {
    readonly name: string;
    readonly a: NodeNotation;
    readonly b: NodeNotation;
    readonly hashA: string;
    readonly hashB: string;
    readonly ab: string;
    readonly ba: string;
    readonly abTree?: NodeNotation;
    readonly baTree?: NodeNotation;
  }

  test.each(parseVectors<{ readonly merges: readonly LongMerge[] }>("index-long").merges)(
    "a merge with long names, or of deleted drives, ends in the same tree: $name",
    ({ a, b, hashA, hashB, ab, ba, abTree, baTree }) => {
      const [one, two] = [nodeOf(a), nodeOf(b)];
      expect([hashOf(one), hashOf(two)]).toEqual([hashA, hashB]);
      expect(hashOf(merge(one, two, { ties: "own" }))).toBe(ab);
      expect(hashOf(merge(two, one, { ties: "own" }))).toBe(ba);
      if (abTree !== undefined) expect(hashOf(nodeOf(abTree))).toBe(ab);
      if (baTree !== undefined) expect(hashOf(nodeOf(baTree))).toBe(ba);
      // Copies of ours agree, whichever merges.
      expect(hashOf(merge(one, two))).toBe(hashOf(merge(two, one)));
    },
  );
});
