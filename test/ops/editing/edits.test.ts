import { appendFileSync, chmodSync, linkSync, readFileSync, rmSync, statSync, truncateSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "@jest/globals";
import fc from "fast-check";
import type { CallTerms } from "../../../src/core/call/terms.js";
import { etagOf } from "../../../src/core/etag.js";
import { brokenBytes, brokenLength, brokenText } from "../../../src/ops/content/broken-text.js";
import { processorMs } from "../../until.js";
import { useGround } from "../ground.js";
import { sha256Of } from "./edit-fixture.js";

// One large file edited again and again, as agents do, with others that change it in between.
describe("edits that are made already", () => {
  const ground = useGround();
  const LINES = 1500;

  const textOf = (word: string, marks: readonly number[] = []): string =>
    Array.from(
      { length: LINES },
      (_, line) => `${marks.includes(line) ? "new" : "old"} line ${line} of ${word}\n`,
    ).join("");

  const mark = (path: string, line: number) =>
    ground.run("edit", { path, oldText: `old line ${line} of`, newText: `new line ${line} of` });

  const etagIn = (path: string): string => etagOf(sha256Of(ground.get(path)));

  describe("a large file edited again and again", () => {
    test("has each edit, with the etags of before and after, beside other files", async () => {
      const words = ["one", "two", "thé"];
      for (const word of words) ground.put(word, textOf(word));
      for (let line = 0; line < 5; line++) {
        for (const word of words) {
          const previousEtag = etagIn(word);
          const edited = await mark(word, line);
          expect(ground.get(word).toString()).toBe(textOf(word, [...Array(line + 1).keys()]));
          expect(edited).toMatchObject({ previousEtag, etag: etagIn(word), firstChangedLine: line + 1 });
        }
      }
    });

    test.each([
      ["utf-8", ""],
      ["utf-8", "\ufeff"],
      ["utf-16le", "\ufeff"],
      ["latin1", ""],
    ] as const)("has the right etags wherever it is edited next, in %s %j", async (encoding, bom) => {
      const text = bom + textOf("thé");
      ground.put("a", Buffer.from(text, encoding));
      const marked: number[] = [];
      for (const line of [700, 900, 1400, 20, 699, 0, 1499]) {
        const previousEtag = etagIn("a");
        const edit = { oldText: `old line ${line} of`, newText: `new line ${line} of` };
        const edited = await ground.run("edit", { path: "a", encoding, ...edit });
        marked.push(line);
        expect(edited).toMatchObject({ previousEtag, etag: etagIn("a"), firstChangedLine: line + 1 });
        expect(ground.get("a").equals(Buffer.from(bom + textOf("thé", marked), encoding))).toBe(true);
      }
    });

    test("is seen as others have left it in between", async () => {
      ground.put("a", textOf("one"));
      await mark("a", 0);
      ground.put("a", textOf("two"));
      const previousEtag = etagIn("a");
      expect(await mark("a", 1)).toMatchObject({ previousEtag });
      appendFileSync(join(ground.dir, "a"), "more\n");
      expect(await mark("a", 2)).toMatchObject({ previousEtag: etagOf(sha256Of(`${textOf("two", [1])}more\n`)) });
      expect(ground.get("a").toString()).toBe(`${textOf("two", [1, 2])}more\n`);
    });

    test.each([
      ["with the same size", textOf("two")],
      ["longer", `${textOf("one")}more\n`],
      ["shorter", "short\n"],
    ])("is not overwritten where it has changed since it was read, %s", async (_, other) => {
      ground.put("a", textOf("one"));
      const first = await mark("a", 0);
      const terms: CallTerms = {
        edits: {
          async plan() {
            ground.put("a", other);
            return [{ start: 0, end: 3, text: "NEW" }];
          },
        },
      };
      const failed = await ground.fail("edit", { path: "a", oldText: "new", newText: "NEW" }, { terms });
      expect(failed).toMatchObject({ code: "CONFLICT", data: { expected: first.etag, current: etagIn("a") } });
      expect(ground.get("a").toString()).toBe(other);
      expect(ground.staged()).toEqual([]);
    });
  });

  describe("an edit that only moves text", () => {
    const TEXT = `${"abc".repeat(40)}\n`;

    test("to where the same text was is no change", async () => {
      ground.put("a", TEXT);
      const edits = [
        { oldText: "\n", newText: "abc\n" },
        { oldText: `${"abc".repeat(39)}abc`, newText: "abc".repeat(39) },
      ];
      const edited = await ground.run("edit", { path: "a", edits });
      expect(edited).toMatchObject({ etag: etagIn("a"), previousEtag: etagIn("a") });
      expect(edited.firstChangedLine).toBeUndefined();
    });

    test("tells the first line that differs, not the first that was edited", async () => {
      ground.put("b", "x\nx\nx\nend\n");
      expect(await ground.run("edit", { path: "b", oldText: "x\nx\nx\nend", newText: "x\nx\nend" })).toMatchObject({
        firstChangedLine: 3,
      });
    });
  });
});

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
    const newText = "b\r\n".repeat(1_000);
    const ms = await processorMs(async () => {
      const error = await ground.fail("edit", { path: "f", oldText: "a", newText, replaceAll: true });
      expect(error.code).toBe("TOO_LARGE");
    });
    expect(ms).toBeLessThan(5_000);
    // Many edits together may add no more than one.
    const edits = Array.from({ length: 10 }, () => ({ oldText: "a", newText: "b\r\n".repeat(20), replaceAll: true }));
    expect(await ground.fail("edit", { path: "f", edits })).toMatchObject({ code: "TOO_LARGE" });
    expect(ground.get("f").length).toBe(200_000);
  });

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

