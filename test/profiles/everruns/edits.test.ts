import { describe, expect, test } from "@jest/globals";
import fc from "fast-check";
import type { EditedText, TextChange } from "../../../src/core/call/terms.js";
import { linesAt, withTerminator } from "../../../src/ops/content/terminators.js";
import { applyReplacements, firstDifference } from "../../../src/ops/editing/match.js";
import { gatherEdits, parseEdits } from "../../../src/profiles/everruns/edit-arguments.js";
import { normaliseLineEnds, reportEdit } from "../../../src/profiles/everruns/edit-diff.js";
import { planEdits, shownText } from "../../../src/profiles/everruns/edit-file.js";
import { failureOf } from "../../ops/ground.js";

const inFile = (text: string, mayRead = true): EditedText => ({
  ...{ text, sha256: "", mayRead },
  breathe: async () => {},
  remainingMs: () => 1000,
});
const pairs = (edits: readonly (readonly [string, string])[]) =>
  edits.map(([oldText, newText]) => ({ oldText, newText }));

async function edited(text: string, ...edits: readonly (readonly [string, string])[]): Promise<string> {
  return applyReplacements(text, await planEdits(pairs(edits), inFile(text)));
}
const refusal = async (text: string, ...edits: readonly (readonly [string, string])[]) =>
  (await failureOf(planEdits(pairs(edits), inFile(text)))).message;

describe("what is asked for", () => {
  const edit = { old_text: "a", new_text: "b" };
  test.each([
    [{ ...edit, edits: [edit] }, "Provide either old_text/new_text or edits, not both"],
    [{ old_text: "a", edits: [] }, "Provide either old_text/new_text or edits, not both"],
    [{}, "Provide old_text/new_text or a non-empty edits array"],
    [{ edits: [] }, "edits must contain at least one replacement"],
    [{ new_text: "b" }, "Missing required parameter: old_text"],
    [{ old_text: "a" }, "Missing required parameter: new_text"],
    [{ ...edit, old_text: "" }, "old_text cannot be empty"],
    [{ edits: [edit, { new_text: "" }] }, "Edit 2 is missing old_text"],
    [{ edits: [{ old_text: "" }] }, "Edit 1 is missing new_text"],
    [{ edits: [edit, edit, { ...edit, old_text: "" }] }, "Edit 3 has an empty old_text"],
    [{ ...edit, new_text: "\ud800" }, "Invalid parameter new_text: not well-formed Unicode"],
    [{ edits: [{ ...edit, old_text: "\udc00" }] }, "Invalid parameter edits.0.old_text: not well-formed Unicode"],
    [{ edits: Array.from({ length: 101 }, () => edit) }, "Invalid parameter edits: at most 100 replacements"],
  ])("%j is refused", async (given, message) => {
    const failure = await failureOf(Promise.resolve().then(() => parseEdits(given)));
    expect(failure).toMatchObject({ code: "INVALID_INPUT", message });
  });

  test.each([
    [{ ...edit }, [["a", "b"]]],
    [
      { ...edit, edits: [{ old_text: "c", new_text: "" }, edit] },
      [
        ["a", "b"],
        ["c", ""],
      ],
    ],
    [
      { edits: [edit, { old_text: "", new_text: "" }, edit, { ...edit, new_text: "c" }] },
      [
        ["a", "b"],
        ["a", "c"],
      ],
    ],
    [{ old_text: "", new_text: "", edits: [edit] }, [["a", "b"]]],
    [{ old_text: "", edits: [edit] }, [["a", "b"]]],
  ] as const)("0.50 takes %j: a pair first, no duplicates, no empty pairs", (given, expected) => {
    expect(gatherEdits(given)).toEqual(pairs(expected));
  });

  const NONE = "edit_file requires a non-empty edits[] array; each entry needs old_text and new_text";
  test.each([
    [{}, NONE],
    [{ edits: [] }, NONE],
    [{ old_text: "", new_text: "", edits: [{ old_text: "", new_text: "" }] }, NONE],
    [{ old_text: "", new_text: "b" }, "old_text cannot be empty"],
    [{ old_text: "a" }, "Missing required parameter: new_text"],
    [
      {
        edits: [
          { old_text: "", new_text: "" },
          { old_text: "", new_text: "b" },
        ],
      },
      "Edit 2 has an empty old_text",
    ],
    [{ edits: [{ new_text: "b" }] }, "Edit 1 is missing old_text"],
    [{ edits: [{ ...edit, new_text: "\ud800" }] }, "Invalid parameter edits.0.new_text: not well-formed Unicode"],
    [{ edits: Array.from({ length: 101 }, () => edit) }, "Invalid parameter edits: at most 100 replacements"],
  ])("0.50 refuses %j", async (given, message) => {
    const failure = await failureOf(Promise.resolve().then(() => gatherEdits(given)));
    expect(failure).toMatchObject({ code: "INVALID_INPUT", message });
  });

  test("one, or several; to nothing is a deletion", () => {
    expect(parseEdits({ old_text: "a", new_text: "" })).toEqual(pairs([["a", ""]]));
    expect(parseEdits({ edits: [edit, edit] })).toEqual(
      pairs([
        ["a", "b"],
        ["a", "b"],
      ]),
    );
  });
});

