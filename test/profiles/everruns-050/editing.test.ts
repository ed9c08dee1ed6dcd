import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "@jest/globals";
import { createFileAdapter, createProfile, type FileAdapter } from "../../../src/index.js";
import { makeFolder } from "../../cli/process.js";
import { hashOf, KINDS, useBed050 } from "./bed.js";

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