type Encode = (text: string) => Buffer;

const utf16le: Encode = (text) => Buffer.from(text, "utf16le");
const utf16be: Encode = (text) => Buffer.from(text, "utf16le").swap16();

interface Form {
  readonly name: string;
  readonly encode: Encode;
  readonly bom: string;
  /** As the call names it, where it must. */
  readonly encoding?: string;
}

const FORMS: readonly Form[] = [
  { name: "UTF-8", encode: (text) => Buffer.from(text), bom: "" },
  { name: "UTF-8 with a mark", encode: (text) => Buffer.from(text), bom: "\ufeff" },
  { name: "UTF-16LE with a mark", encode: utf16le, bom: "\ufeff" },
  { name: "UTF-16BE with a mark", encode: utf16be, bom: "\ufeff" },
  { name: "UTF-16LE by name", encode: utf16le, bom: "", encoding: "utf-16le" },
  { name: "UTF-16BE by name", encode: utf16be, bom: "", encoding: "UTF-16BE" },
  { name: "Latin-1 by name", encode: (text) => Buffer.from(text, "latin1"), bom: "", encoding: "latin1" },
];

/** What ends each line, in turn, and what an inserted line then ends in. */
const TERMINATORS: readonly (readonly [string, readonly string[], string])[] = [
  ["LF", ["\n"], "\n"],
  ["CRLF", ["\r\n"], "\r\n"],
  ["CR", ["\r"], "\r"],
  ["mixed", ["\r\n", "\n", "\r\n", "\r"], "\r\n"],
];
const MODES = [0o644, 0o600, 0o755];

describe("file:edit in a root whose text is in Latin-1", () => {
  const ground = useGround({ root: { encoding: "latin1" } });

  test("writes that, unless the call names another", async () => {
    ground.put("f", Buffer.from("naïve", "latin1"));
    await ground.run("edit", { path: "f", oldText: "naï", newText: "é" });
    expect(ground.get("f")).toEqual(Buffer.from("éve", "latin1"));
    ground.put("f", "naïve");
    await ground.run("edit", { path: "f", oldText: "naï", newText: "€", encoding: "utf-8" });
    expect(ground.get("f").toString()).toBe("€ve");
  });
});

