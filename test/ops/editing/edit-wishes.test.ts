import { describe, expect, test } from "@jest/globals";
import { useGround } from "../ground.js";

describe("file:edit of all occurrences", () => {
  const ground = useGround();

  test("replaces them, and says how many", async () => {
    ground.put("f", `${"foo bar\r\n".repeat(1500)}food\n`);
    const edits = [
      { oldText: "foo", newText: "$&1", replaceAll: true },
      { oldText: "d\n", newText: "t\n" },
    ];
    expect(await ground.run("edit", { path: "f", edits })).toMatchObject({ applied: 1502 });
    expect(ground.get("f").toString()).toBe(`${"$&1 bar\r\n".repeat(1500)}$&1t\n`);
  });

  test("tells the count to a model too", async () => {
    ground.put("f", "a b a\na\n");
    const all = { path: "f", oldText: "a", newText: "c", replaceAll: true };
    expect(await ground.render("edit", all)).toMatchObject({ note: expect.stringMatching(/^etag \w+\. 3 replaced$/) });
    const one = { path: "f", edits: [{ oldText: "b", newText: "d" }] };
    expect(await ground.render("edit", one)).toMatchObject({ note: expect.stringMatching(/^etag \w+$/) });
  });

  test("takes the first of those that overlap, and all line ends as equal", async () => {
    ground.put("f", "aaaaa a\r\nb a\nb");
    expect(await ground.run("edit", { path: "f", oldText: "aa", newText: "a", replaceAll: true })).toMatchObject({
      applied: 2,
    });
    await ground.run("edit", { path: "f", oldText: "a\nb", newText: "c\nd", replaceAll: true });
    expect(ground.get("f").toString()).toBe("aaa c\r\nd c\nd");
  });

  test("holds to the count that is expected, and needs one", async () => {
    ground.put("f", "x x");
    const input = { path: "f", oldText: "x", newText: "y", replaceAll: true };
    expect(await ground.fail("edit", { ...input, expect: 3 })).toMatchObject({ code: "AMBIGUOUS_MATCH" });
    expect(await ground.fail("edit", { ...input, oldText: "z" })).toMatchObject({ code: "NO_MATCH" });
    expect(await ground.fail("edit", { ...input, replaceAll: false })).toMatchObject({ code: "AMBIGUOUS_MATCH" });
    await ground.run("edit", { ...input, expect: 2 });
    expect(ground.get("f").toString()).toBe("y y");
  });

  test("is refused before texts are made for more than a write may add", async () => {
    ground.put("f", "a\n".repeat(100_000));
    const startedMs = Date.now();
    const newText = "b\r\n".repeat(1_000);
    const error = await ground.fail("edit", { path: "f", oldText: "a", newText, replaceAll: true });
    expect(error.code).toBe("TOO_LARGE");
    expect(Date.now() - startedMs).toBeLessThan(5_000);
    // Many edits together may add no more than one.
    const edits = Array.from({ length: 10 }, () => ({ oldText: "a", newText: "b\r\n".repeat(20), replaceAll: true }));
    expect(await ground.fail("edit", { path: "f", edits })).toMatchObject({ code: "TOO_LARGE" });
    expect(ground.get("f").length).toBe(200_000);
  }, 120_000);

  test("tells a caller that may not read nothing without a trace", async () => {
    ground.put("f", "a b");
    const caps = [{ with: "file://r/", can: "crud/write" }];
    const all = { oldText: "a", newText: "b", replaceAll: true };
    expect(await ground.run("edit", { path: "f", ...all }, { caps })).toEqual({ path: "f", size: 3, applied: 1 });
    for (const edits of [[all, { oldText: "b", newText: "a" }], [{ ...all, newText: "a" }]]) {
      expect(await ground.fail("edit", { path: "f", edits }, { caps })).toMatchObject({ code: "CAPABILITY_DENIED" });
    }
    for (const input of [{ lineEnding: "lf" }, { cell: 1, newText: "" }]) {
      expect(await ground.fail("edit", { path: "f", ...input }, { caps })).toMatchObject({ code: "CAPABILITY_DENIED" });
    }
  });
});

