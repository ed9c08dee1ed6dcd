import { describe, expect, test } from "@jest/globals";
import fc from "fast-check";
import { hashOf } from "../../../../src/drive/cad3/encoding/cell.js";
import { fromMultiCell, toMultiCell } from "../../../../src/drive/cad3/encoding/multi-cell.js";
import type { Value } from "../../../../src/drive/cad3/value.js";
import { merge } from "../../../../src/drive/dlfs/merge.js";
import { dir, file, tombstone, viewOf } from "../../../../src/drive/dlfs/node.js";
import { fromStore } from "../../from-store.js";
import { plainMerge } from "./plain-merge.js";
import { FREE, LONG, STEADY, type TreeKind, trees } from "./random-trees.js";

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