describe("file:edit changes no byte beside what matched", () => {
  const LINES = ["première", "  zweite\tZeile ", "", "naïve", "", "últi ma"];

  /** The text before, between and after the two places that change, and those. */
  function partsOf(terminators: readonly string[], endsInNewline: boolean): readonly string[] {
    const text = LINES.map((line, index) => {
      const isLast = index === LINES.length - 1;
      return isLast && !endsInNewline ? line : line + terminators[index % terminators.length];
    }).join("");
    const first = `ière${terminators[0]}  zweite`;
    const at = text.indexOf(first);
    const second = text.indexOf("últi");
    return [
      text.slice(0, at),
      first,
      text.slice(at + first.length, second),
      "últi",
      text.slice(second + "últi".length),
    ];
  }

  const ground = useGround();

  const cases = FORMS.flatMap((form) =>
    TERMINATORS.map((terminator) => [form.name, terminator[0], form, terminator] as const),
  );
  test.each(cases)("%s, %s", async (_, _terminator, { encode, bom, encoding }, [, terminators, inserted]) => {
    for (const mode of MODES) {
      for (const isLinked of [false, true]) {
        for (const endsInNewline of [false, true]) {
          const [before = "", , between = "", , after = ""] = partsOf(terminators, endsInNewline);
          const original = encode(bom + partsOf(terminators, endsInNewline).join(""));
          ground.put("file.txt", original);
          const path = join(ground.dir, "file.txt");
          const other = join(ground.outside, "other");
          chmodSync(path, mode);
          if (isLinked) linkSync(path, other);
          await ground.run("edit", {
            path: "file.txt",
            // As an agent writes it, whatever the file has.
            edits: [
              { oldText: "últi", newText: "nächs" },
              { oldText: "ière\n  zweite", newText: "ier\n\nça" },
            ],
            ...(encoding === undefined ? {} : { encoding }),
          });
          const expected = [before, `ier${inserted}${inserted}ça`, between, "nächs", after];
          expect(ground.get("file.txt")).toEqual(encode(bom + expected.join("")));
          expect(statSync(path).mode & 0o7777).toBe(mode);
          if (isLinked) expect(readFileSync(other)).toEqual(original);
          rmSync(path);
          rmSync(other, { force: true });
        }
      }
    }
  });

  test.each([
    ["that an edit has copied", "\ufefffirst", "1st"],
    ["that an edit leaves out", "first", "1st"],
    ["that an edit has in both texts", "\ufefffirst", "\ufeff1st"],
  ])("and keeps a byte order mark %s", async (_, oldText, newText) => {
    for (const encode of [utf16le, utf16be, (text: string) => Buffer.from(text)]) {
      ground.put("f", encode("\ufefffirst\nsecond"));
      await ground.run("edit", { path: "f", oldText, newText });
      expect(ground.get("f")).toEqual(encode("\ufeff1st\nsecond"));
    }
  });

  test("and takes the text literally first where line endings are mixed", async () => {
    ground.put("f", "a\r\nb\na\nb\rc\r\n");
    await ground.run("edit", { path: "f", oldText: "a\nb", newText: "x\ny" });
    expect(ground.get("f").toString()).toBe("a\r\nb\nx\ny\rc\r\n");
  });

  test("and finds text over line endings of any kind where they are mixed", async () => {
    ground.put("f", "a\r\nb\na\nb\ra\rb\r\n\r\n");
    await ground.run("edit", { path: "f", oldText: "a\nb", newText: "x\ny", expect: 3 });
    expect(ground.get("f").toString()).toBe("x\r\ny\nx\ny\rx\ry\r\n\r\n");
  });

  test("and refuses what the encoding cannot say, or the bytes are not", async () => {
    ground.put("f", Buffer.from("naïve", "latin1"));
    const input = { path: "f", oldText: "na", newText: "€", encoding: "latin1" };
    expect(await ground.fail("edit", input)).toMatchObject({
      code: "NOT_TEXT",
      message: "The file's encoding, latin1, has no way to write the new text. Use characters it has",
    });
    expect(await ground.fail("edit", { ...input, encoding: "utf-8" })).toMatchObject({ code: "NOT_TEXT" });
    expect(await ground.fail("edit", { ...input, encoding: "klingon" })).toMatchObject({ code: "INVALID_INPUT" });
    ground.put("f", Buffer.of(0xff, 0xfe, 0x61));
    expect(await ground.fail("edit", { path: "f", oldText: "a", newText: "" })).toMatchObject({ code: "NOT_TEXT" });
  });
});