describe("file:edit at a line", () => {
  const ground = useGround();

  test.each<[string, string, number, string, string]>([
    ["the first", "a\nb\n", 1, "new", "new\na\nb\n"],
    ["one between", "a\r\nb\r\n", 2, "x\ny\n", "a\r\nx\r\ny\r\nb\r\n"],
    ["one between, where ends differ", "a\n\nb\r\nc\n", 3, "x", "a\n\nx\r\nb\r\nc\n"],
    ["the end", "a\nb\n", 3, "c", "a\nb\nc\n"],
    ["the end of a file without a last newline", "a\nb", 3, "c", "a\nb\nc"],
    ["an empty line", "a\nb\n", 2, "", "a\n\nb\n"],
    ["an empty file", "", 1, "a", "a"],
    ["behind a byte order mark", "\ufeffa\n", 1, "new", "\ufeffnew\na\n"],
  ])("%s", async (_, before, at, newText, after) => {
    ground.put("f", before);
    await ground.run("edit", { path: "f", at, newText });
    expect(ground.get("f").toString()).toBe(after);
  });

  test("counts lines of the file as it was, among other edits", async () => {
    ground.put("f", "a\nb\nc\n");
    const edits = [
      { at: 3, newText: "before c" },
      { oldText: "a\n", newText: "" },
      { at: 3, newText: "too" },
    ];
    expect(await ground.run("edit", { path: "f", edits })).toMatchObject({ applied: 3, firstChangedLine: 1 });
    expect(ground.get("f").toString()).toBe("b\nbefore c\ntoo\nc\n");
    const inside = [
      { at: 2, newText: "x" },
      { oldText: "b\nb", newText: "y" },
    ];
    expect(await ground.fail("edit", { path: "f", edits: inside })).toMatchObject({ code: "OVERLAPPING_EDITS" });
  });

  test("is refused where there is no such line, or with an old text", async () => {
    ground.put("f", "a\n");
    expect(await ground.fail("edit", { path: "f", at: 3, newText: "x" })).toMatchObject({
      code: "NO_MATCH",
      message: 'Edit 1 of 1: "f" has no line 3. Read it again, or add to it with file:append',
    });
    for (const more of [{ oldText: "a" }, { expect: 1 }, { replaceAll: true }]) {
      expect(await ground.fail("edit", { path: "f", at: 1, newText: "x", ...more })).toMatchObject({
        code: "INVALID_INPUT",
      });
    }
    expect(await ground.fail("edit", { path: "f", edits: [{ newText: "x" }] })).toMatchObject({
      code: "INVALID_INPUT",
      message: "'edits.0.oldText' is required",
    });
    expect(ground.get("f").toString()).toBe("a\n");
  });
});

describe("file:edit that converts line ends", () => {
  const ground = useGround();

  test.each<["lf" | "crlf", string, string, string]>([
    ["crlf", "a\nb\r\nc\n", "a\r\nb\r\nc\r\n", "2 line ends changed to CRLF"],
    ["lf", "a\r\nb\rc\n", "a\nb\rc\n", "1 line end changed to LF"],
    ["lf", "a\rb\r", "a\nb\n", "2 line ends changed to LF"],
    ["lf", "a\nb", "a\nb", "0 line ends changed to LF"],
  ])("to %s: %j", async (lineEnding, before, after, hint) => {
    ground.put("f", before);
    const output = await ground.run("edit", { path: "f", lineEnding });
    expect(output).toMatchObject({ applied: 0, hint, diff: "", size: after.length });
    expect(ground.get("f").toString()).toBe(after);
  });

  test("after edits, in the encoding of the file, and where it is large", async () => {
    const line = "naïve line of some length\n";
    const before = Buffer.from(`\ufeff${line.repeat(60_000)}the end\n`, "utf16le");
    ground.put("f", before);
    await ground.run("edit", { path: "f", oldText: "the end", newText: "der\nSchluß", lineEnding: "crlf" });
    const after = `\ufeff${line.repeat(60_000)}der\nSchluß\n`.replaceAll("\n", "\r\n");
    expect(ground.get("f").equals(Buffer.from(after, "utf16le"))).toBe(true);
    expect(await ground.run("edit", { path: "f", lineEnding: "lf", dryRun: true })).toMatchObject({ dryRun: true });
    expect(ground.get("f").equals(Buffer.from(after, "utf16le"))).toBe(true);
  });

  test("keeps bytes that are no UTF-8", async () => {
    ground.put("f", Buffer.from("caf\xe9\r\nb\xff\r\n", "latin1"));
    await ground.run("edit", { path: "f", lineEnding: "lf" });
    expect(ground.get("f").toString("latin1")).toBe("caf\xe9\nb\xff\n");
  });
});

