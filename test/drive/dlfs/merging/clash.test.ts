import { describe, expect, test } from "@jest/globals";
import { hashOf } from "../../../../src/drive/cad3/encoding/cell.js";
import { index } from "../../../../src/drive/cad3/maps/index-map.js";
import { keyword } from "../../../../src/drive/cad3/scalar.js";
import type { Value } from "../../../../src/drive/cad3/value.js";
import { merge } from "../../../../src/drive/dlfs/merge.js";
import { compareNames } from "../../../../src/drive/dlfs/name.js";
import { dir, directoryOf, tombstone } from "../../../../src/drive/dlfs/node.js";
import { codeOf } from "../../cad3/code-of.js";
import { merged, shown, text } from "./shown-trees.js";

describe("names that clash", () => {
  const SHARED = "two names of which only the firs";
  const [ONE, TWO] = [`${SHARED}t one`, `${SHARED}t two`];
  const movedTo = (name: string, node: Value): string => `~${hashOf(node).slice(0, 8)}~${name}`;
  const holding = (name: string, node: Value, utime = 9): Value => dir([[name, node]], utime);

  test("keep both nodes: the later in its slot, the other under a name with its hash", () => {
    const lost = text("1", 3);
    expect(merged(holding(ONE, lost), holding(TWO, text("2", 4)))).toEqual({
      utime: 9,
      [TWO]: "2 4",
      [movedTo(ONE, lost)]: "1 3",
    });
  });

  test("of one time: the live one keeps the slot, then the greater name", () => {
    expect(merged(holding(ONE, text("1", 3)), holding(TWO, tombstone(3)))).toEqual({ utime: 9, [ONE]: "1 3" });
    const lost = text("1", 3);
    expect(merged(holding(ONE, lost), holding(TWO, text("2", 3)))).toEqual({
      utime: 9,
      [TWO]: "2 3",
      [movedTo(ONE, lost)]: "1 3",
    });
  });

  test("are compared by their UTF-8 bytes", () => {
    const [low, high] = [`${SHARED}\uffff`, `${SHARED}\u{1f600}`];
    expect([compareNames(low, high) < 0, low < high]).toEqual([true, false]);
    const lost = text("low", 3);
    expect(merged(holding(low, lost), holding(high, text("high", 3)))).toEqual({
      utime: 9,
      [high]: "high 3",
      [movedTo(low, lost)]: "low 3",
    });
  });

  test("forget a tombstone that is earlier, and keep one that is later in the slot", () => {
    expect(merged(holding(ONE, tombstone(3)), holding(TWO, text("2", 4)))).toEqual({ utime: 9, [TWO]: "2 4" });
    const lost = text("2", 4);
    expect(merged(holding(ONE, tombstone(5)), holding(TWO, lost))).toEqual({
      utime: 9,
      [ONE]: "- 5",
      [movedTo(TWO, lost)]: "2 4",
    });
  });

  test("move directories with all that is in them", () => {
    const lost = dir([["x", text("x", 1)]], 3);
    expect(merged(holding(ONE, lost), holding(TWO, text("2", 4)))).toEqual({
      utime: 9,
      [TWO]: "2 4",
      [movedTo(ONE, lost)]: { utime: 3, x: "x 1" },
    });
  });

  test("meet what is at the new name already: it is merged there", () => {
    const lost = text("1", 3);
    const other = dir(
      [
        [TWO, text("2", 4)],
        [movedTo(ONE, lost), text("taken", 8)],
      ],
      9,
    );
    expect(merged(holding(ONE, lost), other)).toEqual({ utime: 9, [TWO]: "2 4", [movedTo(ONE, lost)]: "taken 8" });
    const tree = dir([["x", text("x", 1)]], 3);
    const taken = dir(
      [
        [TWO, text("2", 4)],
        [movedTo(ONE, tree), dir([["y", text("y", 2)]], 2)],
      ],
      9,
    );
    expect(merged(holding(ONE, tree), taken)).toEqual({
      utime: 9,
      [TWO]: "2 4",
      [movedTo(ONE, tree)]: { utime: 3, x: "x 1", y: "y 2" },
    });
  });

  test("meet another name in the new slot: that of the later node stays", () => {
    const lost = text("1", 3);
    const near = `${movedTo(ONE, lost)} or so`;
    const own = holding(ONE, lost);
    const other = (utime: number): Value =>
      dir(
        [
          [TWO, text("2", 4)],
          [near, text("near", utime)],
        ],
        9,
      );
    expect(merged(own, other(8))).toEqual({ utime: 9, [TWO]: "2 4", [near]: "near 8" });
    expect(merged(own, other(2))).toEqual({ utime: 9, [TWO]: "2 4", [movedTo(ONE, lost)]: "1 3" });
  });

  test("are cut to the length of a name", () => {
    const long = `${SHARED}${"é".repeat(111)}`;
    const lost = text("1", 3);
    const both = directoryOf(merge(holding(long, lost), holding(TWO, text("2", 4))));
    expect([...both.entries].map(([name]) => name)).toEqual([TWO, `${movedTo(SHARED, lost)}${"é".repeat(106)}`]);
  });

  test("keep our own name and the merge of both nodes where ties go to our own side", () => {
    const [a, b] = [holding(ONE, text("1", 3)), holding(TWO, text("2", 4))];
    expect(shown(merge(a, b, { ties: "own" }))).toEqual({ utime: 9, [ONE]: "2 4" });
    expect(shown(merge(b, a, { ties: "own" }))).toEqual({ utime: 9, [TWO]: "2 4" });
  });

  test("are not the same file, whatever the rule for data of the reference says of those", () => {
    const [a, b] = [holding(ONE, text("1", 3), 8), holding(TWO, text("2", 3), 9)];
    const plain = merge(a, b, { ties: "own" });
    expect(hashOf(merge(a, b, { ties: "own", importRule: "parent-time" }))).toBe(hashOf(plain));
    expect(shown(plain)).toEqual({ utime: 9, [ONE]: "1 3" });
  });

  test("that move to one slot are kept under the greater name: their nodes are equal", () => {
    const start = "x".repeat(22);
    const [first, second] = [`${start}${"1".repeat(10)}`, `${start}${"2".repeat(10)}`];
    const lost = text("lost", 3);
    const own = dir(
      [
        [`${first} one`, lost],
        [`${second} one`, lost],
      ],
      9,
    );
    const other = dir(
      [
        [`${first} two`, text("2", 4)],
        [`${second} two`, text("2", 4)],
      ],
      9,
    );
    expect(merged(own, other)).toEqual({
      utime: 9,
      [`${first} two`]: "2 4",
      [`${second} two`]: "2 4",
      [movedTo(`${second} one`, lost)]: "lost 3",
    });
  });

  test("are strings, or the tree is refused", () => {
    const other: Value = [index([[keyword("a"), text("2", 4)]]), null, null, 9n];
    expect(codeOf(() => merge(holding("a", text("1", 4)), other))).toBe("BAD_FORMAT");
  });
});
