import { chmodSync, existsSync, mkdirSync, readdirSync, statSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "@jest/globals";
import { etagOf } from "../../src/core/etag.js";
import type { SurfaceContext } from "../../src/core/ports/adapter.js";
import type { FileInputs } from "../../src/schema/types.js";
import { sha256Of } from "./editing/edit-fixture.js";
import { useGround } from "./ground.js";

const etag = (content: string): string => etagOf(sha256Of(content));
const patchOf = (...lines: readonly string[]): string => ["*** Begin Patch", ...lines, "*** End Patch", ""].join("\n");

describe("file:patch", () => {
  const ground = useGround({ root: { deny: ["secret/**", "*.key"], protect: ["kept"] } });
  const run = (patch: string, more: object = {}) => ground.run("patch", { patch, ...more });
  const fail = (patch: string, more: object = {}, context: SurfaceContext = {}) =>
    ground.fail("patch", { patch, ...more }, context);
  const text = (path: string): string => ground.get(path).toString();

  test("adds, changes, moves and deletes files at once, and says what it has done", async () => {
    ground.put("src/a.ts", "one\ntwo\nthree\n");
    ground.put("b.ts", "b\n");
    ground.put("c.ts", "c\n");
    chmodSync(join(ground.dir, "c.ts"), 0o755);
    const answer = await run(
      patchOf(
        ...["*** Update File: ./src/a.ts", "@@", " one", "-two", "+TWO", " three"],
        ...["*** Add File: new/deep/d.ts", "+d", "+"],
        ...["*** Delete File: b.ts"],
        ...["*** Update File: c.ts", "*** Move to: moved/c.ts", "@@", "-c", "+C"],
      ),
    );
    expect(answer).toEqual({
      files: [
        { path: "src/a.ts", action: "modify", etag: etag("one\nTWO\nthree\n") },
        { path: "new/deep/d.ts", action: "add", etag: etag("d\n\n") },
        { path: "b.ts", action: "delete" },
        { path: "moved/c.ts", from: "c.ts", action: "move", etag: etag("C\n") },
      ],
      applied: 4,
      diff: [
        "--- src/a.ts\n+++ src/a.ts\n@@ -1,3 +1,3 @@\n one\n-two\n+TWO\n three\n",
        "--- /dev/null\n+++ new/deep/d.ts\n@@ -0,0 +1,2 @@\n+d\n+\n",
        "--- b.ts\n+++ /dev/null\n",
        "rename from c.ts\nrename to moved/c.ts\n--- c.ts\n+++ moved/c.ts\n@@ -1,1 +1,1 @@\n-c\n+C\n",
      ].join(""),
      diffTruncated: false,
    });
    expect([text("src/a.ts"), text("new/deep/d.ts"), text("moved/c.ts")]).toEqual([
      "one\nTWO\nthree\n",
      "d\n\n",
      "C\n",
    ]);
    expect(statSync(join(ground.dir, "moved/c.ts")).mode & 0o777).toBe(0o755);
    expect([existsSync(join(ground.dir, "b.ts")), existsSync(join(ground.dir, "c.ts"))]).toEqual([false, false]);
  });

  test("takes a list of changes instead", async () => {
    ground.put("a", "one two");
    ground.put("b", "b");
    ground.put("c", "c");
    const changes: FileInputs["file:patch"]["changes"] = [
      { op: "edit", path: "a", edits: [{ oldText: "two", newText: "2" }] },
      { op: "write", path: "x/y", content: "y" },
      { op: "write", path: "b", content: "B" },
      { op: "move", path: "c", to: "x/c" },
      { op: "mkdir", path: "made" },
    ];
    const { files, applied } = await ground.run("patch", { changes });
    expect(files.map(({ path, action }) => [path, action])).toEqual([
      ["a", "modify"],
      ["x/y", "add"],
      ["b", "modify"],
      ["x/c", "move"],
      ["made", "add"],
    ]);
    expect(applied).toBe(5);
    expect([text("a"), text("x/y"), text("b"), text("x/c")]).toEqual(["one 2", "y", "B", "c"]);
  });

  test.each<[what: string, before: string, lines: readonly string[], after: string]>([
    ["without the first @@", "a\nb\n", [" a", "-b", "+B"], "a\nB\n"],
    ["with the header of a unified diff", "a\nb\n", ["@@ -1,2 +1,2 @@ def", " a", "-b", "+B"], "a\nB\n"],
    ["with empty lines for empty context", "a\n\nb\n", ["@@", " a", "", "-b", "+B"], "a\n\nB\n"],
    ["with an empty line before the next section", "a\nb\n", ["@@", "-b", "+B", "", ""], "a\nB\n"],
    ["in a file with CRLF", "a\r\nb\r\n", ["@@", " a", "-b", "+B", "+C"], "a\r\nB\r\nC\r\n"],
    ["in a file without a newline at its end", "a\nb", ["@@", " a", "-b", "+B"], "a\nB"],
    ["behind the last line of such a file", "a\nb", ["@@", " b", "+c"], "a\nb\nc"],
    ["with a byte order mark", "\ufeffa\nb\n", ["@@", "-a", "+A"], "\ufeffA\nb\n"],
    ["with white space at the end of lines left out", "a  \nb\t\nc\n", ["@@", " a", "-b", "+B"], "a  \nB\nc\n"],
    ["below an anchor", "f:\n  x\ng:\n  x\n", ["@@ g:", "-  x", "+  y"], "f:\n  x\ng:\n  y\n"],
    [
      "below two anchors",
      "c:\n f:\n  x\nd:\n f:\n  x\n",
      ["@@ d:", "@@ f:", "-  x", "+  y"],
      "c:\n f:\n  x\nd:\n f:\n  y\n",
    ],
    ["with the anchor as its first line", "f:\ng:\n  x\n", ["@@ g:", " g:", "-  x", "+  y"], "f:\ng:\n  y\n"],
    ["at the end of the file", "x\ny\nx\n", ["@@", "-x", "+z", "*** End of File"], "x\ny\nz\n"],
    ["one after the other", "x\n1\nx\n2\n", ["@@", " x", "-1", "+one", "@@", " x", "-2", "+two"], "x\none\nx\ntwo\n"],
    ["with added lines only, behind an anchor", "a\nb\n", ["@@ a", "+between"], "a\nbetween\nb\n"],
    ["with all lines removed", "a\n", ["@@", "-a"], ""],
  ])("takes hunks %s", async (_, before, lines, after) => {
    ground.put("a", before);
    await run(patchOf("*** Update File: a", ...lines));
    expect(text("a")).toBe(after);
  });

  test("takes a patch in a code fence, with CRLF, and paths in quotes", async () => {
    ground.put("a b", "x\n");
    const patch = patchOf('*** Update File: "a b"', "@@", "-x", "+y").replaceAll("\n", "\r\n");
    await run(`\`\`\`\r\n${patch}\`\`\`\r\n`);
    expect(text("a b")).toBe("y\n");
  });

  test("says when hunks matched only without white space at the end of lines", async () => {
    ground.put("a", "a  \nb\n");
    const { files } = await run(patchOf("*** Update File: a", "@@", " a", "-b", "+B"));
    expect(files[0]).toMatchObject({ tried: "whitespace" });
  });

  test.each<[what: string, patch: string, text: RegExp]>([
    ["what is neither", "please change a", /expected \*\*\* Begin Patch, or a unified diff/],
    ["no beginning", "*** Update File: a\n-a\n+b\n*** End Patch", /expected \*\*\* Begin Patch/],
    ["no end", "*** Begin Patch\n*** Update File: a\n-a\n+b", /cut off/],
    ["nothing", patchOf(), /changes nothing/],
    ["a line that is no section", patchOf("update a"), /Line 2 .*expected/],
    ["no path", patchOf("*** Delete File: "), /Line 2 .*path/],
    ["an added line without its sign", patchOf("*** Add File: n", "+a", "b"), /Line 4 .*begins with \+/],
    ["a line of a hunk without its sign", patchOf("*** Update File: a", "@@", "x"), /Line 4 /],
    ["an update of nothing", patchOf("*** Update File: a"), /Line 2 .*changes nothing/],
    ["lines below a deletion", patchOf("*** Delete File: a", "-a"), /Line 3 /],
  ])("refuses %s, and says where", async (_, patch, told) => {
    ground.put("a", "a\n");
    expect(await fail(patch)).toMatchObject({ code: "INVALID_INPUT", message: expect.stringMatching(told) });
    expect(text("a")).toBe("a\n");
  });

  test("changes nothing if a section fails, and tells of each that does, with the nearest lines", async () => {
    ground.put("a", "alpha\nbeta gamma\n");
    ground.put("b", "x\nx\n");
    ground.put("c", "c\n");
    const failed = await fail(
      patchOf(
        ...["*** Update File: c", "@@", "-c", "+C"],
        ...["*** Update File: a", "@@", "-beta  gamma", "+b"],
        ...["*** Update File: b", "@@", "-x", "+y"],
        ...["*** Delete File: none", "*** Add File: c/d", "+d"],
        ...["*** Update File: d", "@@ nowhere", "+d"],
      ),
    );
    expect(failed).toMatchObject({
      code: "NO_MATCH",
      message: expect.stringMatching(/^Section 2 of 6: Hunk 1 of 1 does not match "a". Nearest: line 2 /),
      data: { section: 2, nearest: [{ startLine: 2, text: "beta gamma\n" }] },
    });
    const failures = failed.data["failures"] as readonly { section: number; code: string }[];
    expect(failures.map(({ section, code }) => [section, code])).toEqual([
      [2, "NO_MATCH"],
      [3, "AMBIGUOUS_MATCH"],
      [4, "NOT_FOUND"],
      [5, "NOT_A_DIRECTORY"],
      [6, "NOT_FOUND"],
    ]);
    expect([text("a"), text("b"), text("c")]).toEqual(["alpha\nbeta gamma\n", "x\nx\n", "c\n"]);
  });

  test("goes on only with what is expected", async () => {
    ground.put("a", "a\n");
    ground.put("b", "b\n");
    const patch = patchOf("*** Update File: a", "@@", "-a", "+A", "*** Delete File: b");
    for (const ifMatch of [{ a: "aaaaaaaa" }, { "./b": "aaaaaaaa" }]) {
      expect(await fail(patch, { ifMatch })).toMatchObject({ code: "CONFLICT" });
    }
    expect(await fail(patch, { ifMatch: { other: etag("a\n") } })).toMatchObject({ code: "INVALID_INPUT" });
    expect([text("a"), text("b")]).toEqual(["a\n", "b\n"]);
    await run(patch, { ifMatch: { a: etag("a\n"), "/b": etag("b\n") } });
    expect(text("a")).toBe("A\n");
  });

  test("only shows what it would do", async () => {
    ground.put("a", "a\n");
    const patch = patchOf("*** Update File: a", "@@", "-a", "+A", "*** Add File: b", "+b");
    const answer = await run(patch, { dryRun: true });
    expect(answer).toMatchObject({ dryRun: true, applied: 2, diff: expect.stringContaining("+A") });
    expect([text("a"), existsSync(join(ground.dir, "b"))]).toEqual(["a\n", false]);
  });

  test("is denied for one path without rights before anything is looked at, and tells nothing of it", async () => {
    ground.put("mine/a", "a\n");
    ground.put("theirs/b", "b\n");
    const caps = [{ with: "file://r/mine", can: "crud" }];
    const patch = (theirs: string) =>
      patchOf("*** Update File: mine/a", "@@", "-nothing", "+A", `*** Delete File: ${theirs}`);
    const [there, none] = await Promise.all(["theirs/b", "theirs/c"].map((path) => fail(patch(path), {}, { caps })));
    expect(there).toMatchObject({ code: "CAPABILITY_DENIED" });
    expect(there?.message.replace("theirs/b", "theirs/c")).toBe(none?.message);
    for (const path of ["secret/x", "x.key", "kept"]) {
      const denied = patchOf("*** Update File: mine/a", "@@", "-a", "+A", `*** Add File: ${path}`, "+x");
      expect(await fail(denied)).toMatchObject({ code: "DENIED_BY_POLICY" });
    }
    expect(text("mine/a")).toBe("a\n");
  });

  test("tells a caller without rights to read nothing of the content", async () => {
    ground.put("a", "secret one\nsecret two\n");
    const caps = [{ with: "file://r", can: "crud/write" }];
    const failed = await fail(patchOf("*** Update File: a", "@@", "-secret  one", "+x"), {}, { caps });
    expect(JSON.stringify([failed.message, failed.data])).not.toContain("secret one\\n");
    expect(failed.data).not.toHaveProperty("nearest");
    const patch = patchOf("*** Update File: a", "@@", "-secret one", "+x");
    const answer = await ground.run("patch", { patch }, { caps });
    expect(answer).toEqual({ files: [{ path: "a", action: "modify" }], applied: 1, diff: "", diffTruncated: false });
    expect(await fail(patch, { dryRun: true }, { caps })).toMatchObject({
      code: "CAPABILITY_DENIED",
    });
  });

  test.each<[string, object]>([
    ["a hunk that only keeps", { patch: patchOf("*** Update File: a", "@@", " one") }],
    ["a hunk that adds what it takes away", { patch: patchOf("*** Update File: a", "@@", "-one", "+one  ") }],
    ["lines in another order", { patch: patchOf("*** Update File: a", "@@", "-one", " two", "+one") }],
    [
      "hunks that take each other's lines",
      { patch: patchOf("*** Update File: a", "@@", "-one", "+two", "@@", "-two", "+one") },
    ],
    ["an edit", { changes: [{ op: "edit", path: "a", edits: [{ oldText: "one", newText: "one" }] }] }],
  ])("needs the right to read where it may leave a file as it is: %s", async (_what, input) => {
    const caps = [{ with: "file://r", can: "crud/write" }];
    const failures = [];
    for (const content of ["one\ntwo\n", "other\n"]) {
      ground.put("a", content);
      failures.push(await ground.fail("patch", input, { caps }));
    }
    expect(failures[0]).toMatchObject({ code: "CAPABILITY_DENIED", data: { required: { can: "crud/read" } } });
    expect(failures[1]).toEqual(failures[0]);
  });

  test("needs it for one file and not for the others", async () => {
    for (const name of ["a", "b"]) ground.put(name, "one\n");
    const patch = patchOf("*** Update File: a", "@@", "-one", "+two", "*** Update File: b", "@@", "-one", "+one");
    const write = { with: "file://r", can: "crud/write" };
    expect(await fail(patch, {}, { caps: [write, { with: "file://r/a", can: "crud/read" }] })).toMatchObject({
      ...{ code: "CAPABILITY_DENIED", data: { required: { with: "file://r/b", can: "crud/read" } } },
    });
    const caps = [write, { with: "file://r/b", can: "crud/read" }];
    expect(await ground.run("patch", { patch }, { caps })).toMatchObject({ applied: 2 });
    expect(text("a")).toBe("two\n");
  });

  test("follows no link out of the root, and replaces what a link inside leads to", async () => {
    ground.put("real", "a\n");
    mkdirSync(join(ground.outside, "there"));
    symlinkSync("real", join(ground.dir, "link"));
    symlinkSync(join(ground.outside, "there"), join(ground.dir, "out"));
    await run(patchOf("*** Update File: link", "@@", "-a", "+b"));
    expect(text("real")).toBe("b\n");
    const escaping = patchOf("*** Update File: real", "@@", "-b", "+c", "*** Add File: out/x", "+x");
    expect(await fail(escaping)).toMatchObject({ code: "SYMLINK_ESCAPE" });
    expect([text("real"), readdirSync(join(ground.outside, "there"))]).toEqual(["b\n", []]);
  });

  test("has its limits", async () => {
    const many = Array.from({ length: 101 }, (_, index) => [`*** Add File: f${index}`, "+x"]).flat();
    expect(await fail(patchOf(...many))).toMatchObject({
      code: "INVALID_INPUT",
      message: expect.stringMatching(/100 files/),
    });
    const large = patchOf("*** Add File: f", `+${"x".repeat(1_100_000)}`);
    expect(await fail(large)).toMatchObject({
      code: "INVALID_INPUT",
      message: expect.stringMatching(/1048576 bytes/),
    });
    for (const name of ["a", "b", "c"]) ground.put(name, Buffer.alloc(30_000_000));
    const heavy = patchOf("*** Delete File: a", "*** Delete File: b", "*** Delete File: c");
    expect(await fail(heavy)).toMatchObject({ code: "TOO_LARGE" });
    // What is replaced as a whole counts as well, whatever it holds and whoever may read it.
    const replaced = ["a", "b", "c"].map((path) => ({ op: "write" as const, path, content: "new" }));
    expect(await ground.fail("patch", { changes: replaced })).toMatchObject({ code: "TOO_LARGE" });
    const caps = [{ with: "file://r/", can: "crud/write" }];
    expect(await ground.fail("patch", { changes: replaced }, { caps })).toMatchObject({ code: "TOO_LARGE" });
    expect(await ground.run("patch", { changes: replaced.slice(0, 2), dryRun: true })).toMatchObject({ applied: 2 });
    expect(readdirSync(ground.dir).filter((name) => name !== ".venue-files")).toEqual(["a", "b", "c"]);
  });
});

describe("file:patch in a root with a quota", () => {
  const ground = useGround({ root: { quota: { bytes: 100, files: 3 } } });

  test("is refused as a whole if it would exceed that", async () => {
    await ground.run("write", { path: "a", content: "x".repeat(40) });
    await ground.run("patch", { changes: [{ op: "write", path: "b", content: "y".repeat(40) }] });
    const over = [
      { op: "write" as const, path: "a", content: "z" },
      { op: "write" as const, path: "c", content: "z".repeat(100) },
    ];
    expect(await ground.fail("patch", { changes: over })).toMatchObject({ code: "QUOTA_EXCEEDED" });
    expect(ground.get("a").toString()).toBe("x".repeat(40));
    // Nothing is left that would keep its bytes counted when it goes.
    expect(statSync(join(ground.dir, "a")).nlink).toBe(1);
    const swapped = [
      { op: "delete" as const, path: "a" },
      { op: "write" as const, path: "c", content: "z".repeat(60) },
    ];
    await ground.run("patch", { changes: swapped });
    const { roots } = await ground.adapter.invoke("file:roots", {});
    expect(roots[0]).toMatchObject({ quota: { usedBytes: 100, usedFiles: 2 } });
  });
});
