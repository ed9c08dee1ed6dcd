import { describe, expect, test } from "@jest/globals";
import { applyPatch, parsePatch } from "diff";
import fc from "fast-check";
import { unifiedDiff } from "../../../src/surfaces/acp/review/unified.js";

const line = fc.constantFrom("a\n", "b\n", "c\n", "\n", "a\r\n");
const text = fc
  .tuple(fc.array(line, { maxLength: 30 }), fc.constantFrom("", "end"))
  .map(([lines, end]) => lines.join("") + end);

describe("a unified diff", () => {
  test("applied to the old text gives the new one", () => {
    fc.assert(
      fc.property(text, text, (before, after) => {
        const diff = unifiedDiff("/f", before, after);
        expect(applyPatch(before, diff, { autoConvertLineEndings: false })).toBe(after);
      }),
    );
  });

  test("is as short as can be", () => {
    const before = "1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n11\n12\n";
    const after = before.replace("2\n", "").replace("11\n", "11\nnew\n");
    expect(unifiedDiff("/f", before, after)).toBe(
      "--- /f\n+++ /f\n@@ -1,5 +1,4 @@\n 1\n-2\n 3\n 4\n 5\n@@ -9,4 +8,5 @@\n 9\n 10\n 11\n+new\n 12\n",
    );
  });

  test.each([
    ["a new file", null, "a\nb", "--- /dev/null\n+++ /f\n@@ -0,0 +1,2 @@\n+a\n+b\n\\ No newline at end of file\n"],
    ["a new empty file", null, "", "--- /dev/null\n+++ /f\n"],
    ["an emptied file", "a\n", "", "--- /f\n+++ /f\n@@ -1,1 +0,0 @@\n-a\n"],
    ["equal texts", "a", "a", ""],
  ])("of %s", (_, before, after, diff) => {
    expect(unifiedDiff("/f", before, after)).toBe(diff);
  });

  test("of texts that have hardly anything in common is one change", () => {
    const before = Array.from({ length: 3000 }, (_, index) => `old ${index}\n`).join("");
    const after = Array.from({ length: 3000 }, (_, index) => `new ${index}\n`).join("");
    const diff = unifiedDiff("/f", before, after);
    expect(parsePatch(diff)[0]?.hunks).toHaveLength(1);
    expect(applyPatch(before, diff)).toBe(after);
  });

  test("names no terminal controls", () => {
    expect(unifiedDiff("/f\u001b[2J", "a", "b")).toContain('--- "/f\\033[2J"\n');
  });
});