describe("file:edit of a cell of a notebook", () => {
  test("converts no line ends: these are of the whole file", async () => {
    const whole = '{"cells": [{"source": "a\\n"}]}\r\n';
    ground.put("n.ipynb", whole);
    for (const more of [{}, { oldText: "a", newText: "b" }, { edits: [{ at: 1, newText: "b" }] }, { newText: "b" }]) {
      const input = { path: "n.ipynb", cell: 1, lineEnding: "lf", ...more };
      expect(await ground.fail("edit", input)).toMatchObject({
        ...{ code: "INVALID_INPUT", data: { pointer: "/lineEnding" } },
        message: "'lineEnding' changes a whole file, not a cell: leave one out",
      });
      expect((await ground.fail("edit", { ...input, dryRun: true })).code).toBe("INVALID_INPUT");
    }
    expect(ground.get("n.ipynb").toString()).toBe(whole);
  });

  const ground = useGround();
  const notebook = (first: string, second: string): string =>
    [
      '{\n "metadata": {"source": ["no"], "k": "\\"cells\\": ["},\n "cells": [\n  {\n   "cell_type": "markdown",',
      `   "source": ${first}\n  },\n  "odd",\n  {"outputs": [{"text": "{[\\\\"}], "source": ${second}, "n": 1.0e+0}\n ],`,
      ' "nbformat": 4,  "nbformat_minor": 5\n}\n',
    ].join("\n");
  const list = (...lines: string[]): string => `[\n    ${lines.join(",\n    ")}\n   ]`;

  test("changes its source and no other byte", async () => {
    ground.put("n.ipynb", notebook(list('"# T\\u00eftle\\n"', '"\\/text\\n"', '"end"'), '"x = \\"1\\"\\ny"'));
    const input = { path: "n.ipynb", cell: 1, oldText: "/text", newText: 'new\n"text"' };
    expect(await ground.run("edit", input)).toMatchObject({ applied: 1 });
    const first = list('"# T\\u00eftle\\n"', '"new\\n"', '"\\"text\\"\\n"', '"end"');
    expect(ground.get("n.ipynb").toString()).toBe(notebook(first, '"x = \\"1\\"\\ny"'));
    await ground.run("edit", { path: "n.ipynb", cell: 2, oldText: 'x = "1"', newText: "x = 2" });
    expect(ground.get("n.ipynb").toString()).toBe(notebook(first, '"x = 2\\ny"'));
  });

  test("replaces all of it, fills an empty one, and puts lines in", async () => {
    ground.put("n.ipynb", notebook("[]", '["a\\n", "b"]'));
    await ground.run("edit", { path: "n.ipynb", cell: 1, newText: "one\ntwo" });
    await ground.run("edit", { path: "n.ipynb", cell: 2, at: 2, newText: "between" });
    expect(ground.get("n.ipynb").toString()).toBe(notebook(list('"one\\n"', '"two"'), '["a\\n", "between\\n", "b"]'));
    await ground.run("edit", { path: "n.ipynb", cell: 1, newText: "" });
    expect(ground.get("n.ipynb").toString()).toBe(notebook("[]", '["a\\n", "between\\n", "b"]'));
    expect(JSON.parse(ground.get("n.ipynb").toString())).toMatchObject({ nbformat: 4 });
  });

  test("is bounded as its reading and the edit of any text are", async () => {
    const storm = `{"cells": [{"source": "aa"}], "metadata": ${"[".repeat(3_000_000)}`;
    ground.put("n.ipynb", storm);
    const input = { path: "n.ipynb", cell: 1, oldText: "a", replaceAll: true };
    expect(await ground.fail("edit", { ...input, newText: "b" })).toMatchObject({
      code: "NO_MATCH",
      message: "File is no notebook with cells. Leave out cell",
    });
    ground.put("n.ipynb", notebook('"b"', JSON.stringify("a".repeat(1_000))));
    expect(await ground.fail("edit", { ...input, cell: 2, newText: "c".repeat(10_000) })).toMatchObject({
      code: "TOO_LARGE",
    });
  });

  test("says what is not there", async () => {
    ground.put("n.ipynb", notebook('"a a"', '"b"'));
    const code = async (input: object) =>
      await ground.fail("edit", { path: "n.ipynb", oldText: "a", newText: "", ...input });
    expect(await code({ cell: 3 })).toMatchObject({
      code: "NO_MATCH",
      message: '"n.ipynb" has no cell 3, but 2, from 1',
    });
    expect(await code({ cell: 2 })).toMatchObject({ code: "NO_MATCH" });
    expect(await code({ cell: 1 })).toMatchObject({ code: "AMBIGUOUS_MATCH" });
    for (const text of [
      "",
      "{",
      "[1]",
      '{"cells": 1}',
      '{"cells": [{}]}',
      '{"cells": [{"source": 1}]}',
      '{"cells": [{"source": "',
    ]) {
      ground.put("n.ipynb", text);
      expect(await code({ cell: 1 })).toMatchObject({ code: "NO_MATCH" });
      expect(ground.get("n.ipynb").toString()).toBe(text);
    }
  });
});
