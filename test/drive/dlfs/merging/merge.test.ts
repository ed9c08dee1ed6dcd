import { describe, expect, test } from "@jest/globals";
import { hashOf } from "../../../../src/drive/cad3/encoding/cell.js";
import { index } from "../../../../src/drive/cad3/maps/index-map.js";
import type { Value } from "../../../../src/drive/cad3/value.js";
import { merge } from "../../../../src/drive/dlfs/merge.js";
import { dir, file, tombstone, viewOf } from "../../../../src/drive/dlfs/node.js";
import { codeOf } from "../../cad3/code-of.js";
import { merged, shown, text } from "./shown-trees.js";

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
