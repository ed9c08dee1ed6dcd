import { describe, expect, test } from "@jest/globals";
import fc from "fast-check";
import { compareCodePoints, sortByName } from "../../src/path/order.js";
import { anyCharacter } from "../any-character.js";

const codePoints = (text: string): number[] => Array.from(text, (char) => char.codePointAt(0) ?? -1);

/** The definition, taken literally. */
function compareLiterally(a: string, b: string): number {
  const left = codePoints(a);
  const right = codePoints(b);
  for (const [index, point] of left.entries()) {
    const other = right[index];
    if (other === undefined) return 1;
    if (point !== other) return point - other;
  }
  return left.length - right.length;
}

const anyText = fc.string({ unit: anyCharacter });
/** Texts around the places where UTF-16 units and code points disagree, so that equal beginnings are common. */
const trickyText = fc
  .array(
    fc.constantFrom("a", "A", "\u00e9", "\ud7ff", "\ue000", "\uff5e", "\uffff", "\u{10000}", "\u{1f600}", "\u{10ffff}"),
    {
      maxLength: 6,
    },
  )
  .map((chars) => chars.join(""));
const text = fc.oneof(anyText, trickyText);
const sorted = (names: readonly string[]): string[] =>
  sortByName(names.map((name) => ({ name }))).map(({ name }) => name);

describe("compareCodePoints", () => {
  test.each([
    ["", "a"],
    ["a", "b"],
    ["a", "aa"],
    ["B", "a"],
    ["z", "é"],
    ["\ud7ff", "\ue000"],
    ["\ud7ff", "\u{10000}"],
    ["\uff5e", "\u{1f600}"],
    ["\uffff", "\u{10000}"],
    ["a\uffff", "a\u{10000}"],
    ["\u{1f600}", "\u{1f601}"],
    ["\u{10000}", "\u{10ffff}"],
    ["\u{10000}", "\u{10000}a"],
  ])("%j stands before %j", (first, second) => {
    expect(compareCodePoints(first, second)).toBeLessThan(0);
    expect(compareCodePoints(second, first)).toBeGreaterThan(0);
  });

  test("finds the same text equal, and canonically equivalent texts different", () => {
    expect(compareCodePoints("", "")).toBe(0);
    expect(compareCodePoints("a\u{1f600}", "a\u{1f600}")).toBe(0);
    expect(compareCodePoints("\u00e9", "e\u0301")).toBeGreaterThan(0);
  });

  test("agrees with a comparison of the code points themselves", () => {
    fc.assert(
      fc.property(text, text, (a, b) => {
        expect(Math.sign(compareCodePoints(a, b))).toBe(Math.sign(compareLiterally(a, b)));
      }),
      { numRuns: 1000 },
    );
  });
});

describe("sortByName", () => {
  test.each([
    { why: "case only where nothing else differs", names: ["b", "B", "a", "A"], expected: ["A", "a", "B", "b"] },
    { why: "digits as characters, not as numbers", names: ["10", "9", "1"], expected: ["1", "10", "9"] },
    { why: "marks by their code points", names: ["a", "_", "-", "Z", "~"], expected: ["-", "_", "a", "Z", "~"] },
    { why: "short before long", names: ["ab", "a", "a.b"], expected: ["a", "a.b", "ab"] },
    { why: "accents after all of ASCII, folded", names: ["Ü", "é", "z", "É"], expected: ["z", "É", "é", "Ü"] },
    { why: "astral after the basic plane", names: ["😀", "～", "a"], expected: ["a", "～", "😀"] },
    { why: "letters whose lower case is longer", names: ["iz", "İ", "i"], expected: ["i", "iz", "İ"] },
    { why: "astral letters folded", names: ["𐐨b", "𐐀c", "𐐀a"], expected: ["𐐀a", "𐐨b", "𐐀c"] },
    { why: "nothing", names: [], expected: [] },
  ])("orders $why", ({ names, expected }) => {
    expect(sorted(names)).toEqual(expected);
  });

  test("gives a new array of the same entries", () => {
    const entries = [
      { name: "b", size: 1 },
      { name: "a", size: 2 },
    ] as const;
    const result = sortByName(entries);
    expect(result).toEqual([entries[1], entries[0]]);
    expect(result[0]).toBe(entries[1]);
    expect(entries.map(({ name }) => name)).toEqual(["b", "a"]);
  });

  test("keeps entries of one name in the order given", () => {
    const entries = [1, 2, 3].map((size) => ({ name: "same", size }));
    expect(sortByName(entries)).toEqual(entries);
  });

  test("orders lists of any length alike, whether or not their names are known to be usual", () => {
    for (const length of [1, 2, 127, 128, 129, 700]) {
      const names = Array.from({ length }, (_, at) => `name-${(at * 389) % 701}`);
      const expected = names.toSorted(compareLiterally);
      expect(sorted(names)).toEqual(expected);
      const usual = names.map((name, at) => ({ name, isUsual: at % 3 > 0 }));
      expect(sortByName(usual).map(({ name }) => name)).toEqual(expected);
    }
  });

  test("does not depend on the order given, and loses nothing", () => {
    const shuffled = fc
      .array(text, { maxLength: 20 })
      .chain((names) =>
        fc.tuple(fc.constant(names), fc.shuffledSubarray(names, { minLength: names.length, maxLength: names.length })),
      );
    fc.assert(
      fc.property(shuffled, ([names, others]) => {
        const result = sorted(names);
        expect(sorted(others)).toEqual(result);
        expect(result.toSorted()).toEqual(names.toSorted());
      }),
    );
  });

  test("puts every neighbour in order: folded first, then exact", () => {
    fc.assert(
      fc.property(fc.array(text, { maxLength: 20 }), (names) => {
        const result = sorted(names);
        for (const [index, name] of result.slice(0, -1).entries()) {
          const next = result[index + 1] ?? "";
          const folded = compareLiterally(name.toLowerCase(), next.toLowerCase());
          expect(folded).toBeLessThanOrEqual(0);
          if (folded === 0) expect(compareLiterally(name, next)).toBeLessThanOrEqual(0);
        }
      }),
    );
  });
});
