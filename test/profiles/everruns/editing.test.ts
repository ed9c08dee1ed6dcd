import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "@jest/globals";
import type { FileAdapter } from "../../../src/index.js";
import { createProfile } from "../../../src/index.js";
import { hashOf, KINDS, useBed } from "./bed.js";

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

describe("a writer that comes between the look and the change", () => {
  const bed = useBed();
  const { put } = bed;

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
