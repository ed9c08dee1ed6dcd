import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "@jest/globals";
import fc from "fast-check";
import type { EditedText, TextChange } from "../../../src/core/call/terms.js";
import { createFileAdapter, createProfile, type FileAdapter } from "../../../src/index.js";
import { linesAt, withTerminator } from "../../../src/ops/content/terminators.js";
import { applyReplacements, firstDifference } from "../../../src/ops/editing/match.js";
import { gatherEdits, parseEdits } from "../../../src/profiles/everruns/edit-arguments.js";
import { normaliseLineEnds, reportEdit } from "../../../src/profiles/everruns/edit-diff.js";
import { planEdits, shownText } from "../../../src/profiles/everruns/edit-file.js";
import { makeFolder } from "../../cli/process.js";
import { failureOf } from "../../ops/ground.js";
import { hashOf, KINDS, useBed, useBed050 } from "./bed.js";

describe.each(KINDS)("edit_file on a %s root", (kind) => {
  const bed = useBed({ kind, binding: { prefix: "s" } });
  const { call, fail } = bed;
  const path = "/workspace/f.txt";
  const put = async (content: string) => (await call("write_file", { path, content }))["content_hash"];

  test("replaces what is there once, and gives the new hash and a diff", async () => {
    const expected_hash = await put("alpha\nbeta\ngamma\n");
    const content = "alpha\ndelta\ngamma\n";
    expect(await call("edit_file", { path, expected_hash, old_text: "beta", new_text: "delta" })).toEqual({
      ...{ path, size_bytes: content.length, content_hash: hashOf(content), previous_content_hash: expected_hash },
      ...{ applied_edits: 1, first_changed_line: 2, diff_truncated: false },
      diff: `--- ${path} (before)\n+++ ${path} (after)\n@@ -1,3 +1,3 @@\n alpha\n-beta\n+delta\n gamma\n`,
    });
    expect((await call("read_file", { path }))["content"]).toBe(content);
  });

  test.each([
    ["\ufeffalpha\r\nbeta\r\n", "beta\n", "gamma\n", "\ufeffalpha\r\ngamma\r\n"],
    ["a\rb\rc\r", "b\n", "x\ny\n", "a\rx\ry\rc\r"],
    ["a\nb", "b", "", "a\n"],
  ])("keeps mark and line ends of %j", async (text, old_text, new_text, expected) => {
    const expected_hash = await put(text);
    expect(await call("edit_file", { path, expected_hash, old_text, new_text })).toMatchObject({ applied_edits: 1 });
    expect((await call("read_file", { path }))["content"]).toBe(expected);
  });

  test("several edits are one change, each against the original", async () => {
    const expected_hash = await put("one two three");
    const edits = [
      { old_text: "three", new_text: "one" },
      { old_text: "one", new_text: "three" },
    ];
    expect(await call("edit_file", { path, expected_hash, edits })).toMatchObject({ applied_edits: 2 });
    expect((await call("read_file", { path }))["content"]).toBe("three two one");
  });

  test("an edit to the same text is a success that writes nothing", async () => {
    const expected_hash = await put("same\n");
    const answer = await call("edit_file", { path, expected_hash, old_text: "same", new_text: "same" });
    expect(answer).toMatchObject({
      ...{ content_hash: expected_hash, previous_content_hash: expected_hash, applied_edits: 1 },
      ...{ first_changed_line: null, diff: "", diff_truncated: false },
    });
  });

  test("the first fault in the order of the tool is told, and nothing is written", async () => {
    const expected_hash = await put("alpha beta\n");
    const pair = { old_text: "alpha", new_text: "x" };
    const stale =
      `File '${path}' changed since the last read. Expected sha256:0, found ${expected_hash}. ` +
      "Read the file again before editing.";
    const notText =
      "File '/workspace/bin' is not a text file. edit_file only supports text files; use write_file for binary/base64 content.";
    await call("write_file", { path: "bin", content: "AGFhYQ==", encoding: "base64" });
    await call("write_file", { path: "latin", content: "/w==", encoding: "base64" });
    for (const [args, text] of [
      [{}, "Missing required parameter: path"],
      [{ path }, "Missing required parameter: expected_hash"],
      [{ path: "none", expected_hash: "sha256:0" }, "Provide old_text/new_text or a non-empty edits array"],
      [{ path: "none", expected_hash: "sha256:0", ...pair }, "File not found: /workspace/none"],
      [{ path: "bin", expected_hash: "sha256:0", ...pair }, notText],
      [{ path: "latin", expected_hash: "sha256:0", ...pair }, notText.replace("bin", "latin")],
      [{ path, expected_hash: "sha256:0", old_text: "none", new_text: "" }, stale],
      [{ path, expected_hash, old_text: "none", new_text: "" }, "Could not find an exact match for old_text: 'none'"],
      [
        { path, expected_hash, old_text: "a", new_text: "" },
        "old_text is ambiguous and matched multiple locations: 'a'",
      ],
      [{ path, expected_hash, edits: [pair, { old_text: "a b", new_text: "" }] }, "Edits overlap in the target file"],
      [{ path, expected_hash, edits: [{ new_text: "" }] }, "Edit 1 is missing old_text"],
      [{ path, expected_hash, edits: [{ old_text: 1 }] }, "Invalid parameter edits.0.old_text: must be a string"],
    ] as const) {
      expect(await fail("edit_file", args)).toBe(text);
    }
    expect((await call("read_file", { path }))["content"]).toBe("alpha beta\n");
  });

  test("of edits that race, one wins, and the others are told the hash that is there now", async () => {
    const expected_hash = await put("0");
    const answers = await Promise.all(
      Array.from({ length: 8 }, (_, index) =>
        call("edit_file", { path, expected_hash, old_text: "0", new_text: `n${index}` }),
      ),
    );
    const won = answers.filter(({ error }) => error === undefined);
    expect(won).toHaveLength(1);
    const now = String((await call("read_file", { path }))["content_hash"]);
    expect(won[0]?.["content_hash"]).toBe(now);
    for (const { error } of answers) {
      if (error === undefined) continue;
      expect(error).toBe(
        `File '${path}' changed since the last read. Expected ${expected_hash}, found ${now}. Read the file again before editing.`,
      );
    }
  });

  test("a text that is as long as may be, and one edit too many", async () => {
    const expected_hash = await put("x".repeat(100));
    const edits = Array.from({ length: 101 }, () => ({ old_text: "y", new_text: "" }));
    expect(await fail("edit_file", { path, expected_hash, edits })).toBe(
      "Invalid parameter edits: at most 100 replacements",
    );
    const new_text = "y".repeat(8_388_609);
    expect(await fail("edit_file", { path, expected_hash, old_text: "x".repeat(100), new_text })).toContain(
      "size limit",
    );
  });
});

