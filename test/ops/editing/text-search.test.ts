import { describe, expect, test } from "@jest/globals";
import fc from "fast-check";
import { occurrencesOf } from "../../../src/ops/editing/text-search.js";

/** The plain way. */
function naive(needle: string, text: string): number[] {
  const starts: number[] = [];
  for (let at = 0; at + needle.length <= text.length; at++) {
    if (text.slice(at, at + needle.length) === needle) starts.push(at);
  }
  return starts;
}

/** Few letters, so that much repeats. */
const letters = (maxLength: number) => fc.string({ unit: fc.constantFrom("a", "b"), maxLength });

describe("occurrences of a text", () => {
  test.each([
    ["aa", "aaa", [0, 1]],
    ["aba", "ababa", [0, 2]],
    ["x", "", []],
    ["abc", "ab", []],
    ["abc", "abc", [0]],
    ["\n", "\n\n", [0, 1]],
    ["😀", "a😀", [1]],
  ])("%j in %j are at %j", (needle, text, starts) => {
    expect(occurrencesOf(needle, text, 10)).toEqual({ count: starts.length, starts });
  });

  test("are all counted, and only the first told", () => {
    expect(occurrencesOf("a", "a".repeat(50), 2)).toEqual({ count: 50, starts: [0, 1] });
  });

  test("are those of the plain way, whatever repeats", () => {
    const needles = fc.oneof(
      letters(6),
      fc.tuple(letters(3), fc.integer({ min: 1, max: 30 })).map(([part, times]) => part.repeat(times)),
    );
    const texts = fc.tuple(letters(40), letters(3), fc.integer({ min: 0, max: 60 }), letters(40));
    fc.assert(
      fc.property(
        needles.filter((needle) => needle !== ""),
        texts.map(([head, part, times, tail]) => head + part.repeat(times) + tail),
        (needle, text) => {
          const starts = naive(needle, text);
          expect(occurrencesOf(needle, text, 1000)).toEqual({ count: starts.length, starts });
        },
      ),
      { numRuns: 1000 },
    );
  });

  /** With a search that is not linear each of these takes hours. */
  const SIZE = 4_000_000;
  test.each([
    ["all of it the same", "a".repeat(SIZE / 2), "a".repeat(SIZE), SIZE / 2 + 1],
    ["nearly there everywhere, at the start", `b${"a".repeat(SIZE / 4)}`, "a".repeat(SIZE), 0],
    ["nearly there everywhere, at the end", `${"a".repeat(SIZE / 4)}b`, "a".repeat(SIZE), 0],
    ["a period", "ab".repeat(SIZE / 8), "ab".repeat(SIZE / 2), SIZE / 2 - SIZE / 8 + 1],
  ])("are found in good time in a text made to be slow: %s", (_, needle, text, count) => {
    expect(occurrencesOf(needle, text, 1).count).toBe(count);
  });
});