describe("where an edit goes", () => {
  test.each([
    ["alpha\nbeta\ngamma\n", [["beta", "delta"]], "alpha\ndelta\ngamma\n"],
    ["\ufeffalpha\r\nbeta\r\n", [["beta\n", "gamma\n"]], "\ufeffalpha\r\ngamma\r\n"],
    // A mark in what is asked for is set aside, wherever the text stands.
    ["\ufeffab", [["\ufeffab", "\ufeffcd"]], "\ufeffcd"],
    ["xab", [["\ufeffab", "\ufeffcd"]], "xcd"],
    ["\ufeffab", [["a", "\ufeff\ufeffx"]], "\ufeff\ufeffxb"],
    // One kind of line ends: old and new text are taken to have it.
    ["a\rb\rc", [["a\nb", "x\r\ny"]], "x\ry\rc"],
    ["a\r\nb", [["a\rb", "x\ny"]], "x\r\ny"],
    ["one line", [["one", "a\nb"]], "a\nb line"],
    // Several: first as it is, then as the file mostly is.
    ["a\r\nb\r\nc\nd\n\r\n", [["c\nd", "C\nD"]], "a\r\nb\r\nC\nD\n\r\n"],
    ["a\r\nb\r\nc\nd\n\r\n", [["a\nb", "A\nB"]], "A\r\nB\r\nc\nd\n\r\n"],
    ["a\nb\r\nc", [["b\nc", "x"]], undefined],
    ["b\r\nc\na", [["b\nc", "x\ny"]], "x\r\ny\na"],
    // Touching, in any order, all against the original.
    [
      "abcd",
      [
        ["cd", "2"],
        ["ab", "1"],
      ],
      "12",
    ],
    [
      "ab",
      [
        ["a", "b"],
        ["b", "a"],
      ],
      "ba",
    ],
  ] as const)("%j with %j is %j", async (text, edits, expected) => {
    const given: readonly (readonly [string, string])[] = edits;
    if (expected === undefined) expect(await refusal(text, ...given)).toMatch(/^Could not find/);
    else expect(await edited(text, ...given)).toBe(expected);
  });

  test.each([
    ["aaa", "aa"],
    ["x\r\nx\n", "x"],
    ["ab ab", "ab"],
  ])("in %j %j is ambiguous", async (text, old) => {
    const message = `old_text is ambiguous and matched multiple locations: '${old}'`;
    expect(await refusal(text, [old, "y"])).toBe(message);
  });

  test("ranges that overlap are refused", async () => {
    expect(await refusal("abcdef", ["abcd", "1"], ["cdef", "2"])).toBe("Edits overlap in the target file");
    expect(await refusal("abc", ["b", "1"], ["b", "2"])).toBe("Edits overlap in the target file");
    expect(await refusal("abcdef", ["abcdef", "1"], ["c", "2"])).toBe("Edits overlap in the target file");
  });

  test("what is not there is told with the nearest line", async () => {
    const text = "def main():\r\n    return 'Hello'\r\n";
    expect(await refusal(text, ["return 'Helo'", "x"])).toBe(
      "Could not find an exact match for old_text: 'return 'Helo''. Closest match at line 2: '    return 'Hello''.".replace(
        "''. Closest",
        "'' Closest",
      ),
    );
    expect(await refusal("a\n", ["something else", "x"])).toBe(
      "Could not find an exact match for old_text: 'something else'",
    );
    const blind = await failureOf(planEdits(pairs([["return 'Helo'", "x"]]), inFile(text, false)));
    expect(blind.message).toBe("Could not find an exact match for old_text: 'return 'Helo''");
  });

  test("a mark alone is no text to look for", async () => {
    expect(await refusal("\ufeffa", ["\ufeff", "x"])).toBe("old_text cannot be empty");
  });

  test("a text is shown in one line of at most 80 characters", () => {
    expect(shownText("a\r\nb\rc\nd")).toBe("a\\nb\\nc\\nd");
    expect(shownText("x".repeat(80))).toBe("x".repeat(80));
    expect(shownText("😀".repeat(81))).toBe(`${"😀".repeat(80)}…`);
    expect(shownText(`${"y".repeat(79)}\n`)).toBe(`${"y".repeat(79)}\\…`);
    expect(shownText("\u202e")).toBe("\\u{202e}");
  });
});