/** The adapter, with something done each time an edit has been planned. */
function between(adapter: FileAdapter, done: () => void): FileAdapter {
  const invoke = (name: string, input: unknown, context?: Parameters<FileAdapter["invoke"]>[2]) => {
    const { terms }: { terms?: { edits?: { plan(file: unknown): Promise<unknown> } } | undefined } = Object(context);
    const edits = terms?.edits;
    const planned = edits && {
      plan: async (file: unknown) => {
        const plan = await edits.plan(file);
        done();
        return plan;
      },
    };
    const given = planned === undefined ? context : { ...context, terms: { ...terms, edits: planned } };
    return adapter.invoke(name as never, input as never, given as never);
  };
  return Object.create(adapter, { invoke: { value: invoke } });
}

describe("a writer that comes between the look and the change", () => {
  const bed = useBed();
  const { put } = bed;

  const edit = { path: "f", expected_hash: hashOf("old\n"), old_text: "old", new_text: "new" };

  test.each([
    ["other content", "theirs\n", `Expected ${hashOf("old\n")}, found ${hashOf("theirs\n")}.`],
    ["bytes", Buffer.from([0xff]), "is not a text file."],
  ])("keeps %s", async (_what, theirs, text) => {
    put("f", "old\n");
    const adapter = between(bed.adapter, () => writeFileSync(join(bed.dir, "f"), theirs));
    const profile = createProfile(adapter, { profile: "everruns", root: "r" });
    expect(String((await profile.call("edit_file", edit))["error"])).toContain(text);
    expect(bed.get("f")).toBe(theirs.toString());
  });

  test("and takes the file away: then it is not there", async () => {
    const { rmSync, mkdirSync } = await import("node:fs");
    put("f", "old\n");
    const remove = () => rmSync(join(bed.dir, "f"), { recursive: true, force: true });
    const gone = createProfile(between(bed.adapter, remove), { profile: "everruns", root: "r" });
    expect(await gone.call("edit_file", edit)).toEqual({ error: "File not found: /workspace/f" });
    put("f", "old\n");
    const replace = () => {
      remove();
      mkdirSync(join(bed.dir, "f"), { recursive: true });
    };
    const changed = createProfile(between(bed.adapter, replace), { profile: "everruns", root: "r" });
    expect(await changed.call("edit_file", edit)).toEqual({
      error: "Path '/workspace/f' is a directory, not a file. Use list_directory instead.",
    });
    remove();
  });

  test("and puts back what was there: then the edit is made", async () => {
    put("f", "old\n");
    let looks = 0;
    const replaced = between(bed.adapter, () => {
      if (++looks === 1) put("f", "theirs\n");
    });
    const invoke = (...args: Parameters<FileAdapter["invoke"]>) => {
      if (looks === 1) put("f", "old\n");
      return replaced.invoke(...args);
    };
    const adapter = Object.create(replaced, { invoke: { value: invoke } });
    const profile = createProfile(adapter, { profile: "everruns", root: "r" });
    expect(await profile.call("edit_file", edit)).toMatchObject({ content_hash: hashOf("new\n") });
    expect(looks).toBe(2);
  });
});

