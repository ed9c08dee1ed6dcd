import { describe, expect, test } from "@jest/globals";
import { applyPatch, parsePatch } from "diff";
import fc from "fast-check";
import { etagOf } from "../../../src/core/etag.js";
import { linesOf, plainText } from "../../../src/ops/content/terminators.js";
import {
  applyReplacements,
  type Edit,
  EditMatcher,
  type Replacement,
  spansOf,
} from "../../../src/ops/editing/match.js";
import { nearestLines } from "../../../src/ops/editing/nearest-lines.js";
import { mayCancelOut } from "../../../src/ops/editing/plan.js";
import { occurrencesOf } from "../../../src/ops/editing/text-search.js";
import { unifiedDiff } from "../../../src/ops/editing/unified-diff.js";
import { dispatchOn } from "../../dispatch/fake.js";
import { failureOf, useGround } from "../ground.js";
import { sha256Of } from "./edit-fixture.js";

describe("file:edit keeps the line ends of lines that it keeps, and gives new lines those of their neighbours", () => {
  const ground = useGround();

  async function edited(before: string, edit: object): Promise<string> {
    ground.put("f", before);
    await ground.run("edit", { path: "f", ...edit });
    return ground.get("f").toString();
  }

  test.each<[string, string, string, string, string]>([
    ["a line between kept ones", "p\r\nq\nr\r\ns\n", "p\nq\nr\ns", "p\nq\nnew\nr\ns", "p\r\nq\nnew\nr\r\ns\n"],
    ["a line that changes", "p\r\nq\nr\r\ns\n", "p\nq\nr\n", "p\nQ\nr\n", "p\r\nQ\nr\r\ns\n"],
    ["a line that goes", "p\nq\r\nr\ns\r\n", "p\nq\nr\n", "p\nr\n", "p\nr\ns\r\n"],
    ["a line before the first", "p\nq\r\nr\ns\n", "q\nr", "new\nq\nr", "p\nnew\r\nq\r\nr\ns\n"],
    ["a line that is split", "p\nq w\r\nr\n", "q w", "q\nw", "p\nq\r\nw\r\nr\n"],
    ["lines behind the last end", "p\r\nq\nlast", "last", "last\nmore\n", "p\r\nq\nlast\nmore\n"],
    ["an old text that begins with a line end", "p\r\nq\nr\n", "\nq", "\nnew\nq", "p\r\nnew\r\nq\nr\n"],
    ["a line feed that goes takes its return along", "p\r\nq\nr\n", "\nq", "q", "pq\nr\n"],
    ["a change of several lines", "1\r\n2\n3\r\n4\n5\r\n", "2\n3\n4\n", "2\nx\ny\n4\n", "1\r\n2\nx\r\ny\r\n4\n5\r\n"],
    ["a return inside of a line", "10%\r20%\nend\n", "20%", "20%\n21%", "10%\r20%\n21%\nend\n"],
    ["CRLF that is given into LF", "p\nq\n", "q", "q\r\nnew", "p\nq\r\nnew\n"],
    ["both kinds that are given as they are", "p\r\nq\nr\r\n", "p\r\nq\n", "p\r\nnew\nq\n", "p\r\nnew\nq\nr\r\n"],
    ["CRLF for the LF of the file in both texts", "p\nq\nr\n", "p\r\nq", "p\r\nnew\r\nq", "p\nnew\nq\nr\n"],
    ["line ends alone, to LF", "p\r\nq\r\n", "p\r\n", "p\n", "p\nq\r\n"],
    ["line ends alone, to CRLF", "p\nq\n", "p\n", "p\r\n", "p\r\nq\n"],
    ["LF into CRLF alone", "p\r\nq\r\n", "q", "q\n$&\n$1", "p\r\nq\r\n$&\r\n$1\r\n"],
  ])("%s", async (_, before, oldText, newText, after) => {
    expect(await edited(before, { oldText, newText })).toBe(after);
  });

  test("each occurrence by its own lines", async () => {
    const before = "x\r\ny\n-\nx\ny\r\n";
    expect(await edited(before, { oldText: "x\ny", newText: "x\nn\ny", expect: 2 })).toBe(
      "x\r\nn\r\ny\n-\nx\nn\ny\r\n",
    );
  });

  test("in a long change too", async () => {
    const lines = Array.from({ length: 600 }, (_, at) => `line ${at}${at % 3 === 0 ? "\r\n" : "\n"}`);
    const before = lines.join("");
    const plain = before.replaceAll("\r\n", "\n");
    const changed = (text: string) => `first\n${text.replace("line 300", "LINE 300").replace("line 0", "line 0 ")}last`;
    const after = await edited(before, { oldText: plain, newText: changed(plain) });
    expect(after.split("\n").slice(2, -1)).toEqual(changed(before).split("\n").slice(2, -1));
  });

  test("whatever lines are kept and added", async () => {
    const line = fc.constantFrom("a", "b", "c", "");
    const end = fc.constantFrom("\n", "\r\n");
    const steps = fc.array(fc.record({ line, end, does: fc.constantFrom("keep", "keep", "drop", "add") }), {
      minLength: 1,
    });
    await fc.assert(
      fc.asyncProperty(steps, async (all) => {
        const olds = all.filter(({ does }) => does !== "add");
        const before = `start\r\n${olds.map((one) => one.line + one.end).join("")}end\n`;
        const plain = olds.map((one) => `${one.line}\n`).join("");
        const news = all.filter(({ does }) => does !== "drop").map((one) => `${one.line}\n`);
        const newText = `start\n${news.join("")}end\n`;
        const after = await edited(before, { oldText: `start\n${plain}end\n`, newText });
        expect(after.replaceAll("\r\n", "\n")).toBe(newText);
        // Where nothing was added or dropped, nothing changes.
        if (olds.length === all.length && news.length === olds.length) expect(after).toBe(before);
        expect(linesOf(after)[0]).toEqual({ text: "start", end: "\r\n" });
        expect(linesOf(after).at(-2)).toEqual({ text: "end", end: "\n" });
      }),
      { numRuns: 150 },
    );
  });
});

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

