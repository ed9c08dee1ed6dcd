import { chmodSync, existsSync, statSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import iconv from "iconv-lite";
import { assembleAdapter, type HostedFileAdapter } from "../../../src/adapter/adapter.js";
import { parseFileConfig } from "../../../src/config/load.js";
import { createMemoryStore } from "../../../src/drive/store/memory.js";
import { sectionsOf } from "../../../src/ops/patching/input.js";
import type { FileInputs } from "../../../src/schema/types.js";
import { openDrives, type TestDrives } from "../../backend/drive/open-drives.js";
import { processorMs } from "../../until.js";
import { failureOf, useGround } from "../ground.js";

const patchOf = (...lines: readonly string[]): string => ["*** Begin Patch", ...lines, "*** End Patch", ""].join("\n");

type Changes = NonNullable<FileInputs["file:patch"]["changes"]>;
const add = (path: string): Changes[number] => ({ op: "write", path, content: path });
const del = (path: string): Changes[number] => ({ op: "delete", path });
const move = (path: string, to: string): Changes[number] => ({ op: "move", path, to });

const FILES = ["file", "dir/a", "dir/b", "kept/f"];

/** Without a code: the call succeeds. */
const CASES: [what: string, changes: Changes, code?: string][] = [
  ["a file below a new file", [add("n"), add("n/y")], "NOT_A_DIRECTORY"],
  ["a new file where a folder is made", [add("q/z"), add("q")], "IS_A_DIRECTORY"],
  ["a file below one that stays", [add("file/y")], "NOT_A_DIRECTORY"],
  ["a file deep below one that is changed", [add("file"), add("file/y/z")], "NOT_A_DIRECTORY"],
  ["a file below one that is gone", [del("file"), add("file/y")]],
  ["a folder that is not empty", [del("dir")], "NOT_EMPTY"],
  ["a folder of which one file goes", [del("dir/a"), del("dir")], "NOT_EMPTY"],
  ["a folder in which a file is made", [del("dir/a"), del("dir/b"), add("dir/c"), del("dir")], "NOT_EMPTY"],
  ["a folder that is emptied", [del("dir/a"), move("dir/b", "b"), del("dir")]],
  ["a folder below itself", [move("dir", "dir/in/it")], "INVALID_INPUT"],
  ["a file to itself", [move("file", "./file")], "INVALID_INPUT"],
  ["a file in a moved folder", [move("dir", "to"), del("to/a")], "INVALID_INPUT"],
  ["a file that is gone", [del("file"), move("file", "g")], "NOT_FOUND"],
  ["a folder in place of a file", [{ op: "mkdir", path: "file" }], "EXISTS_NOT_DIRECTORY"],
  ["a folder in place of a new file", [add("m"), { op: "mkdir", path: "m" }], "EXISTS_NOT_DIRECTORY"],
  ["a move onto what is there", [move("file", "dir/a")], "ALREADY_EXISTS"],
  ["a move onto what was there", [del("dir/a"), move("file", "dir/a")]],
  ["a move below a file", [move("dir/a", "file/a")], "NOT_A_DIRECTORY"],
  ["a folder that was moved away", [move("dir", "to"), add("dir/new")]],
  ["what is protected", [add("kept/x")], "DENIED_BY_POLICY"],
];

describe("a dry run of file:patch promises what the call does", () => {
  describe("on the host", () => {
    const ground = useGround({ root: { protect: ["kept"] } });
    test.each(CASES)("%s", async (...[, changes, code]) => {
      for (const path of FILES) ground.put(path, "x\n");
      const names = () => [ground.names(), ground.names("dir")].flat().toSorted();
      const before = names();
      if (code === undefined) {
        expect(await ground.run("patch", { changes, dryRun: true })).toMatchObject({ dryRun: true });
        expect([names(), ground.staged()]).toEqual([before, []]);
        await ground.run("patch", { changes });
        return;
      }
      expect(await ground.fail("patch", { changes, dryRun: true })).toMatchObject({ code });
      expect(await ground.fail("patch", { changes })).toMatchObject({ code });
      expect(names()).toEqual(before);
    });

    test("also in what directories it may make on the way", async () => {
      const caps = ["crud/write", "crud/read"].map((can) => ({ with: "file://r/one/two/f", can }));
      const changes = [add("one/two/f")];
      for (const dryRun of [true, false]) {
        expect(await ground.fail("patch", { changes, dryRun }, { caps })).toMatchObject({ code: "CAPABILITY_DENIED" });
      }
    });
  });

  describe("on a drive", () => {
    const caller = { callerDID: "did:key:z6MkAlice", authority: "owner" } as const;
    let drives: TestDrives;
    let adapter: HostedFileAdapter;
    beforeAll(async () => {
      drives = openDrives({ store: createMemoryStore() });
      const roots = Object.fromEntries(CASES.map((_, at) => [`d${at}`, { dlfs: `d${at}`, protect: ["kept"] }]));
      adapter = await assembleAdapter(parseFileConfig({ roots }, { baseDir: "/" }), {
        drives,
        discloseHostPaths: false,
      });
    });
    afterAll(async () => {
      await adapter.close();
      await drives.close();
    });

    test.each(CASES.map(([what, changes, code], at) => [what, `d${at}`, changes, code] as const))(
      "%s",
      async (...[, root, changes, code]) => {
        const call = (input: object) => adapter.invoke("file:patch", { root, ...input }, caller);
        await call({ changes: FILES.filter((path) => !path.startsWith("kept")).map(add) });
        const tree = async () => (await adapter.invoke("file:glob", { root, pattern: "**" }, caller)).paths;
        const before = await tree();
        if (code === undefined) {
          expect(await call({ changes, dryRun: true })).toMatchObject({ dryRun: true });
          expect(await tree()).toEqual(before);
          await call({ changes });
          return;
        }
        expect(await failureOf(call({ changes, dryRun: true }))).toMatchObject({ code });
        expect(await failureOf(call({ changes }))).toMatchObject({ code });
        expect(await tree()).toEqual(before);
      },
    );
  });
});

const latin1 = (text: string): Buffer => Buffer.from(text, "latin1");
const utf16 = (text: string): Buffer => Buffer.from(`\ufeff${text}`, "utf16le");

describe("file:patch on files that are not UTF-8", () => {
  const ground = useGround();
  const update = (lines: readonly string[], more: object = {}) =>
    ground.run("patch", { patch: patchOf("*** Update File: f", ...lines), ...more });
  const fail = (lines: readonly string[], more: object = {}) =>
    ground.fail("patch", { patch: patchOf("*** Update File: f", ...lines), ...more });

  test("keeps bytes that are no UTF-8, in lines that it shows and in others", async () => {
    ground.put("f", latin1("caf\xe9\nold\n\xff\xfe\x80\nna\xefve\n"));
    await update(["@@", " caf\ufffd", "-old", "+new"]);
    expect(ground.get("f")).toEqual(latin1("caf\xe9\nnew\n\xff\xfe\x80\nna\xefve\n"));
    const diff = "--- a/f\n+++ b/f\n@@ -3,2 +3,2 @@\n-\ufffd\ufffd\ufffd\n+gone\n na\ufffdve\n";
    await ground.run("patch", { patch: diff });
    expect(ground.get("f")).toEqual(latin1("caf\xe9\nnew\ngone\nna\xefve\n"));
  });

  test("takes a few bad bytes among UTF-8, and writes UTF-8 beside them", async () => {
    ground.put("f", Buffer.concat([Buffer.from("é ü\n"), latin1("\xe2\x82 cut\n"), Buffer.from("x\n")]));
    await update(["@@", " \ufffd cut", "-x", "+ö"]);
    expect(ground.get("f")).toEqual(
      Buffer.concat([Buffer.from("é ü\n"), latin1("\xe2\x82 cut\n"), Buffer.from("ö\n")]),
    );
  });

  test("does not guess what bytes new text has", async () => {
    ground.put("f", latin1("caf\xe9\nold\n"));
    expect(await fail(["@@", "-old", "+th\xe9"])).toMatchObject({
      code: "NOT_TEXT",
      message: expect.stringMatching(/encoding/),
    });
    expect(await fail(["@@", "-caf\ufffd", "+CAF\ufffd"])).toMatchObject({
      code: "NOT_TEXT",
      message: expect.stringMatching(/encoding/),
    });
    expect(ground.get("f")).toEqual(latin1("caf\xe9\nold\n"));
  });

  test.each<[name: string, encoding: string]>([
    ["Latin-1", "latin1"],
    ["Shift_JIS", "shift_jis"],
    ["Windows-1251", "windows-1251"],
  ])("works in %s where the call names it", async (_, encoding) => {
    const texts = {
      latin1: ["Stra\xdfe", "Gr\xfc\xdfe"],
      shift_jis: ["表示", "能力"],
      "windows-1251": ["Москва", "Река"],
    };
    const [old = "", now = ""] = texts[encoding as keyof typeof texts];
    ground.put("f", iconv.encode(`${old}\r\nkeep\r\n`, encoding));
    ground.put("u", "grüß\n");
    const second = ["*** Update File: u", "@@", "-grüß", "+Grüße", "*** Add File: n", "+plain"];
    await update(["@@", `-${old}`, `+${now}`, " keep", ...second], { encoding });
    expect(ground.get("f")).toEqual(iconv.encode(`${now}\r\nkeep\r\n`, encoding));
    expect([ground.get("u").toString(), ground.get("n").toString()]).toEqual(["Grüße\n", "plain\n"]);
  });

  test("works in UTF-16 with its mark", async () => {
    ground.put("f", utf16("ein\r\nzwei\r\n"));
    await update(["@@", " ein", "-zwei", "+zwölf", "+drei"]);
    expect(ground.get("f")).toEqual(utf16("ein\r\nzwölf\r\ndrei\r\n"));
  });

  test("refuses a name that is none", async () => {
    ground.put("f", "x\n");
    expect(await fail(["@@", "-x", "+y"], { encoding: "klingon" })).toMatchObject({ code: "INVALID_INPUT" });
  });

  test("shows bytes that are no text as what stands for them", async () => {
    ground.put("f", latin1("\xe9\nold\n"));
    const { diff } = await update(["@@", "-old", "+new"]);
    expect([diff?.isWellFormed(), diff?.includes("\ufffd")]).toEqual([true, true]);
    expect(await fail(["@@", "-\ufffd old", "+x"])).toMatchObject({ code: "NO_MATCH" });
  });
});

describe("hunks of file:patch", () => {
  const ground = useGround();
  const update = (...lines: readonly string[]) =>
    ground.run("patch", { patch: patchOf("*** Update File: f", ...lines) });
  const fail = (...lines: readonly string[]) =>
    ground.fail("patch", { patch: patchOf("*** Update File: f", ...lines) });
  const text = (): string => ground.get("f").toString();

  describe("anchors", () => {
    const CLASS =
      "class Queue:\n    def push(self):\n        a\n        b\n\n    def pop(self):\n        c\n        d\n";

    test("may stand above the hunk before", async () => {
      ground.put("f", CLASS);
      await update("@@ class Queue:", "-        a", "+        A", "@@ class Queue:", "-        d", "+        D");
      expect(text()).toBe(CLASS.replace(" a\n", " A\n").replace(" d\n", " D\n"));
    });

    test("may be a line that the hunk before has changed", async () => {
      ground.put("f", CLASS);
      await update(
        ...["@@ class Queue:", "-    def push(self):", "+    def push(self, x):", "         a"],
        ...["@@     def push(self):", "-        b", "+        B"],
      );
      expect(text()).toContain("def push(self, x):\n        a\n        B\n");
    });

    test("may be cut, in the middle of a character too", async () => {
      ground.put("f", "void größte(int a, int b) {\n  x\n}\nvoid other() {\n  x\n}\n");
      await update("@@ void gr\ufffd", "-  x", "+  y", " }", " void other() {");
      expect(text()).toMatch(/^void größte\(int a, int b\) \{\n {2}y\n/);
    });

    test("count where they stand above, not where the same line comes again", async () => {
      ground.put("f", "it('a')\n  one\nit('b')\n  two\nit('a')\n  three\n");
      await update("@@ it('a')", "-  one", "+  ONE", "@@ it('a')", "-  two", "+  TWO");
      expect(text()).toBe("it('a')\n  ONE\nit('b')\n  TWO\nit('a')\n  three\n");
    });

    test("that are nowhere, or only below, are refused", async () => {
      ground.put("f", "x\nlast\n");
      expect(await fail("@@ nowhere", "-x", "+y")).toMatchObject({ code: "NO_MATCH", data: { anchor: "nowhere" } });
      expect(await fail("@@ last", "-x", "+y")).toMatchObject({ code: "NO_MATCH" });
      expect(text()).toBe("x\nlast\n");
    });
  });

  test("are told apart by the numbers of a unified header", async () => {
    ground.put("f", "x\n1\nx\n2\nx\n3\n");
    await update("@@ -3,1 +3,1 @@ def", "-x", "+y");
    expect(text()).toBe("x\n1\ny\n2\nx\n3\n");
    await update("@@ -5,0 +6 @@", "+between");
    expect(text()).toBe("x\n1\ny\n2\nx\nbetween\n3\n");
  });

  test("keep an empty line at their end as context", async () => {
    ground.put("f", "x\n1\nx\n\n");
    await update("@@", "-x", "+y", " ");
    expect(text()).toBe("x\n1\ny\n\n");
  });

  test("may repeat the names of the file", async () => {
    ground.put("f", "a\n");
    await update("--- a/f", "+++ b/f", "@@ -1 +1 @@", "-a", "+b");
    expect(text()).toBe("b\n");
  });

  describe("line ends", () => {
    test.each<[what: string, before: string, lines: readonly string[], after: string]>([
      ["CRLF that is given", "a\r\nb\r\n", ["@@", " a\r", "-b\r", "+B\r", "+C\r"], "a\r\nB\r\nC\r\n"],
      ["CRLF that is given into LF", "a\nb\n", ["@@", " a", "-b", "+B\r"], "a\nB\r\n"],
      ["LF where the patch shows CRLF around it", "a\r\nb\r\n", ["@@", " a\r", "-b\r", "+b"], "a\r\nb\n"],
      [
        "that of the line in whose place it is",
        "a\r\nb\nc\r\n",
        ["@@", "-a", "-b", "-c", "+A", "+B", "+C"],
        "A\r\nB\nC\r\n",
      ],
      ["that of the line above", "a\nb\r\nc\n", ["@@", " a", " b", "+new", " c"], "a\nb\r\nnew\r\nc\n"],
      ["that of the line below at the top", "a\r\nb\r\n", ["@@", "+new", " a"], "new\r\na\r\nb\r\n"],
      ["that of the file behind its last line", "a\r\nb", ["@@", " b", "+c"], "a\r\nb\r\nc"],
      ["that of the file for added lines only", "a\r\nb\r\n", ["@@ a", "+new"], "a\r\nnew\r\nb\r\n"],
      ["LF where the patch has CRLF and the file LF", "a\nb\nc\n", ["@@", " a\r", "-b\r", "+B\r"], "a\nB\nc\n"],
    ])("of added lines are %s", async (_, before, lines, after) => {
      ground.put("f", before);
      await update(...lines);
      expect(text()).toBe(after);
    });

    test("of kept lines stay, each as it is", async () => {
      ground.put("f", "a\r\nb\nc\r\nd\ne\r\n");
      await update("@@", " a", " b", "-c", "+C", " d", " e");
      expect(text()).toBe("a\r\nb\nC\r\nd\ne\r\n");
    });

    test("of a new file are those given", async () => {
      await ground.run("patch", { patch: patchOf("*** Add File: run.bat", "+@echo off\r", "+exit\r", "+rem") });
      expect(ground.get("run.bat").toString()).toBe("@echo off\r\nexit\r\nrem\n");
      const whole = patchOf("*** Add File: all.bat", "+@echo off", "+exit").replaceAll("\n", "\r\n");
      await ground.run("patch", { patch: whole });
      expect(ground.get("all.bat").toString()).toBe("@echo off\r\nexit\r\n");
    });

    test("and `$&` and halves of characters are no signs", async () => {
      ground.put("f", "a\n$&\nb\n");
      await update("@@", " a", "-$&", "+$$ $& $1 \\n");
      expect(text()).toBe("a\n$$ $& $1 \\n\nb\n");
      expect(await fail("@@", " a", "+\ud800")).toMatchObject({ code: "NOT_TEXT" });
    });
  });
});

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
  ])("is parsed in a moment: %s", async (_, patch) => {
    const ms = await processorMs(() => expect(() => sectionsOf({ root: "r", patch })).not.toThrow(RangeError));
    expect(ms).toBeLessThan(8_000);
  });

  test("finds the end of a file among many like places", async () => {
    ground.put("f", `x\n${"\n".repeat(60_000)}y\n`);
    const patch = "*** Begin Patch\n*** Update File: f\n@@\n \n+z\n*** End of File\n*** End Patch\n";
    const ms = await processorMs(async () =>
      expect(await ground.fail("patch", { patch })).toMatchObject({ code: "NO_MATCH" }),
    );
    expect(ms).toBeLessThan(8_000);
  });
});