describe("what is told of an edit", () => {
  const still = () => 0;
  async function told(text: string, edits: readonly (readonly [string, string])[], clock = still) {
    const changes = await planEdits(pairs(edits), inFile(text));
    // What the operation answers.
    const first = firstDifference(text, applyReplacements(text, changes), 0);
    const firstLine = first === undefined ? undefined : linesAt([first], text)[0];
    return reportEdit({ text, changes, path: "/workspace/f", firstLine }, clock);
  }
  const header = "--- /workspace/f (before)\n+++ /workspace/f (after)\n";

  test("a diff with two lines around", async () => {
    const text = "1\n2\nalpha\nbeta\ngamma\n6\n7\n";
    expect(await told(text, [["beta", "delta"]])).toEqual({
      first_changed_line: 4,
      diff: `${header}@@ -2,5 +2,5 @@\n 2\n alpha\n-beta\n+delta\n gamma\n 6\n`,
      diff_truncated: false,
    });
  });

  test.each(["\n", "\r\n", "\r"] as const)("with line ends %j as with any others", async (end) => {
    const text = withTerminator(end, "\ufeffalpha\nbeta\ngamma");
    const answer = await told(text, [
      ["beta\n", ""],
      ["gamma", "x\ny"],
    ]);
    expect(answer).toEqual({
      first_changed_line: 2,
      diff: `${header}@@ -1,3 +1,3 @@\n alpha\n-beta\n-gamma\n\\ No newline at end of file\n+x\n+y\n\\ No newline at end of file\n`,
      diff_truncated: false,
    });
  });

  test("nothing of an edit that changes nothing", async () => {
    const nothing = { first_changed_line: null, diff: "", diff_truncated: false };
    expect(await told("a\nb\n", [["b", "b"]])).toEqual(nothing);
    expect(await told("a\r\nb\r\n", [["a\n", "a\n"]])).toEqual(nothing);
  });

  test("at most 16,000 characters of a diff", async () => {
    for (const unit of ["x", "😀"]) {
      // Both lines with their signs and ends, and what of them changes.
      const rest = `${header}@@ -1,1 +1,1 @@\n`.length + 4;
      const fits = unit.repeat(Math.floor((16_000 - rest - 2) / 2));
      const more = "b".repeat(1 + ((16_000 - rest) % 2));
      const whole = await told(`${fits}a\n`, [["a", more]]);
      expect([whole.diff_truncated, [...whole.diff].length]).toEqual([false, 16_000]);
      const { diff, diff_truncated } = await told(`${fits}${unit}a\n`, [["a", more]]);
      expect(diff_truncated).toBe(true);
      expect(diff.endsWith("\n... diff truncated after 16000 characters ...")).toBe(true);
      expect([...diff].length - [..."\n... diff truncated after 16000 characters ..."].length).toBe(16_000);
    }
  });

  test("only its header where it takes more than a second", async () => {
    let now = 0;
    const answer = await told("a\nb\n", [["b", "c"]], () => {
      now += 600;
      return now;
    });
    expect(answer).toEqual({
      first_changed_line: 2,
      diff: `${header}... diff truncated after 16000 characters ...`,
      diff_truncated: true,
    });
  });

  test("line ends are made plain in text and changes alike", () => {
    const piece = fc.string({ unit: fc.constantFrom("a", "\r", "\n"), maxLength: 12 });
    fc.assert(
      fc.property(
        piece,
        fc.array(fc.tuple(fc.nat(4), fc.integer({ min: 1, max: 3 }), piece), { maxLength: 4 }),
        (text, cuts) => {
          const changes: TextChange[] = [];
          let at = 0;
          for (const [gap, length, added] of cuts) {
            const start = at + gap;
            if (start + length > text.length) break;
            changes.push({ start, end: start + length, text: added });
            at = start + length;
          }
          const plain = normaliseLineEnds(text, changes);
          expect(plain.text).toBe(withTerminator("\n", text));
          expect(applyReplacements(plain.text, plain.changes)).toBe(
            withTerminator("\n", applyReplacements(text, changes)),
          );
        },
      ),
      { numRuns: 500 },
    );
  });
});