describe("a text across terminators", () => {
  const LONG = "z".repeat(10_000);
  const unit = fc.constantFrom("a", "b", "\r", "\n", "\r\n", "😀");
  const text = fc.string({ unit, maxLength: 60 });
  const needle = fc.string({ unit: fc.constantFrom("a", "b", "\n"), minLength: 1, maxLength: 5 });

  test("is found where the normalised view holds it", () => {
    fc.assert(
      fc.property(text, needle, (short, what) => {
        // In a short text it is left to the view.
        const where = short + LONG;
        const view = plainText(where);
        const { count, starts } = occurrencesOf(what, view.text, 1000);
        const spans = starts.map((at) => ({ start: view.original(at), end: view.original(at + what.length) }));
        const found = spansOf(what, where, 1000);
        fc.pre(found !== undefined);
        expect(found).toEqual({ count, spans });
      }),
      { numRuns: 5000 },
    );
  });

  test("is left to the view where it has no line but empty ones, or one that is everywhere", () => {
    expect(spansOf("\n\n", "a\r\n\r\n", 10)).toBeUndefined();
    expect(spansOf(`a\n${"b\n".repeat(50)}`, "a\r\nb\n".repeat(200), 10)).toBeUndefined();
    expect(spansOf("b\na", `a\r\nb\ra${LONG}`, 10)).toEqual({ count: 1, spans: [{ start: 3, end: 6 }] });
  });
});

describe("an edit of a file with mixed line ends", () => {
  const LINES = 5000;
  const textOf = (...ends: readonly string[]): string =>
    Array.from({ length: LINES }, (_, at) => `line ${at} of a file with text in it${ends[at % ends.length]}`).join("");
  const EDITS: readonly (readonly [string, Edit])[] = [
    ["of one line", { oldText: "line 4000 of a", newText: "x", expect: 1 }],
    [
      "of several lines",
      { oldText: `line 4000 of a file with text in it\nline 4001 of a file`, newText: "x\ny", expect: 1 },
    ],
    ["of many places", { oldText: "0 of a file with text in it\n", newText: "x\n", expect: LINES / 10 }],
    ["that matches nothing", { oldText: "line 4000 of a file with text in it\nline 4002", newText: "x", expect: 1 }],
  ];

  /** Characters that are gone through or copied while something is done. */
  function charactersIn(work: () => void): number {
    const { indexOf, includes, replace, replaceAll, charCodeAt } = String.prototype;
    let count = 0;
    const end = (text: string, from: number, found: number): number => (found < 0 ? text.length : found + 1) - from;
    Object.assign(String.prototype, {
      indexOf(this: string, part: string, from = 0) {
        const found = indexOf.call(this, part, from);
        count += end(this, from, found);
        return found;
      },
      includes(this: string, part: string) {
        count += end(this, 0, indexOf.call(this, part));
        return includes.call(this, part);
      },
      replace(this: string, ...given: Parameters<typeof replace>) {
        count += 2 * this.length;
        return replace.apply(this, given);
      },
      replaceAll(this: string, ...given: Parameters<typeof replaceAll>) {
        count += 2 * this.length;
        return replaceAll.apply(this, given);
      },
      charCodeAt(this: string, at: number) {
        count++;
        return charCodeAt.call(this, at);
      },
    });
    try {
      work();
    } finally {
      Object.assign(String.prototype, { indexOf, includes, replace, replaceAll, charCodeAt });
    }
    return count;
  }

  test.each(EDITS)("%s goes through at most three times the text that one with uniform ends does", (_, edit) => {
    const work = (text: string): number => charactersIn(() => void new EditMatcher(text).match(edit));
    const uniform = work(textOf("\n"));
    expect(uniform).toBeGreaterThan(textOf("\n").length);
    expect(work(textOf("\n", "\r\n")) / uniform).toBeLessThan(3);
    expect(work(textOf("\r\n", "\n", "\r", "\n")) / uniform).toBeLessThan(3);
  });
});

