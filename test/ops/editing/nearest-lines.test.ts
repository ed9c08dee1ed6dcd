import { describe, expect, test } from "@jest/globals";
import fc from "fast-check";
import { nearestLines } from "../../../src/ops/editing/nearest-lines.js";

const never = () => false;
const CODE = `import { a } from "./a.js";

export function first(value: number): number {
  if (value > 3) {
    return value;
  }
  return a(value);
}

export function second(value: string): string {
\tif (value === "") {
\t\treturn "nothing";
\t}
\treturn value.trim();
}
`;

describe("the lines nearest to a text that is not there", () => {
  test.each([
    ["spaces in place of tabs", '    if (value === "") {\n        return "nothing";\n    }', [11, 13], "whitespace"],
    ["lines broken elsewhere", "if (value > 3) { return value; }", [4, 6], "whitespace"],
    ["part of a line", "value  ===", [11, 11], "whitespace"],
    ["other case", "RETURN value.Trim()", [14, 14], "case"],
    ["other case and white space", "export  function SECOND", [10, 10], "case"],
    ["another word in one line", "  return a(values);\n", [7, 7], "content"],
    ["a line more", "  if (value > 3) {\n    log(value);\n    return value;\n  }\n", [4, 7], "content"],
    ["a line that differs", "  if (value > 3) {\n    return values;\n  }\n  return a(value);\n", [4, 7], "content"],
  ] as const)("with %s", (_, wanted, [startLine, endLine], differs) => {
    const [best] = nearestLines(wanted, CODE, never);
    const text = CODE.split(/(?<=\n)/)
      .slice(startLine - 1, endLine)
      .join("");
    expect(best).toEqual({ startLine, endLine, text, differs });
  });

  test.each([
    ["what has nothing in common", "0123456789"],
    ["white space alone", " \n\t\n"],
  ])("are none for %s", (_, wanted) => {
    expect(nearestLines(wanted, CODE, never)).toEqual([]);
    expect(nearestLines(wanted, "", never)).toEqual([]);
  });

  test("are at most three, of six hundred characters together, the best first", () => {
    const text = Array.from({ length: 20 }, (_, index) => `${"word ".repeat(100)}${index}\n`).join("");
    const near = nearestLines(`${"word  ".repeat(100)}1`, text, never);
    expect(near.length).toBe(3);
    expect(near.map(({ differs }) => differs)).toEqual(["whitespace", "whitespace", "whitespace"]);
    expect(near.map((one) => one.text.length).reduce((sum, length) => sum + length)).toBeLessThanOrEqual(600);
    expect(near.every((one) => one.text.endsWith("…"))).toBe(true);
  });

  test("do not overlap", () => {
    const near = nearestLines("one\ntwo\nsix\n", "one\ntwo\none\ntwo\nsix7\ntwo\n", never);
    const lines = near.flatMap(({ startLine, endLine }) =>
      Array.from({ length: endLine - startLine + 1 }, (_, index) => startLine + index),
    );
    expect(new Set(lines).size).toBe(lines.length);
    expect(near.length).toBeGreaterThan(0);
  });

  test("are what was found when the time is up", () => {
    const text = `${CODE}${"\n".repeat(1000)}export function third\n`;
    expect(nearestLines("export  function third", text, () => true).slice(0, 1)).toEqual([
      expect.objectContaining({ startLine: 3, endLine: 3, differs: "content" }),
    ]);
  });

  test("are lines of the text, whatever the two are", () => {
    const texts = fc.string({
      unit: fc.constantFrom("a", "bc", "D", " ", "\n", "\t", "\r\n", "İ", "😀"),
      maxLength: 80,
    });
    fc.assert(
      fc.property(texts, texts, (wanted, text) => {
        const lines = text.match(/[^\n]*\n|[^\n]+$/g) ?? [];
        for (const near of nearestLines(wanted, text, never)) {
          expect(near.startLine).toBeGreaterThanOrEqual(1);
          expect(near.endLine).toBeGreaterThanOrEqual(near.startLine);
          expect(near.endLine).toBeLessThanOrEqual(lines.length);
          expect(near.text).toBe(lines.slice(near.startLine - 1, near.endLine).join(""));
        }
      }),
      { numRuns: 1000 },
    );
  });
});
