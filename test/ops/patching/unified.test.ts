import { chmodSync, existsSync, statSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "@jest/globals";
import { sectionsOf } from "../../../src/ops/patching/input.js";
import { useGround } from "../ground.js";

const diffOf = (...lines: readonly string[]): string => `${lines.join("\n")}\n`;

describe("file:patch with a unified diff", () => {
  const ground = useGround();
  const run = (patch: string, more: object = {}) => ground.run("patch", { patch, ...more });
  const fail = (patch: string) => ground.fail("patch", { patch });
  const text = (path: string): string => ground.get(path).toString();

  test("takes what git says of files: changed, new, deleted, renamed, copied and made executable", async () => {
    ground.put("src/main.rs", "fn main() {\n    one();\n}\n");
    ground.put("old name.txt", "keep\nthis\n");
    ground.put("gone.md", "bye\n");
    ground.put("tool.sh", "echo\n");
    ground.put("empty", "");
    const { files, applied } = await run(
      diffOf(
        ...["From 1f2e Mon Sep 17 00:00:00 2001", "Subject: [PATCH] all of it", "", "- a list in the message", "---"],
        ...[" src/main.rs | 2 +-", "", "diff --git a/src/main.rs b/src/main.rs", "index 11..22 100644"],
        ...["--- a/src/main.rs", "+++ b/src/main.rs", "@@ -1,3 +1,3 @@ fn", " fn main() {", "-    one();"],
        ...["+    two();", " }", "diff --git a/old name.txt b/new/name.txt", "similarity index 60%"],
        ...["rename from old name.txt", "rename to new/name.txt", "--- a/old name.txt\t", "+++ b/new/name.txt\t"],
        ...["@@ -1,2 +1,2 @@", " keep", "-this", "+that", "diff --git a/gone.md b/gone.md"],
        ...["deleted file mode 100644", "--- a/gone.md", "+++ /dev/null", "@@ -1 +0,0 @@", "-bye"],
        ...["diff --git a/run.sh b/run.sh", "new file mode 100755", "--- /dev/null", "+++ b/run.sh", "@@ -0,0 +1,2 @@"],
        ...["+#!/bin/sh", "+true", "diff --git a/tool.sh b/tool.sh", "old mode 100644", "new mode 100755"],
        ...['diff --git "a/caf\\303\\251" "b/caf\\303\\251"', "new file mode 100644", "index 0..e69de29"],
        ...["diff --git a/empty b/empty", "deleted file mode 100644", "index e69de29..0"],
        ...["diff --git a/src/main.rs b/src/copy.rs", "similarity index 90%", "copy from src/main.rs"],
        ...[
          "copy to src/copy.rs",
          "--- a/src/main.rs",
          "+++ b/src/copy.rs",
          "@@ -2 +2 @@",
          "-    one();",
          "+    three();",
        ],
        ...["-- ", "2.40.1", ""],
      ),
    );
    expect(files.map(({ path, from, action }) => [action, path, ...(from === undefined ? [] : [from])])).toEqual([
      ["modify", "src/main.rs"],
      ["move", "new/name.txt", "old name.txt"],
      ["delete", "gone.md"],
      ["add", "run.sh"],
      ["modify", "tool.sh"],
      ["add", "café"],
      ["delete", "empty"],
      ["add", "src/copy.rs", "src/main.rs"],
    ]);
    expect(applied).toBe(9);
    expect(["src/main.rs", "new/name.txt", "run.sh", "tool.sh", "café", "src/copy.rs"].map(text)).toEqual([
      "fn main() {\n    two();\n}\n",
      "keep\nthat\n",
      "#!/bin/sh\ntrue\n",
      "echo\n",
      "",
      "fn main() {\n    three();\n}\n",
    ]);
    expect(["old name.txt", "gone.md", "empty"].filter((path) => existsSync(join(ground.dir, path)))).toEqual([]);
    const modes = ["run.sh", "tool.sh", "café"].map((path) => statSync(join(ground.dir, path)).mode & 0o111);
    expect(modes.map((mode) => (mode & 0o100) !== 0)).toEqual([true, true, false]);
  });

  test("takes the mode away again", async () => {
    ground.put("x", "1\n");
    chmodSync(join(ground.dir, "x"), 0o755);
    const { diff } = await run(
      diffOf(
        "diff --git a/x b/x",
        "old mode 100755",
        "new mode 100644",
        "--- a/x",
        "+++ b/x",
        "@@ -1 +1 @@",
        "-1",
        "+2",
      ),
    );
    expect(diff).toMatch(/^x may not be run\n/);
    expect([text("x"), statSync(join(ground.dir, "x")).mode & 0o777]).toEqual(["2\n", 0o644]);
  });

  test.each<[what: string, names: readonly string[], path: string]>([
    ["of git without prefixes", ["diff --git p/q p/q", "--- p/q", "+++ p/q"], "p/q"],
    ["in a folder that is called as a prefix", ["diff --git a/q a/q", "--- a/q", "+++ a/q"], "a/q"],
    ["with prefixes that say what is compared", ["diff --git i/q w/q", "--- i/q", "+++ w/q"], "q"],
    ["with times behind a tab", ["--- q.orig\t2024-05-01 10:00:00.000 +0200", "+++ q\t2024-05-02 10:00:00 +0200"], "q"],
    ["with times behind blanks", ["--- q 2024-05-01 10:00:00.0 +0200", "+++ q 2024-05-02 10:00:00.0 +0200"], "q"],
    ["of two folders", ["diff -ru one/p/q two/p/q", "--- one/p/q\t2024-05-01 10:00", "+++ two/p/q\t2024-05-01"], "p/q"],
    ["of Subversion", ["Index: p/q", "=====", "--- p/q\t(revision 7)", "+++ p/q\t(working copy)"], "p/q"],
    ["in quotes", ['--- "a/q \\"\\303\\251"', '+++ "b/q \\"\\303\\251"'], 'q "é'],
    ["in a code fence", ["```diff", "--- a/q", "+++ b/q"], "q"],
  ])("understands names %s", async (_, names, path) => {
    ground.put(path, "a\nb\nc\n");
    await run(diffOf(...names, "@@ -1,3 +1,3 @@", " a", "-b", "+B", " c"));
    expect(text(path)).toBe("a\nB\nc\n");
  });

  test.each<[what: string, hunks: readonly string[], before: string, after: string]>([
    ["a newline that goes", ["@@ -1,2 +1,2 @@", " a", "-b", "+b", "\\ No newline at end of file"], "a\nb\n", "a\nb"],
    ["a newline that comes", ["@@ -1 +1 @@", "-b", "\\ No newline at end of file", "+b"], "b", "b\n"],
    [
      "no newline before and after",
      ["@@ -1,2 +1,3 @@", "-a", "+A", "+x", " b", "\\ No newline at end of file"],
      "a\nb",
      "A\nx\nb",
    ],
    ["lines behind one that had none", ["@@ -1 +1,2 @@", "-b", "\\ Kein Zeilenende", "+b", "+c"], "b", "b\nc\n"],
    ["the first lines of an empty file", ["@@ -0,0 +1,2 @@", "+a", "+b"], "", "a\nb\n"],
    ["hunks without context", ["@@ -1,0 +2 @@", "+new", "@@ -3 +4 @@", "-c", "+C"], "a\nb\nc\n", "a\nnew\nb\nC\n"],
    [
      "removed lines that look like names",
      ["@@ -1,3 +1,3 @@", " x", "--- a", "+++ b", " y"],
      "x\n-- a\ny\n",
      "x\n++ b\ny\n",
    ],
    ["empty lines for empty context", ["@@ -1,4 +1,4 @@", " a", "", "-b", "+B", ""], "a\n\nb\n\n", "a\n\nB\n\n"],
    ["a header that counts too few", ["@@ -1,1 +1,1 @@", " a", "-b", "+B", " c"], "a\nb\nc\n", "a\nB\nc\n"],
    ["headers without numbers", ["@@ ... @@", " a", "-b", "+B", "@@", "-c", "+C"], "a\nb\nc\n", "a\nB\nC\n"],
    [
      "a mark of byte order",
      ["@@ -1 +1 @@", "-\ufeffusing A;", "+\ufeffusing B;"],
      "\ufeffusing A;\n",
      "\ufeffusing B;\n",
    ],
    ["the end of such a mark", ["@@ -1 +1 @@", "-\ufeffa", "+a"], "\ufeffa\n", "a\n"],
  ])("takes %s", async (_, hunks, before, after) => {
    ground.put("f", before);
    await run(diffOf("--- a/f", "+++ b/f", ...hunks));
    expect(text("f")).toBe(after);
  });

  test("finds a file that is not there by its time", async () => {
    ground.put("old", "x\n");
    const none = "1970-01-01 01:00:00.000000000 +0100";
    await run(
      diffOf(
        ...[`--- one/new\t${none}`, "+++ two/new\t2024-05-01 10:00:00", "@@ -0,0 +1 @@", "+n"],
        ...["--- one/old\t2024-05-01 10:00:00", `+++ two/old\t${none}`, "@@ -1 +0,0 @@", "-x"],
      ),
    );
    expect([ground.names(), text("new")]).toEqual([["new"], "n\n"]);
  });

  test("tells places that look alike apart by their lines, also where lines above were added", async () => {
    const block = "  begin\n  work\n  end\n";
    ground.put("f", `${"#\n".repeat(3)}head\n${block}x\n${block}y\n${block}`);
    const hunk = ["@@ -9,3 +9,3 @@", "   begin", "-  work", "+  rest", "   end"];
    await run(diffOf("--- a/f", "+++ b/f", ...hunk));
    expect(text("f")).toBe(`${"#\n".repeat(3)}head\n${block}x\n${block.replace("work", "rest")}y\n${block}`);
    const drifted = [
      "@@ -1 +1 @@",
      "-head",
      "+HEAD",
      ...["@@ -10,3 +10,3 @@", "   begin", "-  work", "+  last", "   end"],
    ];
    await run(diffOf("--- a/f", "+++ b/f", ...drifted));
    expect(text("f").split("y\n")[1]).toBe(block.replace("work", "last"));
  });

  test("does not guess between places that are about as far from where it should be", async () => {
    ground.put("f", "a\nx\nb\nx\nc\n");
    expect(await fail(diffOf("--- a/f", "+++ b/f", "@@ -3 +3 @@", "-x", "+y"))).toMatchObject({
      ...{ code: "AMBIGUOUS_MATCH", data: { lines: [2, 4] } },
    });
  });

  test.each<[what: string, lines: readonly string[], told: RegExp]>([
    ["binary content", ["diff --git a/p b/p", "index 1..2 100644", "GIT binary patch", "delta 5"], /Line 3 .*binary/],
    ["binary files", ["diff --git a/p b/p", "Binary files a/p and b/p differ"], /Line 2 .*binary/],
    [
      "a link",
      ["diff --git a/p b/p", "new file mode 120000", "--- /dev/null", "+++ b/p", "@@ -0,0 +1 @@", "+f"],
      /link/,
    ],
    ["a submodule", ["diff --git a/p b/p", "index 1..2 160000", "new mode 160000"], /Line 3 .*submodule/],
    ["a merge", ["diff --cc p", "@@@ -1,1 -1,1 +1,1 @@@", "  x"], /Line 1 .*merge/],
    ["two files without a rename", ["--- a/f", "+++ b/g", "@@ -1 +1 @@", "-a", "+b"], /Line 1 .*rename from/],
    ["a hunk without names", ["Index: ", "@@ -1 +1 @@", "-a", "+b"], /Line 1 .*name/],
    ["what was cut off", ["--- a/f", "+++ b/f", "@@ -1,3 +1,3 @@", " a", "-b"], /Line 3 .*cut off/],
    ["a line without its sign", ["--- a/f", "+++ b/f", "@@ -1,3 +1,3 @@", " a", "b"], /Line 5 .*begins with/],
    ["nothing", ["diff --git a/f b/f", "index 1..1 100644"], /changes nothing/],
  ])("refuses %s, and says where", async (_, lines, told) => {
    ground.put("f", "a\nb\nc\n");
    expect(await fail(diffOf(...lines))).toMatchObject({ code: "INVALID_INPUT", message: expect.stringMatching(told) });
    expect(text("f")).toBe("a\nb\nc\n");
  });

  test("deletes a file only if it holds what the diff takes away", async () => {
    ground.put("f", "a\nb\n");
    const patch = diffOf("--- a/f", "+++ /dev/null", "@@ -1 +0,0 @@", "-a");
    expect(await fail(patch)).toMatchObject({ code: "NO_MATCH" });
    ground.put("f", "a\n");
    await run(patch);
    expect(ground.names()).toEqual([]);
  });
});

describe("a patch that is as long as patches may be", () => {
  const most = 1_048_000;
  const ground = useGround();
  test.each([
    ["a name of spaces", `--- ${" ".repeat(most)}x\n+++ b\n@@\n+x\n`],
    ["names of spaces", `diff --git ${"a b ".repeat(most / 4)}\n`],
    ["a name with times", `--- ${" 2020-01-01 00:00".repeat(most / 17 - 4)}\u2028\n+++ b\n@@\n+x\n`],
    ["empty lines between lines", `--- f\n+++ f\n@@\n${"\n+x\n".repeat(most / 4 - 10)}`],
    ["empty lines", `--- f\n+++ f\n@@\n${"\n".repeat(most)}+x\n`],
    ["more lines than the header says", `--- f\n+++ f\n@@ -1 +1 @@\n-f\n+x\n${"\n+x\n".repeat(most / 4 - 20)}`],
    [
      "an anchor that was cut",
      `*** Begin Patch\n*** Update File: f\n@@ ${"\ufffd".repeat(most / 3 - 40)}x\n+y\n*** End Patch`,
    ],
    ["many sections", `*** Begin Patch\n${"*** Delete File: f\n".repeat(most / 20)}*** End Patch`],
  ])(
    "is parsed in a moment: %s",
    (_, patch) => {
      const startedMs = Date.now();
      expect(() => sectionsOf({ root: "r", patch })).not.toThrow(RangeError);
      expect(Date.now() - startedMs).toBeLessThan(8_000);
    },
    60_000,
  );

  test("finds the end of a file among many like places", async () => {
    ground.put("f", `x\n${"\n".repeat(60_000)}y\n`);
    const patch = "*** Begin Patch\n*** Update File: f\n@@\n \n+z\n*** End of File\n*** End Patch\n";
    const startedMs = Date.now();
    expect(await ground.fail("patch", { patch })).toMatchObject({ code: "NO_MATCH" });
    expect(Date.now() - startedMs).toBeLessThan(8_000);
  }, 60_000);
});