/** Few letters, so that much repeats. */
const letters = (maxLength: number) => fc.string({ unit: fc.constantFrom("a", "b"), maxLength });

describe("occurrences of a text", () => {
  /** The plain way. */
  function naive(needle: string, text: string): number[] {
    const starts: number[] = [];
    for (let at = 0; at + needle.length <= text.length; at++) {
      if (text.slice(at, at + needle.length) === needle) starts.push(at);
    }
    return starts;
  }

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

describe("edits at random", () => {
  interface Edit {
    readonly oldText: string;
    readonly newText: string;
    readonly expect: number;
  }

  /** The plain way: every place looked at, everything copied. @returns the new text, or the code of the failure */
  function naive(text: string, edits: readonly Edit[]): { text: string } | { code: string } {
    const taken: { start: number; end: number; newText: string }[] = [];
    for (const { oldText, newText, expect: expected } of edits) {
      const starts = [...text].flatMap((_, at) => (text.slice(at).startsWith(oldText) ? [at] : []));
      if (starts.length === 0) return { code: "NO_MATCH" };
      if (starts.length !== expected) return { code: "AMBIGUOUS_MATCH" };
      for (const start of starts) taken.push({ start, end: start + oldText.length, newText });
    }
    const clash = taken.some((one) => taken.some((two) => one !== two && one.start < two.end && two.start < one.end));
    if (clash) return { code: "OVERLAPPING_EDITS" };
    let after = text;
    for (const { start, end, newText } of taken.toSorted((left, right) => right.start - left.start)) {
      after = after.slice(0, start) + newText + after.slice(end);
    }
    return { text: after };
  }

  const part = (maxLength: number, minLength = 0) =>
    fc.string({ unit: fc.constantFrom("a", "b", "ä", "\n"), minLength, maxLength });

  /** A text and edits, most of which match. */
  const cases = part(40).chain((text) => {
    const slice = fc
      .tuple(fc.nat({ max: text.length }), fc.integer({ min: 1, max: 12 }))
      .map(([start, length]) => text.slice(start, start + length) || "a");
    const oldText = fc.oneof({ weight: 5, arbitrary: slice }, { weight: 1, arbitrary: part(3, 1) });
    const edit = fc.record({ oldText, newText: part(6), expect: fc.constantFrom(1, 1, 1, 2, 3) });
    return fc.tuple(fc.constant(text), fc.array(edit, { minLength: 1, maxLength: 4 }));
  });

  describe("file:edit does what the plain way does", () => {
    test.each(["\n", "\r\n", "\r"])("with lines that end in %j", async (terminator) => {
      const { call, internal } = dispatchOn();
      const written = (text: string) => text.replaceAll("\n", terminator);
      await fc.assert(
        fc.asyncProperty(cases, async ([text, edits]) => {
          const content = written(text);
          await call("write", { content });
          const expected = naive(text, edits);
          const edited = call("edit", { edits });
          if ("code" in expected) expect((await failureOf(edited)).code).toBe(expected.code);
          else {
            const after = written(expected.text);
            // A text without lines has no line ending that others could be taken to have.
            const exact = text.includes("\n") ? after : expected.text;
            expect(await edited).toMatchObject({
              etag: etagOf(sha256Of(exact)),
              previousEtag: etagOf(sha256Of(content)),
            });
            expect(await call("read")).toMatchObject({ content: exact });
          }
        }),
        { numRuns: 400 },
      );
      expect(internal).toEqual([]);
    });
  });

  /** A text, and two edits of neighbouring parts that put the same characters there again, cut in another place. */
  const recut = fc
    .string({ unit: fc.constantFrom("a", "b", "c", "\n", "\r", "\r\n", "\ufeff"), minLength: 2, maxLength: 12 })
    .chain((text) =>
      fc.tuple(fc.constant(text), fc.array(fc.nat({ max: text.length }), { minLength: 4, maxLength: 4 })),
    )
    .map(([text, cuts]) => {
      const [start, one, two, end] = cuts.toSorted((left, right) => left - right) as [number, number, number, number];
      const cut = (at: number) => [text.slice(start, at), text.slice(at, end)] as const;
      const [olds, news] = [cut(one), cut(two)];
      const edits = olds.map((oldText, index) => ({ oldText, newText: news[index] ?? "", expect: 1 }));
      return [text, edits.filter(({ oldText }) => oldText !== "")] as const;
    })
    .filter(([, edits]) => edits.length > 0);

  test("edits that leave a text as it is are known as such without it", async () => {
    const { call, internal } = dispatchOn();
    let unchanged = 0;
    await fc.assert(
      fc.asyncProperty(recut, async ([content, edits]) => {
        await call("write", { content });
        const answer = await call("edit", { edits }).catch(() => ({}));
        const { etag, previousEtag } = answer as { etag?: string; previousEtag?: string };
        if (etag === undefined || etag !== previousEtag) return;
        unchanged++;
        expect(mayCancelOut(edits)).toBe(true);
      }),
      { numRuns: 1000 },
    );
    expect(unchanged).toBeGreaterThan(100);
    expect(internal).toEqual([]);
  });
});