test("there are two variants, and one of them rebases", async () => {
  const { createFileAdapter } = await import("../../../src/index.js");
  const adapter = await createFileAdapter({ roots: { r: { temp: true } } });
  try {
    const bind = (more: object) => () => createProfile(adapter, { profile: "everruns", root: "r", ...more });
    expect(bind({ variant: "v2" })).toThrow("Variant 'v2' of profile 'everruns' is not supported: use 'strict'");
    expect(bind({ onStale: "rebase" })).toThrow(
      "onStale 'rebase' of profile 'everruns' is not supported: use 'reject'",
    );
    expect(bind({ variant: "0.50", onStale: "merge" })).toThrow("is not supported: use 'rebase' or 'reject'");
    for (const onStale of ["rebase", "reject", undefined]) {
      expect(bind({ variant: "0.50", ...(onStale && { onStale }) })).not.toThrow();
    }
    expect(bind({ alias: "workspace" })).toThrow("'alias' of profile 'everruns' must be null or an absolute path");
    expect(bind({ root: "none" })).toThrow("does not exist");
    expect(bind({ variant: "strict", onStale: "reject", alias: "/home" })).not.toThrow();
  } finally {
    await adapter.close();
  }
});

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

const path = "/workspace/f.txt";
const STALE = hashOf("something else");
const LINES = Array.from({ length: 10 }, (_, index) => `line ${index}`);

