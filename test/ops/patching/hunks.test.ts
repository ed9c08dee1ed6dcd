import { describe, expect, test } from "@jest/globals";
import { useGround } from "../ground.js";

const patchOf = (...lines: readonly string[]): string => ["*** Begin Patch", ...lines, "*** End Patch", ""].join("\n");

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
