import { describe, expect, test } from "@jest/globals";
import { applyPatch, parsePatch } from "diff";
import fc from "fast-check";
import { applyReplacements, type Replacement } from "../../../src/ops/editing/match.js";
import { unifiedDiff } from "../../../src/ops/editing/unified-diff.js";

const NUMBERS = "1\n2\n3\n4\n5\n6\n7\n8\n9\n";
const at = (text: string, part: string, replacement: string): Replacement => {
  const start = text.indexOf(part);
  return { start, end: start + part.length, text: replacement };
};
const diffOf = (text: string, replacements: readonly Replacement[], maxChars = 10_000) =>
  unifiedDiff(text, { path: "a.txt", replacements, maxChars });

describe("a unified diff", () => {
  const table: readonly [string, string, readonly [string, string][], string][] = [
    ["of a line in the middle", NUMBERS, [["5", "five"]], "@@ -3,5 +3,5 @@\n 3\n 4\n-5\n+five\n 6\n 7\n"],
    ["of the first line", NUMBERS, [["1", "one"]], "@@ -1,3 +1,3 @@\n-1\n+one\n 2\n 3\n"],
    ["of the last line", NUMBERS, [["9", "nine"]], "@@ -7,3 +7,3 @@\n 7\n 8\n-9\n+nine\n"],
    ["of a new line", NUMBERS, [["4\n", "4\nnew\n"]], "@@ -3,4 +3,5 @@\n 3\n 4\n+new\n 5\n 6\n"],
    ["of a line that goes", NUMBERS, [["5\n", ""]], "@@ -3,5 +3,4 @@\n 3\n 4\n-5\n 6\n 7\n"],
    ["of two lines made one", NUMBERS, [["4\n5", "45"]], "@@ -2,6 +2,5 @@\n 2\n 3\n-4\n-5\n+45\n 6\n 7\n"],
    [
      "of two places near each other",
      NUMBERS,
      [
        ["2", "two"],
        ["7", "seven"],
      ],
      "@@ -1,9 +1,9 @@\n 1\n-2\n+two\n 3\n 4\n 5\n 6\n-7\n+seven\n 8\n 9\n",
    ],
    [
      "of two places far apart",
      NUMBERS,
      [
        ["1", "one\nand a half"],
        ["8", "eight"],
      ],
      "@@ -1,3 +1,4 @@\n-1\n+one\n+and a half\n 2\n 3\n@@ -6,4 +7,4 @@\n 6\n 7\n-8\n+eight\n 9\n",
    ],
    [
      "of two places in one line",
      "a b c\n",
      [
        ["a", "A"],
        ["c", "C"],
      ],
      "@@ -1,1 +1,1 @@\n-a b c\n+A b C\n",
    ],
    [
      "of a long piece of which little differs",
      NUMBERS,
      [["2\n3\n4\n5\n6", "2\nthree\n4\nfive\n6"]],
      "@@ -1,7 +1,7 @@\n 1\n 2\n-3\n+three\n 4\n-5\n+five\n 6\n 7\n",
    ],
    [
      "without a newline at the end",
      "a\nb",
      [["b", "c"]],
      "@@ -1,2 +1,2 @@\n a\n-b\n\\ No newline at end of file\n+c\n\\ No newline at end of file\n",
    ],
    [
      "that takes the newline at the end",
      "a\nb\n",
      [["b\n", "b"]],
      "@@ -1,2 +1,2 @@\n a\n-b\n+b\n\\ No newline at end of file\n",
    ],
    ["of all of it", "a\n", [["a\n", ""]], "@@ -1,1 +0,0 @@\n-a\n"],
    ["with other line endings", "a\r\nb\r\n", [["b", "c"]], "@@ -1,2 +1,2 @@\n a\r\n-b\r\n+c\r\n"],
    ["of what stays the same", NUMBERS, [["5", "5"]], ""],
  ];
  test.each(table)("%s", (_, text, parts, hunks) => {
    const replacements = parts.map(([part, replacement]) => at(text, part, replacement));
    const diff = hunks === "" ? "" : `--- a.txt\n+++ a.txt\n${hunks}`;
    expect(diffOf(text, replacements)).toEqual({ diff, diffTruncated: false });
  });

  test("is cut at a line, and says so", () => {
    const replacements = [at(NUMBERS, "5", "five")];
    const { diff } = diffOf(NUMBERS, replacements);
    for (let most = 20; most < diff.length; most++) {
      const cut = diffOf(NUMBERS, replacements, most);
      expect(cut.diffTruncated).toBe(true);
      expect(diff.startsWith(cut.diff)).toBe(true);
      expect(cut.diff).toMatch(/\n$/);
      expect(cut.diff.length).toBeLessThanOrEqual(most);
    }
    expect(diffOf(NUMBERS, replacements, diff.length)).toEqual({ diff, diffTruncated: false });
  });

  test("shows a path on one line", () => {
    const { diff } = unifiedDiff("a", { path: "x\u2028\u202ey", replacements: [at("a", "a", "b")], maxChars: 1000 });
    expect(diff.split("\n")[0]).toBe("--- x\\u{2028}\\u{202e}y");
  });

  const texts = fc.string({ unit: fc.constantFrom("a", "b", "c", "\n", "\n", "x\n", "\r\n"), maxLength: 60 });
  const changes = fc.record({
    text: texts,
    cuts: fc.array(fc.record({ at: fc.nat(), length: fc.nat({ max: 8 }), text: texts }), { maxLength: 6 }),
  });

  /** In order, and not overlapping. */
  function replacementsIn(text: string, cuts: readonly { at: number; length: number; text: string }[]): Replacement[] {
    const replacements: Replacement[] = [];
    for (const cut of cuts.toSorted((left, right) => (left.at % 97) - (right.at % 97))) {
      const start = Math.max(replacements.at(-1)?.end ?? 0, cut.at % 97);
      const end = Math.min(text.length, start + 1 + cut.length);
      if (start < end) replacements.push({ start, end, text: cut.text });
    }
    return replacements;
  }

  test("applied to the original gives the new text, for another program too", () => {
    fc.assert(
      fc.property(changes, ({ text, cuts }) => {
        const replacements = replacementsIn(text, cuts);
        const after = applyReplacements(text, replacements);
        const { diff } = diffOf(text, replacements, 1_000_000);
        if (text === after) expect(diff).toBe("");
        else expect(applyPatch(text, diff, { autoConvertLineEndings: false })).toBe(after);
      }),
      { numRuns: 1000 },
    );
  });

  test("shows each line once, and no more than two beside a change", () => {
    fc.assert(
      fc.property(changes, ({ text, cuts }) => {
        const { diff } = diffOf(text, replacementsIn(text, cuts), 1_000_000);
        let end = 0;
        for (const { oldStart, oldLines, lines } of diff === "" ? [] : (parsePatch(diff)[0]?.hunks ?? [])) {
          const first = oldLines === 0 ? oldStart + 1 : oldStart;
          expect(first).toBeGreaterThan(end);
          end = first + oldLines - 1;
          expect(lines.join("\n")).not.toMatch(/^( .*\n){3}|(\n .*){3}$/);
          expect(lines.join("\n")).not.toMatch(/(\n .*){5}/);
        }
      }),
      { numRuns: 500 },
    );
  });

  test("of a hundred thousand places in one line of megabytes takes no time to speak of", () => {
    const text = "ab".repeat(2_000_000);
    const replacements = Array.from({ length: 100_000 }, (_, index) => ({
      start: index * 40,
      end: index * 40 + 1,
      text: "x",
    }));
    const { diff, diffTruncated } = diffOf(text, replacements, 4_000);
    expect([diff, diffTruncated]).toEqual(["--- a.txt\n+++ a.txt\n@@ -1,1 +1,1 @@\n", true]);
  });
});