describe.each(KINDS)("edit_file on a %s root", (kind) => {
  const bed = useBed050({ kind });
  const { call, fail } = bed;
  const put = async (content: string) => String((await call("write_file", { path, content }))["content_hash"]);
  const content = async () => {
    const read = await call("read_file", { path });
    return String(read["content"]).replace(/^\d+\|/gm, "");
  };

  test("answers as the strict one, and that nothing was rebased", async () => {
    const expected_hash = await put("alpha\nbeta\ngamma\n");
    const edits = [{ old_text: "beta", new_text: "delta" }];
    const answer = await call("edit_file", { path, expected_hash, edits });
    expect(answer).toEqual({
      ...{ path, size_bytes: 18, content_hash: hashOf("alpha\ndelta\ngamma\n"), previous_content_hash: expected_hash },
      ...{ applied_edits: 1, rebased: false, first_changed_line: 2, diff_truncated: false },
      diff: `--- ${path} (before)\n+++ ${path} (after)\n@@ -1,3 +1,3 @@\n alpha\n-beta\n+delta\n gamma\n`,
    });
    expect(Object.keys(answer)).toEqual([
      ...["path", "size_bytes", "content_hash", "previous_content_hash", "applied_edits", "rebased"],
      ...["first_changed_line", "diff", "diff_truncated"],
    ]);
  });

  test("takes a single pair first, drops duplicates and empty pairs", async () => {
    const expected_hash = await put("a b c");
    const edits = [
      { old_text: "a", new_text: "1" },
      { old_text: "", new_text: "" },
      { old_text: "b", new_text: "2" },
      { old_text: "b", new_text: "2" },
    ];
    const answer = await call("edit_file", { path, expected_hash, old_text: "a", new_text: "1", edits });
    expect(answer).toMatchObject({ applied_edits: 2, rebased: false });
    expect(await content()).toBe("1 2 c");
  });

  test("applies an edit of a file that has changed, where each old text is there exactly once", async () => {
    const found = await put("\ufeffone\r\ntwo\r\nthree\r\n");
    const edits = [
      { old_text: "three\n", new_text: "3\n" },
      { old_text: "one", new_text: "1" },
    ];
    expect(await call("edit_file", { path, expected_hash: STALE, edits })).toMatchObject({
      ...{ rebased: true, applied_edits: 2, previous_content_hash: found, first_changed_line: 1 },
      content_hash: hashOf("\ufeff1\r\ntwo\r\n3\r\n"),
    });
  });

  test.each([
    ["qqqq", "Could not find an exact match for old_text: 'qqqq'"],
    ["twp", "Could not find an exact match for old_text: 'twp' Closest match at line 2: 'two'"],
    ["o", "old_text is ambiguous and matched multiple locations: 'o'"],
  ])("refuses a stale edit of %j, and says why", async (old_text, why) => {
    const found = await put("one\ntwo\n");
    for (const expected_hash of [STALE, "sha256:0", `\u202e${"x".repeat(200)}`]) {
      const shown = expected_hash.startsWith("sha") ? expected_hash : `\\u{202e}${"x".repeat(99)}`;
      expect(await fail("edit_file", { path, expected_hash, old_text, new_text: "x" })).toBe(
        `File '${path}' changed since the last read (expected ${shown}, found ${found}) and the edits conflict with its current content: ${why}. Read the file again before editing.`,
      );
    }
    expect(await content()).toBe("one\ntwo");
  });

  test("refuses stale edits that overlap, all of them", async () => {
    await put("abcdef");
    const edits = [
      { old_text: "abcd", new_text: "" },
      { old_text: "cdef", new_text: "" },
    ];
    const text = await fail("edit_file", { path, expected_hash: STALE, edits });
    expect(text).toContain("conflict with its current content: Edits overlap in the target file. Read");
    expect(await content()).toBe("abcdef");
  });

  test("tells faults of a fresh edit as they are", async () => {
    const expected_hash = await put("one\n");
    const why = "Could not find an exact match for old_text: 'qqqq'";
    expect(await fail("edit_file", { path, expected_hash, old_text: "qqqq", new_text: "" })).toBe(why);
  });

  test.each([
    [{}, "Missing required parameter: path"],
    [{ path }, "Missing required parameter: expected_hash"],
    [
      { path, expected_hash: "" },
      "edit_file requires a non-empty edits[] array; each entry needs old_text and new_text",
    ],
    [
      { path, expected_hash: "", edits: [{ old_text: "", new_text: "" }] },
      "edit_file requires a non-empty edits[] array; each entry needs old_text and new_text",
    ],
    [{ path, expected_hash: "", edits: [{ old_text: "a" }] }, "Edit 1 is missing new_text"],
    [
      { path, expected_hash: "", edits: [{ old_text: "a", new_text: "b", all: true }] },
      "Invalid parameter edits.0.all: unknown field 'all'. Known fields: old_text, new_text",
    ],
    [{ path: "none", expected_hash: "", old_text: "a", new_text: "b" }, "File not found: /workspace/none"],
    [
      { path: "bin", expected_hash: "", old_text: "a", new_text: "b" },
      "File '/workspace/bin' is not a text file. edit_file only supports text files; use write_file for binary/base64 content.",
    ],
  ])("refuses %j", async (args, text) => {
    await call("write_file", { path: "bin", content: "AGFhYQ==", encoding: "base64" });
    expect(await fail("edit_file", args)).toBe(text);
  });

  test("ten stale edits at once all land where they do not touch", async () => {
    await put(`${LINES.join("\n")}\n`);
    const answers = await Promise.all(
      LINES.map((line) =>
        call("edit_file", { path, expected_hash: STALE, edits: [{ old_text: line, new_text: `${line}!` }] }),
      ),
    );
    expect(answers.map(({ error, rebased }) => [error, rebased])).toEqual(LINES.map(() => [undefined, true]));
    expect(await content()).toBe(LINES.map((line) => `${line}!`).join("\n"));
    // Each was planned on what the one before had made.
    const chain = new Map(answers.map((answer) => [answer["previous_content_hash"], answer["content_hash"]]));
    let hash: unknown = hashOf(`${LINES.join("\n")}\n`);
    for (const _ of answers) hash = chain.get(hash);
    expect(hash).toBe(hashOf(`${LINES.map((line) => `${line}!`).join("\n")}\n`));
  });

  test("of ten stale edits of the same text one lands, and each other says why", async () => {
    await put("0\n");
    const answers = await Promise.all(
      LINES.map((line) =>
        call("edit_file", {
          path,
          expected_hash: STALE,
          edits: [
            {
              old_text: "0",
              new_text: line.replace(" ", "").replace(/\d/, (digit) => String.fromCharCode(97 + Number(digit))),
            },
          ],
        }),
      ),
    );
    const landed = answers.filter(({ error }) => error === undefined);
    expect(landed).toHaveLength(1);
    expect(landed[0]?.["content_hash"]).toBe((await call("read_file", { path }))["content_hash"]);
    for (const { error } of answers) {
      if (error !== undefined)
        expect(error).toContain("conflict with its current content: Could not find an exact match for old_text: '0'");
    }
  });

  test("a caller who may only write learns nothing by edits with a wrong hash", async () => {
    await put("secret\n");
    const blind = { ...bed.context, caps: [{ with: "file://r/s/", can: "crud/write" }] };
    for (const old_text of ["secret", "sekret"]) {
      expect(await fail("edit_file", { path, expected_hash: STALE, old_text, new_text: old_text }, blind)).toBe(
        `File '${path}' changed since the last read. Expected ${STALE}. Read the file again before editing.`,
      );
    }
    const fresh = { path, expected_hash: hashOf("secret\n"), old_text: "secret", new_text: "x" };
    expect(await call("edit_file", fresh, blind)).toEqual({ path, size_bytes: 2, applied_edits: 1 });
  });
});

