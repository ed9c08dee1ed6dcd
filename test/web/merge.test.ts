// Merging three versions of a text by lines, as the page does when two saved one file.
import { describe, expect, test } from "@jest/globals";
import fc from "fast-check";
import { isPlace, moved, type Part, partsOf, separatorOf } from "../../web/src/editor/merge.js";

const merge = (mine: string, before: string, theirs: string) =>
  partsOf(mine.split(" "), before.split(" "), theirs.split(" "));
const placesOf = (parts: readonly Part[]) => parts.filter(isPlace);
const takeAll = (parts: readonly Part[], side: "mine" | "theirs") =>
  parts.flatMap((part) => (isPlace(part) ? part[side] : part));

describe("the parts of a merge", () => {
  test.each([
    ["changes of different lines", "A b c d", "a b c d", "a b c D", ["mine", "theirs"]],
    ["changes of one line", "A b c", "a b c", "X b c", ["both"]],
    ["both the same change", "A b c", "a b c", "A b c", []],
    ["lines that touch", "a B c d", "a b c d", "a b C d", ["both"]],
    ["one takes away what the other changes", "a d", "a b c d", "a b C d", ["both"]],
    ["lines added at both ends", "x a b", "a b", "a b y", ["mine", "theirs"]],
    ["different lines added at one place", "a x b", "a b", "a y b", ["both"]],
    ["nothing alike", "x y", "a b", "p q r", ["both"]],
  ])("%s", (_what, mine, before, theirs, by) => {
    expect(placesOf(merge(mine, before, theirs)).map((place) => place.by)).toEqual(by);
  });

  test("whoever did not change a place has what was before", () => {
    const [first, second] = placesOf(merge("A b c d", "a b c d", "a b d"));
    expect(first).toEqual({ mine: ["A"], theirs: ["a"], before: ["a"], by: "mine" });
    expect(second).toEqual({ mine: ["c"], theirs: [], before: ["c"], by: "theirs" });
  });

  const lines = fc.array(fc.constantFrom("", "a", "b", "c", "}"), { maxLength: 12 });

  test("taken from one side everywhere they are that side, and places have agreed lines in between", () => {
    fc.assert(
      fc.property(lines, lines, lines, (mine, before, theirs) => {
        const parts = partsOf(mine, before, theirs);
        expect(takeAll(parts, "mine")).toEqual(mine);
        expect(takeAll(parts, "theirs")).toEqual(theirs);
        expect(parts.map(isPlace)).toEqual(parts.map((_, index) => index % 2 === 1));
        expect(parts.length % 2).toBe(1);
        for (const [index, part] of parts.entries())
          if (index % 2 === 0 && index > 0 && index < parts.length - 1) expect(part).not.toHaveLength(0);
      }),
    );
  });

  test("100,000 lines of which many are alike and all were touched take no minutes", () => {
    const before = Array.from({ length: 100_000 }, (_, index) => (index % 3 === 0 ? "" : `line ${index}`));
    const mine = before.map((line) => (line === "" ? "" : `${line} mine`));
    expect(placesOf(partsOf(mine, before, [...before, "theirs"]))).not.toEqual([]);
  });
});

describe("a position in another version", () => {
  test.each([
    ["above it lines came", 4, "a\nb\ncde", "new\na\nb\ncde", 8],
    ["above it lines went", 4, "a\nb\ncde", "b\ncde", 2],
    ["its own line was changed", 5, "a\nb\ncde", "a\nb\ncx", 5],
    ["its own line is gone", 5, "a\nb\ncde\nf", "a\nb\nf", 4],
    ["it was at the end of what is gone", 3, "a\nbc", "a", 1],
    ["nothing changed", 2, "ab\nc", "ab\nc", 2],
    ["all is gone", 3, "ab\nc", "", 0],
  ])("%s", (_what, position, before, after, expected) => {
    expect(moved(position, before, after)).toBe(expected);
  });

  test("lies in the text, whatever became of it", () => {
    const text = fc.array(fc.constantFrom("", "a", "bc", "def"), { maxLength: 8 }).map((all) => all.join("\n"));
    fc.assert(
      fc.property(text, text, fc.nat(40), (before, after, at) => {
        const found = moved(Math.min(at, before.length), before, after);
        expect(found).toBeGreaterThanOrEqual(0);
        expect(found).toBeLessThanOrEqual(after.length);
      }),
    );
  });
});

test.each([
  ["a\r\nb\r\n", "\r\n"],
  ["a\r\nb\n", "\n"],
  ["a\nb", "\n"],
  ["a", "\n"],
])("the line ends of %j are %j", (text, separator) => {
  expect(separatorOf(text)).toBe(separator);
});