const LINE = Buffer.from("a line of a large file, as long as lines are;\r\n");

describe("file:edit of a large file", () => {
  const ground = useGround();

  test("changes it at one place, and lets other calls run", async () => {
    const half = Buffer.alloc(681_000 * LINE.length, LINE);
    ground.put("f", Buffer.concat([half, Buffer.from("the one\r\n"), half]));
    ground.put("small", "a");
    let reads = 0;
    let isOver = false;
    const edited = ground.run("edit", { path: "f", oldText: "the one", newText: "this\nnew $& one" }).finally(() => {
      isOver = true;
    });
    while (!isOver) {
      await ground.run("read", { path: "small" });
      await new Promise((resolve) => setTimeout(resolve, 1));
      if (!isOver) reads++;
    }
    const { size, firstChangedLine, applied } = await edited;
    expect(ground.get("f").equals(Buffer.concat([half, Buffer.from("this\r\nnew $& one\r\n"), half]))).toBe(true);
    expect({ size, firstChangedLine, applied }).toEqual({
      size: 2 * half.length + 18,
      firstChangedLine: 681_001,
      applied: 1,
    });
    expect(reads).toBeGreaterThan(3);
  });

  test("is refused beyond what is held in memory, with what can be done instead", async () => {
    ground.put("f", "start");
    truncateSync(join(ground.dir, "f"), 67_108_865);
    const { code, message } = await ground.fail("edit", { path: "f", oldText: "start", newText: "" });
    expect([code, message]).toEqual([
      "TOO_LARGE",
      "File is too large to edit: 67108865 bytes, limit 67108864. Read its parts (offset, length), and add to it with file:append",
    ]);
    await ground.run("append", { path: "f", content: "end" });
    expect(await ground.run("read", { path: "f", offset: 67_108_865, length: 3 })).toMatchObject({ content: "end" });
  });
});

const latin1 = (text: string): Buffer => Buffer.from(text, "latin1");

test("bytes that are partly UTF-8 become a text and come back", () => {
  const pieces = fc.constantFrom<readonly number[]>(
    ...[[0x41], [0x0a], [0xe9], [0xff], [0x80], [0xc3, 0xa9], [0xe2, 0x82, 0xac], [0xf0, 0x9f, 0x98, 0x80]],
    ...[
      [0xe2, 0x82],
      [0xed, 0xa0, 0x80],
      [0xc0, 0xaf],
      [0xf4, 0x90, 0x80, 0x80],
      [0xef, 0xbf, 0xbd],
      [0xf0, 0x8f],
    ],
  );
  fc.assert(
    fc.property(fc.array(pieces, { maxLength: 12 }), (all) => {
      const bytes = Buffer.from(all.flat());
      const text = brokenText(bytes);
      expect(brokenBytes(text)).toEqual(bytes);
      expect(brokenLength(text)).toBe(bytes.length);
      // The same characters as a decoder that replaces what is none.
      const shown = text.toWellFormed().replace(/\ufffd+/g, "\ufffd");
      expect(shown).toBe(new TextDecoder("utf-8", { ignoreBOM: true }).decode(bytes).replace(/\ufffd+/g, "\ufffd"));
    }),
    { numRuns: 500 },
  );
});

test("millions of bad bytes take no object each", async () => {
  const text = "\udce9a".repeat(4_000_000);
  const ms = await processorMs(() => expect(brokenBytes(text).equals(latin1("\xe9a".repeat(4_000_000)))).toBe(true));
  expect(ms).toBeLessThan(5_000);
});