describe.each(KINDS)("with onStale: reject on a %s root", (kind) => {
  const { call, fail } = useBed050({ kind, binding: { onStale: "reject" } });

  test("a stale edit is refused, whatever it would find", async () => {
    const found = (await call("write_file", { path, content: "one\n" }))["content_hash"];
    const edits = [{ old_text: "one", new_text: "1" }];
    expect(await fail("edit_file", { path, expected_hash: STALE, edits })).toBe(
      `File '${path}' changed since the last read. Expected ${STALE}, found ${found}. Read the file again before editing.`,
    );
    expect(await call("edit_file", { path, expected_hash: found, edits })).toMatchObject({ rebased: false });
  });
});

describe("where another writer comes between", () => {
  const bed = useBed050();

  test.each([
    ["fresh", hashOf("old\n")],
    ["stale", STALE],
  ])("a %s edit is refused, and what is there stays", async (_what, expected_hash) => {
    bed.put("f.txt", "old\n");
    const adapter = between(bed.adapter, () => writeFileSync(join(bed.dir, "f.txt"), "old theirs\n"));
    const profile = createProfile(adapter, { profile: "everruns", root: "r", prefix: "s", variant: "0.50" });
    expect(await profile.call("edit_file", { path, expected_hash, old_text: "old", new_text: "new" })).toEqual({
      error: `File '${path}' changed since the last read. Expected ${expected_hash}, found ${hashOf("old theirs\n")}. Read the file again before editing.`,
    });
    expect(bed.get("f.txt")).toBe("old theirs\n");
  });
});

test("edits of two servers at once: each lands or says why, none is lost", async () => {
  const folder = makeFolder();
  mkdirSync(join(folder, "s"));
  const file = join(folder, "s/f.txt");
  const adapters = await Promise.all([0, 1].map(() => createFileAdapter({ roots: { r: { path: folder } } })));
  try {
    const profiles = adapters.map((adapter) =>
      createProfile(adapter, { profile: "everruns", root: "r", prefix: "s", variant: "0.50" }),
    );
    for (let round = 0; round < 5; round++) {
      writeFileSync(file, `${LINES.join("\n")}\n`);
      const answers = await Promise.all(
        LINES.map((line, index) =>
          profiles[index % 2]?.call("edit_file", { path, expected_hash: STALE, old_text: line, new_text: `${line}!` }),
        ),
      );
      const landed = answers.map((answer) => answer?.["error"] === undefined);
      for (const answer of answers) {
        if (answer?.["error"] !== undefined) expect(answer["error"]).toContain("changed since the last read. Expected");
      }
      expect(landed).toContain(true);
      expect(readFileSync(file, "utf8")).toBe(
        `${LINES.map((line, index) => (landed[index] ? `${line}!` : line)).join("\n")}\n`,
      );
    }
  } finally {
    await Promise.all(adapters.map((adapter) => adapter.close()));
  }
});