describe("file:edit of a file in which some bytes are no UTF-8", () => {
  const ground = useGround();

  test("leaves those as they are", async () => {
    const parts = ["caf", "\xe9\xa0", "\nsecond line\n", "\xff", "last\n"];
    ground.put("f", latin1(parts.join("")));
    const output = await ground.run("edit", { path: "f", oldText: "second line", newText: "2nd" });
    expect(ground.get("f")).toEqual(latin1(parts.join("").replace("second line", "2nd")));
    expect(output).toMatchObject({ firstChangedLine: 2, size: latin1(parts.join("")).length - 8 });
    expect(output.diff).toContain(" caf\ufffd\ufffd\n-second line\n+2nd\n");
    expect(output.diff?.isWellFormed()).toBe(true);
  });

  test("finds text beyond ASCII, and adds some, where the rest is UTF-8", async () => {
    const before = Buffer.concat([Buffer.from("naïve — 😀\n"), Buffer.of(0xfe, 0x0a), Buffer.from("日本\n")]);
    ground.put("f", before);
    const edits = [
      { oldText: "日本", newText: "Ελλάδα" },
      { oldText: "😀", newText: "😁😁" },
    ];
    await ground.run("edit", { path: "f", edits });
    const after = [Buffer.from("naïve — 😁😁\n"), Buffer.of(0xfe, 0x0a), Buffer.from("Ελλάδα\n")];
    expect(ground.get("f")).toEqual(Buffer.concat(after));
  });

  test("adds nothing beyond ASCII where they may be another encoding, until that is named", async () => {
    ground.put("f", latin1("h\xf4tel\n"));
    const input = { path: "f", oldText: "tel", newText: "pital géant" };
    expect(await ground.fail("edit", input)).toMatchObject({
      code: "NOT_TEXT",
      message: "File is not valid UTF-8 text. Pass its encoding, such as latin1",
    });
    expect(ground.get("f")).toEqual(latin1("h\xf4tel\n"));
    await ground.run("edit", { ...input, encoding: "windows-1252" });
    expect(ground.get("f")).toEqual(latin1("h\xf4pital g\xe9ant\n"));
  });

  test("keeps a byte order mark and CRLF around them", async () => {
    const before = Buffer.concat([Buffer.from("\ufeffone\r\n"), latin1("tw\xf6\r\nthree\r\n")]);
    ground.put("f", before);
    await ground.run("edit", { path: "f", oldText: "one\n", newText: "1\nand a half\n" });
    expect(ground.get("f").toString("latin1")).toBe(
      before.toString("latin1").replace("one\r\n", "1\r\nand a half\r\n"),
    );
  });

  test("shows nearest lines that can be sent", async () => {
    ground.put("f", latin1("the qu\xefck brown fox\n"));
    const { code, data } = await ground.fail("edit", { path: "f", oldText: "the quack brown fox", newText: "" });
    expect(code).toBe("NO_MATCH");
    expect(JSON.stringify(data)).not.toMatch(/\\ud/i);
  });
});

describe("file:edit puts new text among the bytes of any encoding", () => {
  const ground = useGround();
  const chars = { "utf-8": "aé€😀\n", "utf-16le": "aé😀\n", latin1: "aé\n", shift_jis: "aア表\n", gb18030: "a中€\n" };
  const forms = Object.entries(chars);

  test.each(forms)("%s", async (encoding, letters) => {
    const iconv = await import("iconv-lite");
    const encode = (text: string): Buffer => iconv.encode(text, encoding);
    const part = fc.string({ unit: fc.constantFrom(...letters), maxLength: 8 });
    await fc.assert(
      fc.asyncProperty(part, part, part, part, async (one, two, three, four) => {
        ground.put("f", encode(`${one}[1]${two}[2]${three}`));
        const edits = [
          { oldText: "[2]", newText: one },
          { oldText: "[1]", newText: four },
        ];
        const { size } = await ground.run("edit", { path: "f", edits, encoding });
        const expected = encode(`${one}${four}${two}${one}${three}`);
        expect(ground.get("f")).toEqual(expected);
        expect(size).toBe(expected.length);
      }),
      { numRuns: 60 },
    );
  });
});
