import { mkdirSync, writeFileSync } from "node:fs";
import { afterAll, describe, expect, test } from "@jest/globals";
import fc from "fast-check";
import { createFileAdapter, createProfile } from "../../../src/index.js";
import { outlineOf } from "../../../src/profiles/everruns/outline.js";
import {
  clip,
  countLines,
  type LineWindow,
  MAX_WINDOW_BYTES,
  windowOf,
} from "../../../src/profiles/everruns/windows.js";
import { cleanUp, makeFolder } from "../../cli/process.js";
import { gif, jpeg, png, webp } from "../../ops/rendering/images.js";
import { processorMs } from "../../until.js";
import { hashOf, KINDS, useBed050, whole } from "./bed.js";

afterAll(cleanUp);

describe("reads of variant 0.50", () => {
  const SIDES = [3, 2] as const;
  const PICTURES = [
    ["image/png", png(SIDES)],
    ["image/jpeg", jpeg(SIDES)],
    ["image/gif", gif(SIDES)],
    ["image/webp", webp(SIDES)],
  ] as const;
  const PDF = Buffer.from("%PDF-1.7\n%\xe2\xe3\xcf\xd3\n1 0 obj\n", "latin1");

  const lines = (from: number, to: number, text = (line: number) => `line ${line}`): string[] =>
    Array.from({ length: to - from + 1 }, (_, index) => text(from + index));
  const numbered = (from: number, to: number): string => lines(from, to, (line) => `${line}|line ${line}`).join("\n");

  describe.each(KINDS)("on a %s root", (kind) => {
    const bed = useBed050({ kind });
    const { call, fail } = bed;
    const write = (path: string, content: string | Buffer) =>
      call("write_file", { path, content: Buffer.from(content).toString("base64"), encoding: "base64" });

    describe("read_file", () => {
      test("answers numbered lines with all that is known of them", async () => {
        const text = "alpha\r\nbêta\n\ngamma";
        await write("a/f.txt", text);
        const content = "1|alpha\n2|bêta\n3|\n4|gamma";
        const answer = await call("read_file", { path: "a/f.txt" });
        expect(answer).toEqual({
          ...{
            path: "/workspace/a/f.txt",
            content,
            total_lines: 4,
            lines_shown: { start: 1, end: 4 },
            truncated: false,
          },
          ...{ size_bytes: 19, content_hash: hashOf(text), truncation: whole(Buffer.byteLength(content)) },
        });
        expect(Object.keys(answer)).toEqual([
          ...["path", "content", "total_lines", "lines_shown", "truncated", "size_bytes", "content_hash", "truncation"],
        ]);
        expect(await call("read_file", { path: "/workspace/a/f.txt", offset: 1, limit: 2 })).toEqual({
          ...answer,
          ...{ content: "2|bêta\n3|", lines_shown: { start: 2, end: 3 }, truncated: true },
          truncation: {
            ...{ truncated: true, bytes_returned: 10, bytes_total: 19, next_offset: 3 },
            ...{ resume_hint: "call read_file with offset=3 to resume from line 4", reason: "line_cap" },
          },
        });
      });

      test.each([
        ["an empty file", "", undefined, 0],
        ["a start behind the end", "a\nb\n", 2, 2],
      ])("shows nothing of %s", async (_what, text, offset, total_lines) => {
        await write("f", text);
        const nothing = { content: "", lines_shown: { start: 0, end: 0 }, truncated: false, truncation: whole(0) };
        expect(await call("read_file", { path: "f", offset })).toMatchObject({ ...nothing, total_lines });
      });

      test.each([
        ["f.txt", {}, 1, 2000, {}],
        ["f", { limit: 2500 }, 1, 2500, {}],
        ["f.log", {}, 2501, 3000, { content_type: "log", read_mode: "tail" }],
        ["F.OUT", { limit: 2 }, 2999, 3000, { content_type: "log", read_mode: "tail" }],
        ["f.log", { offset: 0 }, 1, 500, { content_type: "log" }],
        ["f.log", { offset: 10, limit: 5 }, 11, 15, { content_type: "log" }],
        ["f.csv", {}, 1, 100, { content_type: "csv" }],
        ["f.tsv", { limit: 3 }, 1, 3, { content_type: "csv" }],
        ["f.min.js", {}, 1, 20, { content_type: "minified" }],
        ["f.min.css", { limit: 30 }, 1, 30, { content_type: "minified" }],
      ])("of %s with %j shows lines %d to %d", async (path, args, start, end, more) => {
        await write(path, `${lines(1, 3000).join("\n")}\n`);
        const answer = await call("read_file", { path, ...args });
        expect(answer).toMatchObject({ lines_shown: { start, end }, total_lines: 3000, ...more });
        expect(answer["content"]).toBe(numbered(start, end));
        expect([answer["content_type"], answer["read_mode"]]).toEqual([
          ...[Object(more).content_type, Object(more).read_mode],
        ]);
        const isCut = end < 3000;
        expect(answer["truncated"]).toBe(isCut);
        expect(answer["truncation"]).toMatchObject({
          ...(isCut ? { next_offset: end, reason: "line_cap", truncated: true } : { truncated: false }),
        });
      });

      test("a table begins with its first line, wherever it is read", async () => {
        await write("t.csv", "name,age\na,1\nb,2\nc,3\n");
        expect(await call("read_file", { path: "t.csv", offset: 2, limit: 1 })).toMatchObject({
          ...{ content: "1|name,age\n3|b,2", lines_shown: { start: 3, end: 3 }, truncated: true, content_type: "csv" },
          truncation: { bytes_returned: 16, next_offset: 3 },
        });
      });

      test("at most 50 KiB, whole characters, and where to go on", async () => {
        await write("wide", `${lines(1, 2000, () => "é".repeat(50)).join("\n")}\n`);
        const answer = await call("read_file", { path: "wide" });
        const { lines_shown, truncation, content } = Object(answer);
        expect(truncation).toMatchObject({ truncated: true, reason: "size_cap", next_offset: lines_shown.end });
        expect(truncation.bytes_returned).toBe(Buffer.byteLength(content));
        expect(truncation.bytes_returned).toBeLessThanOrEqual(51_200);
        const next = await call("read_file", { path: "wide", offset: truncation.next_offset });
        expect(String(next["content"]).startsWith(`${lines_shown.end + 1}|é`)).toBe(true);
        await write("one", "€".repeat(20_000));
        const one = Object(await call("read_file", { path: "one" }));
        expect(one.truncation).toEqual({
          ...{ truncated: true, bytes_returned: 51_200, bytes_total: 60_000, reason: "size_cap" },
        });
        expect(one.content).not.toContain("\ufffd");
      });

      test("goes on with an outline of what is not shown, within the bytes", async () => {
        const text = `class Early {\n}\n${"// x\n".repeat(2100)}class Later {\n  go() {\n  }\n}\n`;
        await write("src/a.ts", text);
        const { content, truncation, lines_shown } = Object(await call("read_file", { path: "src/a.ts" }));
        const outline =
          "\n--- Outline of lines 2001-2106 (not shown) ---\n// L2103: class Later { ... }\n  // L2104: go() { ... }\n";
        expect(content.endsWith(`2000|// x${outline}`)).toBe(true);
        expect(truncation).toMatchObject({ bytes_returned: Buffer.byteLength(content), next_offset: 2000 });
        expect(lines_shown).toEqual({ start: 1, end: 2000 });
        const last = Object(await call("read_file", { path: "src/a.ts", offset: 2105 }));
        expect(last.content).toBe(
          "2106|}\n--- Outline of lines 1-2105 (not shown) ---\n// L1: class Early { ... }\n// L2103: class Later { ... }\n  // L2104: go() { ... }\n",
        );
        expect(last.truncated).toBe(false);
        await write("src/b.ts", `${"x".repeat(51_150)}\n${lines(1, 900, (line) => `class C${line} {\n}`).join("\n")}`);
        const full = Object(await call("read_file", { path: "src/b.ts", limit: 1 }));
        expect(full.truncation.bytes_returned).toBeLessThanOrEqual(51_200);
        expect(full.content).not.toContain("class C30 ");
      });

      test.each(PICTURES)("%s is shown by its first bytes, whatever its name", async (media_type, bytes) => {
        for (const path of ["picture", "picture.txt", "picture.bin"]) {
          await write(path, bytes);
          expect(await call("read_file", { path })).toEqual({
            ...{ path: `/workspace/${path}`, media_type, size_bytes: bytes.length, content_hash: hashOf(bytes) },
            image: { base64: bytes.toString("base64"), media_type },
          });
        }
      });

      test("a PDF is given as it is, also one that is text", async () => {
        for (const bytes of [PDF, Buffer.from("%PDF-1.4\n1 0 obj\n")]) {
          await write("paper", bytes);
          const media_type = "application/pdf";
          expect(await call("read_file", { path: "paper" })).toEqual({
            ...{ path: "/workspace/paper", media_type, size_bytes: bytes.length, content_hash: hashOf(bytes) },
            document: { base64: bytes.toString("base64"), media_type },
          });
        }
      });

      test("a picture that hosts refuse is described", async () => {
        const broken = png(SIDES).subarray(0, 40);
        await write("broken.png", broken);
        expect(await call("read_file", { path: "broken.png" })).toEqual({
          ...{ path: "/workspace/broken.png", media_type: "image/png", size_bytes: 40, content_hash: hashOf(broken) },
          note: "Not shown: damaged or cut short",
        });
      });

      test.each([
        ["f", Buffer.from([0xff, 0xfe, 0]), "base64"],
        ["f.txt", Buffer.from("a\0b"), "base64"],
        ["f.zip", Buffer.from("text"), "binary"],
        ["f.PDF", Buffer.from("no pdf"), "binary"],
        ["f.WOFF2", Buffer.from([0xff]), "base64"],
      ])("of %s, which is no text, there is metadata alone", async (path, bytes, encoding) => {
        await write(path, bytes);
        expect(await call("read_file", { path })).toEqual({
          ...{ path: `/workspace/${path}`, content_type: "binary", encoding, size_bytes: bytes.length },
          ...{ note: "Binary file: its content is not shown", content_hash: hashOf(bytes) },
          truncation: { truncated: false, bytes_returned: 0, bytes_total: bytes.length, reason: "size_cap" },
        });
      });

      test.each([
        [{}, "Missing required parameter: path"],
        [{ path: "f", limit: 0 }, "limit must be greater than 0"],
        [{ path: "f", limit: -3 }, "limit must be greater than 0"],
        [{ path: "f", limit: 1.5 }, "Invalid parameter limit: must be a whole number"],
        [{ path: "f", offset: -1 }, "Invalid parameter offset: must be at least 0"],
        [
          { path: "f", encoding: "text" },
          "Invalid parameter encoding: unknown field 'encoding'. Known fields: path, offset, limit",
        ],
        [{ path: "none" }, "File not found: /workspace/none"],
        [{ path: "dir" }, "Path '/workspace/dir' is a directory, not a file. Use list_directory instead."],
        [{ path: "../f" }, "path traversal rejected: ../f"],
      ])("refuses %j", async (args, text) => {
        await write("f", "x");
        await write("dir/f", "x");
        expect(await fail("read_file", args)).toBe(text);
      });
    });

    describe("read_many_files", () => {
      test("answers as read_file for each, in order, or why not", async () => {
        await write("a.txt", "one\ntwo\nthree\n");
        await write("b.log", `${lines(1, 600).join("\n")}\n`);
        await write("c.bin", "x");
        const wish = { offset: 1, limit: 1 };
        const paths = ["b.log", "none", "/workspace/a.txt", "c.bin", "../x", "a.txt"];
        const read = (path: string, args = {}) => call("read_file", { path, ...args });
        for (const args of [{}, wish]) {
          expect(await call("read_many_files", { paths, ...args })).toEqual({
            results: [
              await read("b.log", args),
              { path: "/workspace/none", error: "File not found: /workspace/none" },
              ...[await read("a.txt", args), await read("c.bin", args)],
              { path: "../x", error: "path traversal rejected: ../x" },
              await read("a.txt", args),
            ],
            count: 6,
          });
        }
      });

      test("tells of pictures and PDF, and leaves their content out", async () => {
        await write("p", png(SIDES));
        await write("d", PDF);
        const more = { image_omitted: true, hint: "call read_file with this path to see it" };
        const { results } = Object(await call("read_many_files", { paths: ["p", "d"] }));
        expect(results).toEqual([
          {
            path: "/workspace/p",
            media_type: "image/png",
            size_bytes: png(SIDES).length,
            content_hash: hashOf(png(SIDES)),
            ...more,
          },
          {
            path: "/workspace/d",
            media_type: "application/pdf",
            size_bytes: PDF.length,
            content_hash: hashOf(PDF),
            ...more,
          },
        ]);
      });

      test("gives 60 KiB in all, and says of the rest what to do", async () => {
        for (const name of ["1", "2", "3", "4"]) await write(name, `${name} ${"x".repeat(25_000)}`);
        const answer = await call("read_many_files", { paths: ["1", "2", "3", "none", "4"] });
        const why = "because the batch output limit was reached; read this file individually";
        expect(Object(answer).results.slice(2)).toEqual([
          { index: 2, error: `Not returned ${why}` },
          { index: 3, error: `Not read ${why}` },
          { index: 4, error: `Not read ${why}` },
        ]);
        expect(Object(answer).results.slice(0, 2)).toMatchObject([{ path: "/workspace/1" }, { path: "/workspace/2" }]);
        expect(answer["count"]).toBe(5);
        await write("q", '"'.repeat(40_000));
        const quotes = Array.from({ length: 10 }, () => "q");
        const escaped = Object(await call("read_many_files", { paths: quotes }));
        expect(Buffer.byteLength(JSON.stringify(escaped.results))).toBeLessThanOrEqual(61_440);
        expect(escaped.results[0]).toEqual({ index: 0, error: `Not returned ${why}` });
      });

      test.each([
        [{}, "Missing required parameter: paths"],
        [{ paths: [] }, "Parameter `paths` must contain between 2 and 10 paths"],
        [{ paths: ["a"] }, "Parameter `paths` must contain between 2 and 10 paths"],
        [{ paths: Array.from({ length: 11 }, () => "a") }, "Parameter `paths` must contain between 2 and 10 paths"],
        [{ paths: ["a", 1] }, "Parameter `paths[1]` must be a string"],
        [{ paths: [null, "a"] }, "Parameter `paths[0]` must be a string"],
        [{ paths: ["a", ""] }, "Parameter `paths[1]` must contain between 1 and 4096 bytes"],
        [{ paths: ["a", "é".repeat(2049)] }, "Parameter `paths[1]` must contain between 1 and 4096 bytes"],
        [{ paths: ["a", "b"], limit: 0 }, "limit must be greater than 0"],
        [{ paths: "a" }, "Invalid parameter paths: must be a list"],
      ])("refuses %j", async (args, text) => {
        expect(await fail("read_many_files", args)).toBe(text);
      });
    });
  });

  test("a file above the limit of the root is not read", async () => {
    const { createFileAdapter, createProfile } = await import("../../../src/index.js");
    const adapter = await createFileAdapter({ limits: { maxReadBytes: 100 }, roots: { r: { temp: true } } });
    try {
      const profile = createProfile(adapter, { profile: "everruns", root: "r", variant: "0.50" });
      await profile.call("write_file", { path: "large", content: "x".repeat(101) });
      const error = "File exceeds the size limit of 100 bytes";
      expect(await profile.call("read_file", { path: "large" })).toEqual({ error });
      expect(await profile.call("read_many_files", { paths: ["large", "none"] })).toMatchObject({
        results: [{ path: "/workspace/large", error }, { error: "File not found: /workspace/none" }],
      });
    } finally {
      await adapter.close();
    }
  });
});

const ROOM = 10_000;

/** The outline of a file of which no line of its own is shown. */
function outline(name: string, text: string): readonly string[] {
  const before = outlineOf(text, name, { start: 1000, end: 1000, totalLines: 2000 }, ROOM);
  expect(before === "" || before.startsWith("\n--- Outline of lines 1-999 (not shown) ---\n")).toBe(true);
  return before.split("\n").slice(2, -1);
}

describe("an outline", () => {
  test("of TypeScript and JavaScript", () => {
    const source = [
      'import { x } from "y";',
      "/** class InAComment { */",
      "export default class Later<T> extends Early {",
      "  static readonly #count = 1;",
      "  constructor(private readonly one: string) {",
      "    if (one) {",
      "      call(one);",
      "    }",
      "    call(one);",
      "  }",
      "",
      "  get size(): number {",
      "  }",
      "  private async *#walk<U>(from: U, { a, b }: X): AsyncGenerator<U> {",
      "    for (const each of from) {",
      "    }",
      "  }",
      "}",
      "  indented();",
      "export interface Shape {",
      "  area(): number;",
      "}",
      "type Name = string | number;",
      "export const enum Kind {",
      "export async function run({ a }: X): { y: string } {",
      "  inner();",
      "}",
      "const arrow = async (a: string) => {",
      "const short = (a) => a + 1;",
      "export const plain = 1;",
      "namespace N {",
    ].join("\n");
    const expected = [
      "// L3: class Later<T> extends Early { ... }",
      "  // L5: constructor(private readonly one: string) { ... }",
      "  // L12: get size(): number { ... }",
      "  // L14: private async *#walk<U>(from: U, { a, b }: X): AsyncGenerator<U> { ... }",
      "// L20: interface Shape { ... }",
      "  // L21: area(): number { ... }",
      "// L23: type Name = string | number { ... }",
      "// L24: const enum Kind { ... }",
      "// L25: async function run({ a }: X): { y: string } { ... }",
      "// L28: const arrow = async (a: string) { ... }",
      "// L29: const short = (a) => a + 1 { ... }",
      "// L31: namespace N { ... }",
    ];
    for (const name of ["a.ts", "/workspace/x.MTS", "a.tsx", "a.js", "a.cjs", "a.jsx"]) {
      expect(outline(name, source)).toEqual(expected);
    }
  });

  test("of Rust", () => {
    const source = [
      "use std::fmt;",
      "#[derive(Debug)]",
      "pub struct Point<T> {",
      "    x: T,",
      "}",
      "impl<T: Add> Shape for Point<T> {",
      "    /// fn comment()",
      "    pub(crate) async fn area(&self) -> Result<f64, Error> {",
      "        let f = fn_like();",
      "    }",
      "    const N: u8 = 1;",
      "",
      "    fn name(&self) -> &str;",
      "}",
      "pub trait Draw { fn draw(&self); }",
      "enum E { A, B }",
      'unsafe extern "C" fn raw(x: *const u8) {',
      "    fn inner() {}",
      "}",
      "mod tests {",
      "macro_rules! m {",
    ].join("\r\n");
    expect(outline("src/lib.rs", source)).toEqual([
      "// L3: pub struct Point<T> { ... }",
      "// L6: impl<T: Add> Shape for Point<T> { ... }",
      "  // L8: pub(crate) async fn area(&self) -> Result<f64, Error> { ... }",
      "  // L13: fn name(&self) -> &str { ... }",
      "// L15: pub trait Draw { ... }",
      "// L16: enum E { ... }",
      '// L17: unsafe extern "C" fn raw(x: *const u8) { ... }',
      "// L20: mod tests { ... }",
      "// L21: macro_rules! m { ... }",
    ]);
  });

  test("of Python", () => {
    const source = [
      "import os",
      "class Later(Base):",
      '    """def text():"""',
      "    x = 1",
      "",
      "    @property",
      "    def name(self) -> str:",
      "        def inner():",
      "            pass",
      "    async def run(self, *args):",
      "        pass",
      "# def comment():",
      "def main(a={}, b=None):",
      "\tdef nested():",
      "async def later():",
    ].join("\n");
    expect(outline("a.py", source)).toEqual([
      "// L2: class Later(Base) { ... }",
      "  // L7: def name(self) -> str { ... }",
      "  // L10: async def run(self, *args) { ... }",
      "// L13: def main(a={}, b=None) { ... }",
      "// L15: async def later() { ... }",
    ]);
  });

  test("of other files is none", () => {
    for (const name of ["a.go", "ts", "a.txt", "Makefile", "a.ts.bak"])
      expect(outline(name, "class A {\n")).toEqual([]);
    expect(outline("a.py", "x = 1\n")).toEqual([]);
  });

  test("has what is before and after the window, and nothing of it", () => {
    const source = "class A {\n  a() {\n  }\n}\nclass B {\n  b() {\n  }\n  c() {\n  }\n}\n";
    expect(outlineOf(source, "a.ts", { start: 5, end: 6, totalLines: 10 }, ROOM)).toBe(
      "\n--- Outline of lines 1-4 (not shown) ---\n// L1: class A { ... }\n  // L2: a() { ... }\n" +
        "\n--- Outline of lines 7-10 (not shown) ---\n  // L8: c() { ... }\n",
    );
    expect(outlineOf(source, "a.ts", { start: 1, end: 10, totalLines: 10 }, ROOM)).toBe("");
  });

  test("is cut at the end of a line", () => {
    const source = Array.from({ length: 100 }, (_, index) => `class C${index} {\n}`).join("\n");
    const cut = outlineOf(source, "a.ts", { start: 1, end: 1, totalLines: 200 }, 200);
    expect(cut.length).toBeLessThanOrEqual(200);
    expect(cut.length).toBeGreaterThan(150);
    expect(cut.endsWith("{ ... }\n")).toBe(true);
    expect(outlineOf(source, "a.ts", { start: 1, end: 1, totalLines: 200 }, 10)).toBe("");
  });

  test("takes no longer for lines that almost declare something", async () => {
    const shown = { start: 1, end: 1, totalLines: 100_000 };
    const ms = await processorMs(() => {
      for (const line of [
        `const ${"a".repeat(290)}`,
        `const a:${" ".repeat(280)}`,
        `function${" ".repeat(280)}`,
        `class A {\n  ${"static ".repeat(40)}`,
        `class A {\n  get${" ".repeat(280)}`,
        `class A {\n  a<${"<".repeat(280)}`,
        `const a = ${"(".repeat(280)}`,
        "\n",
      ]) {
        outlineOf(`${line}\n`.repeat(Math.floor(4_000_000 / (line.length + 1))), "a.ts", shown, ROOM);
        outlineOf(`${line}\n`.repeat(Math.floor(4_000_000 / (line.length + 1))), "a.rs", shown, ROOM);
      }
    });
    // A pattern that is not linear takes minutes.
    expect(ms).toBeLessThan(20_000);
  });
});

describe("windows of variant 0.50", () => {
  const front = (text: string, offset = 0, limit = 2000): LineWindow =>
    windowOf(text, { offset, limit, repeatsFirst: false, size: Buffer.byteLength(text) });
  const tail = (text: string, limit: number): LineWindow =>
    windowOf(text, { offset: undefined, limit, repeatsFirst: false, size: Buffer.byteLength(text) });
  const lines = (count: number, text = (line: number) => `line ${line}`): string =>
    Array.from({ length: count }, (_, index) => `${text(index + 1)}\n`).join("");

  describe("a window", () => {
    test.each([
      ["", 0, 2000, "", 0, 0, 0],
      ["a", 0, 2000, "1|a", 1, 1, 1],
      ["a\n", 0, 2000, "1|a", 1, 1, 1],
      ["\n", 0, 2000, "1|", 1, 1, 1],
      ["a\r\nb\rc\r\n", 0, 2000, "1|a\n2|b\rc", 1, 2, 2],
      ["a\r", 0, 2000, "1|a\r", 1, 1, 1],
      ["a\nb\nc\n", 1, 2000, "2|b\n3|c", 2, 3, 3],
      ["a\nb\nc\n", 3, 2000, "", 0, 0, 3],
      ["a\nb\nc\n", 99, 2000, "", 0, 0, 3],
      ["\ufeffé\n\n€", 0, 2000, "1|\ufeffé\n2|\n3|€", 1, 3, 3],
    ])("of %j from %d, %d lines, is %j", (text, offset, limit, content, start, end, totalLines) => {
      expect(front(text, offset, limit)).toEqual({
        ...{ content, bytes: Buffer.byteLength(content), start, end, totalLines },
      });
    });

    test("is cut by its limit, and tells where to go on", () => {
      expect(front(lines(5), 1, 2)).toMatchObject({ content: "2|line 2\n3|line 3", cut: "line_cap", next: 3, end: 3 });
      expect(front(lines(5), 3, 2)).toHaveProperty("cut", undefined);
    });

    test("is cut by its bytes at the end of a line, which no next window repeats", () => {
      const text = lines(2000, (line) => `${line} ${"é".repeat(40)}`);
      const { content, bytes, end, cut, next } = front(text);
      expect([cut, next]).toEqual(["size_cap", end]);
      expect(bytes).toBe(Buffer.byteLength(content));
      expect(bytes).toBeLessThanOrEqual(MAX_WINDOW_BYTES);
      expect(bytes).toBeGreaterThan(MAX_WINDOW_BYTES - 200);
      expect(content.split("\n")).toHaveLength(end);
      expect(content.endsWith("é")).toBe(true);
    });

    test("ends inside a line where much room is left, at a character", () => {
      const long = "€".repeat(30_000);
      const one = front(long);
      expect(one).toMatchObject({ start: 1, end: 1, cut: "size_cap" });
      expect(one).toHaveProperty("next", undefined);
      expect(one.content).toBe(`1|${"€".repeat(Math.floor((MAX_WINDOW_BYTES - 2) / 3))}`);
      // The line is read again from its start, unless the window begins with it.
      expect(front(`a\n${long}\nb\n`)).toMatchObject({ start: 1, end: 2, cut: "size_cap", next: 1 });
      expect(front(`a\n${long}\nb\n`, 1)).toMatchObject({ start: 2, end: 2, cut: "size_cap", next: 2 });
      expect(front(`a\n${long}\n`)).toHaveProperty("next", undefined);
      expect(front(`a\n${long}\nb\n`, 0, 2)).toHaveProperty("next", undefined);
    });

    test("of the end has the last lines that fit", () => {
      expect(tail(lines(5), 2)).toEqual({ content: "4|line 4\n5|line 5", bytes: 17, start: 4, end: 5, totalLines: 5 });
      expect(tail("a\n\nb", 2)).toMatchObject({ content: "2|\n3|b" });
      expect(tail(lines(3), 500)).toMatchObject({ start: 1, end: 3 });
      expect(tail("", 500)).toMatchObject({ content: "", start: 0, end: 0 });
      const { start, end, bytes, cut, next } = tail(
        lines(500, () => "x".repeat(1000)),
        500,
      );
      expect([end, cut, next]).toEqual([500, "size_cap", undefined]);
      expect(start).toBeGreaterThan(440);
      expect(bytes).toBeGreaterThan(MAX_WINDOW_BYTES - 1100);
      expect(tail(`a\n${"x".repeat(60_000)}`, 500)).toMatchObject({ start: 2, end: 2, cut: "size_cap" });
    });

    test("can repeat the first line", () => {
      const table = (text: string, offset: number) =>
        windowOf(text, { offset, limit: 2, repeatsFirst: true, size: Buffer.byteLength(text) });
      expect(table("h\na\nb\nc\n", 2)).toMatchObject({ content: "1|h\n3|b\n4|c", start: 3, end: 4 });
      expect(table("h\r\na\nb\n", 1)).toMatchObject({ content: "1|h\n2|a\n3|b" });
      expect(table("h\na\nb\n", 0)).toMatchObject({ content: "1|h\n2|a" });
      expect(table("h\na\n", 2)).toMatchObject({ content: "" });
      const wide = table(`${"é".repeat(40_000)}\na\nb\n`, 1);
      expect(wide).toMatchObject({ start: 2, end: 3 });
      expect(wide.bytes).toBeLessThanOrEqual(MAX_WINDOW_BYTES);
      expect(wide.content.endsWith("\n2|a\n3|b")).toBe(true);
    });
  });

  test("windows one after the other give every line once", () => {
    const short = fc.string({ unit: fc.constantFrom("a", "é", "€", "😀", "\r"), maxLength: 8 });
    const line = fc.oneof(short, fc.constantFrom("x".repeat(3000), "€".repeat(9000)));
    fc.assert(
      fc.property(fc.array(line, { maxLength: 60 }), fc.integer({ min: 1, max: 40 }), (given, limit) => {
        const text = given.map((one) => one.replace(/\r+$/, "")).join("\n");
        const expected = text === "" ? [] : text.replace(/\n$/, "").split("\n");
        const seen: string[] = [];
        for (let offset: number | undefined = 0; offset !== undefined; ) {
          const { content, bytes, start, end, cut, next, totalLines }: LineWindow = front(text, offset, limit);
          expect([totalLines, bytes]).toEqual([expected.length, Buffer.byteLength(content)]);
          expect(bytes).toBeLessThanOrEqual(MAX_WINDOW_BYTES);
          for (const shown of content === "" ? [] : content.split("\n")) {
            const at = shown.indexOf("|");
            seen[Number(shown.slice(0, at)) - 1] = shown.slice(at + 1);
          }
          // No call goes on where the last line of a window is cut: it is read alone.
          const again: number | undefined =
            cut === "size_cap" && next === undefined && start < end ? end - 1 : undefined;
          if (next !== undefined) expect(next).toBeGreaterThan(offset);
          offset = next ?? again;
        }
        expect(countLines(text, 0)).toBe(seen.length);
        // Compared by a flag: a failure would show kilobytes.
        expect(seen.every((one, at) => one === expected[at])).toBe(true);
      }),
      { numRuns: 200 },
    );
  });

  test("a text is clipped at a character", () => {
    expect([clip("aé", 3), clip("aé", 2), clip("😀", 3), clip("x", 0), clip("x", -1)]).toEqual(["aé", "a", "", "", ""]);
  });
});

const bytesOf = (items: unknown): number => Buffer.byteLength(JSON.stringify(items));

describe.each(KINDS)("on a %s root", (kind) => {
  describe("list_directory", () => {
    const { call, fail } = useBed050({ kind });

    test("answers pages with totals", async () => {
      expect(await call("list_directory")).toEqual({
        ...{ path: "/workspace", entries: [], count: 0, total_count: 0, offset: 0, limit: 200, truncation: whole(2) },
      });
      for (const name of ["d/b", "d/.a", "d/c", "d/sub/x"]) await call("write_file", { path: name, content: "1" });
      const entry = (name: string, is_directory = false) => ({
        ...{ name, path: `/workspace/d/${name}`, is_directory, size_bytes: is_directory ? 0 : 1, is_readonly: false },
      });
      const all = [entry(".a"), entry("b"), entry("c"), entry("sub", true)];
      expect(await call("list_directory", { path: "/workspace/d/" })).toEqual({
        ...{ path: "/workspace/d", entries: all, count: 4, total_count: 4, offset: 0, limit: 200 },
        truncation: whole(bytesOf(all)),
      });
      const page = all.slice(1, 3);
      expect(await call("list_directory", { path: "d", offset: 1, limit: 2 })).toEqual({
        ...{ path: "/workspace/d", entries: page, count: 2, total_count: 4, offset: 1, limit: 2 },
        truncation: {
          ...{ truncated: true, bytes_returned: bytesOf(page), next_offset: 3 },
          ...{ resume_hint: "call list_directory with offset=3 to resume from item 4", reason: "item_cap" },
        },
      });
      expect(await call("list_directory", { path: "d", offset: 3, limit: 5000 })).toMatchObject({
        ...{ entries: [entry("sub", true)], limit: 1000, truncation: { truncated: false } },
      });
      expect(await call("list_directory", { path: "d", offset: 4 })).toMatchObject({ entries: [], total_count: 4 });
      expect(await fail("list_directory", { path: "none" })).toBe("Directory not found: /workspace/none");
      expect(await fail("list_directory", { path: "d/b" })).toBe("Path is not a directory: /workspace/d/b");
      expect(await fail("list_directory", { limit: 0 })).toBe("limit must be greater than 0");
      expect(await fail("list_directory", { recursive: true })).toContain("Invalid parameter recursive: unknown field");
    });
  });

  describe("glob", () => {
    const { call, fail } = useBed050({ kind });
    const found = async (pattern: string, limit?: number) => {
      const { paths, truncated } = Object(await call("glob", { pattern, ...(limit && { limit }) }));
      return [...paths.map((path: string) => path.replace("/workspace/", "")), ...(truncated ? ["…"] : [])];
    };

    test("finds files alone, by path", async () => {
      expect(await call("glob", { pattern: "**" })).toEqual({ paths: [], truncated: false });
      const names = ["a.ts", "src/B.ts", "src/a/b.ts", "src/a-b/c.ts", "src/.hidden.ts", "docs/x.md", "lib.ts/y"];
      for (const path of [...names, "out/z.ts"]) await call("write_file", { path, content: "" });
      await call("write_file", { path: ".gitignore", content: "out/\n" });
      const all = ["a.ts", "src/.hidden.ts", "src/B.ts", "src/a-b/c.ts", "src/a/b.ts"];
      for (const pattern of ["*.ts", "**/*.ts", "/workspace/**/*.ts"]) expect(await found(pattern)).toEqual(all);
      for (const pattern of ["src/*.ts", "/src/*.ts", "/workspace/src/*.ts"]) {
        expect(await found(pattern)).toEqual(["src/.hidden.ts", "src/B.ts"]);
      }
      expect(await found("/a.ts")).toEqual(["a.ts"]);
      expect(await found("x.md")).toEqual(["docs/x.md"]);
      expect(await found("docs/x.md")).toEqual(["docs/x.md"]);
      expect(await found("{docs,lib.ts}/*")).toEqual(["docs/x.md", "lib.ts/y"]);
      expect(await found("src/**")).toEqual(all.slice(1));
      expect(await found("*.ts", 2)).toEqual(["a.ts", "src/.hidden.ts", "…"]);
      expect(await found("*.ts", 5)).toEqual(all);
      for (const pattern of ["none/*", "src"]) expect((await found(pattern)).join()).toBe("");
    });

    test.each([
      [{}, "Missing required parameter: pattern"],
      [{ pattern: "a[b" }, "Invalid glob: '[' is not closed: at 4"],
      [{ pattern: "src/{a" }, "Invalid glob: '{' is not closed: at 4"],
      [{ pattern: "x".repeat(2000) }, "Invalid glob: longer than 1000 characters"],
      [{ pattern: "../*" }, "Invalid glob: '..' is not allowed"],
      [{ pattern: "*", limit: 0 }, "limit must be greater than 0"],
      [{ pattern: "*", path: "src" }, "Invalid parameter path: unknown field 'path'. Known fields: pattern, limit"],
    ])("refuses %j", async (args, text) => {
      expect(await fail("glob", args)).toBe(text);
    });
  });

  describe("grep_files and grep", () => {
    const { call, fail } = useBed050({ kind });
    const write = (path: string, ...lines: readonly string[]) =>
      call("write_file", { path, content: `${lines.join("\n")}\n` });

    test("answer matches by path and line, in pages", async () => {
      await write("b.md", "needle 1", "", "needle 2");
      await write("a/x.ts", "no", "needle 3");
      await write("a.ts", "needle 4");
      const match = (path: string, line_number: number, line: string) => ({
        path: `/workspace/${path}`,
        line_number,
        line,
      });
      const all = [
        match("a.ts", 1, "needle 4"),
        match("a/x.ts", 2, "needle 3"),
        match("b.md", 1, "needle 1"),
        match("b.md", 3, "needle 2"),
      ];
      const bytes = (items: readonly object[]) => items.reduce((sum, item) => sum + bytesOf(item) + 1, 0);
      const answer = (matches: readonly object[], more: object) => ({
        ...{ pattern: "needle", match_count: matches.length, total_matches: 4, offset: 0, limit: 200, matches },
        ...{ truncation: whole(bytes(matches)), ...more },
      });
      for (const tool of ["grep", "grep_files"]) {
        expect(await call(tool, { pattern: "needle" })).toEqual(answer(all, {}));
        expect(await call(tool, { pattern: "needle", offset: 1, limit: 2 })).toEqual(
          answer(all.slice(1, 3), {
            ...{ offset: 1, limit: 2 },
            truncation: {
              ...{ truncated: true, bytes_returned: bytes(all.slice(1, 3)), next_offset: 3 },
              ...{ resume_hint: `call ${tool} with offset=3 to resume from match 4`, reason: "line_cap" },
            },
          }),
        );
        expect(await call(tool, { pattern: "needle", offset: 9 })).toEqual(answer([], { offset: 9 }));
        expect(await call(tool, { pattern: "needle", limit: 9999 })).toMatchObject({ limit: 1000 });
        expect(await call(tool, { pattern: "none here" })).toMatchObject({ matches: [], total_matches: 0 });
      }
      expect(await call("grep", { pattern: "needle", glob: "*.ts" })).toMatchObject({ matches: all.slice(0, 2) });
      expect(await call("grep_files", { pattern: "needle", path_pattern: "/workspace/a/*" })).toMatchObject({
        matches: [all[1]],
      });
      expect(await call("grep_files", { pattern: "needle", path: "a" })).toMatchObject({
        matches: [all[1]],
        total_matches: 1,
      });
    });

    test("give lines around in blocks; ranges that touch are one", async () => {
      await write(
        "c/f",
        ...Array.from({ length: 30 }, (_, index) =>
          [4, 7, 8, 20].includes(index + 1) ? `hit ${index + 1}` : `${index + 1}`,
        ),
      );
      const line = (line_number: number, is_match = false) => ({
        ...{ line_number, line: is_match ? `hit ${line_number}` : `${line_number}`, is_match },
      });
      const block = (start_line: number, end_line: number, match_line_numbers: readonly number[]) => ({
        ...{ path: "/workspace/c/f", start_line, end_line, match_line_numbers },
        lines: Array.from({ length: end_line - start_line + 1 }, (_, index) =>
          line(start_line + index, match_line_numbers.includes(start_line + index)),
        ),
      });
      const grep = async (args: object) => Object(await call("grep_files", { pattern: "hit", path: "c", ...args }));
      const answer = await grep({ before_context: 1, after_context: 1 });
      expect(answer.blocks).toEqual([block(3, 9, [4, 7, 8]), block(19, 21, [20])]);
      expect(answer).not.toHaveProperty("matches");
      expect(answer).toMatchObject({ match_count: 4, total_matches: 4, truncation: { truncated: false } });
      expect((await grep({ before_context: 1 })).blocks).toEqual([
        block(3, 4, [4]),
        block(6, 8, [7, 8]),
        block(19, 20, [20]),
      ]);
      expect((await grep({ after_context: 20 })).blocks).toEqual([block(4, 30, [4, 7, 8, 20])]);
      // A line that matches and is not of the page is one of the lines around.
      const page = await grep({ before_context: 1, after_context: 2, offset: 1, limit: 1 });
      expect(page.blocks).toEqual([
        { ...block(6, 9, [7]), lines: [line(6), line(7, true), { ...line(8, true), is_match: false }, line(9)] },
      ]);
      expect(page).toMatchObject({ match_count: 1, truncation: { next_offset: 2, reason: "line_cap" } });
    });

    test("give at most 64 KiB, and go on from there", async () => {
      const wide = "é".repeat(500);
      await write("d/f", ...Array.from({ length: 200 }, (_, index) => `${wide} ${index}`));
      for (const args of [{}, { before_context: 2, after_context: 2 }]) {
        let offset = 0;
        const seen: number[] = [];
        for (let page = 0; page < 20; page++) {
          const { matches, blocks, truncation, match_count } = Object(
            await call("grep_files", { pattern: "é", path: "d", offset, ...args }),
          );
          expect(Buffer.byteLength(JSON.stringify(matches ?? blocks))).toBeLessThanOrEqual(65_536);
          seen.push(
            ...(matches?.map(({ line_number }: { line_number: number }) => line_number) ??
              blocks.flatMap(({ match_line_numbers }: { match_line_numbers: number[] }) => match_line_numbers)),
          );
          expect(seen.length).toBe(offset + match_count);
          if (truncation.next_offset === undefined) break;
          expect(truncation).toMatchObject({ truncated: true, reason: "size_cap", next_offset: offset + match_count });
          offset = truncation.next_offset;
        }
        expect(seen).toEqual(Array.from({ length: 200 }, (_, index) => index + 1));
      }
    });

    test("cut a line that alone is longer", async () => {
      await write("e/f", "short", `${"\u0001€".repeat(60_000)}`, "short");
      for (const args of [{}, { before_context: 1 }]) {
        const { matches, blocks, truncation } = Object(await call("grep_files", { pattern: "€", path: "e", ...args }));
        const { line } = (matches ?? blocks[0].lines).find(
          ({ is_match }: { is_match?: boolean }) => is_match !== false,
        );
        expect("\u0001€".repeat(60_000).startsWith(line)).toBe(true);
        expect(line.length).toBeGreaterThan(5000);
        expect(Buffer.byteLength(JSON.stringify(matches ?? blocks))).toBeLessThanOrEqual(65_536);
        expect(truncation).toMatchObject({ truncated: true, reason: "size_cap" });
        expect(truncation).not.toHaveProperty("next_offset");
      }
    });

    test.each([
      ["grep", {}, "Missing required parameter: pattern"],
      ["grep", { pattern: "(" }, "Invalid regex pattern: missing closing ): at 0"],
      ["grep", { pattern: "x", glob: "[a" }, "Invalid glob: '[' is not closed: at 3"],
      [
        "grep",
        { pattern: "x", path: "a" },
        "Invalid parameter path: unknown field 'path'. Known fields: pattern, glob, offset, limit",
      ],
      ["grep_files", { pattern: "x", path_pattern: "[a" }, "Invalid path pattern: '[' is not closed: at 3"],
      ["grep_files", { pattern: "x".repeat(1001) }, "Regex pattern too long"],
      ["grep_files", { pattern: "x", before_context: 21 }, "before_context must not exceed 20"],
      ["grep_files", { pattern: "x", after_context: 99 }, "after_context must not exceed 20"],
      ["grep_files", { pattern: "x", before_context: -1 }, "before_context must be a non-negative integer"],
      ["grep_files", { pattern: "x", after_context: 1.5 }, "after_context must be a non-negative integer"],
      ["grep_files", { pattern: "x", after_context: "2" }, "after_context must be a non-negative integer"],
      ["grep_files", { pattern: "x", limit: 0 }, "limit must be greater than 0"],
      ["grep_files", { pattern: "x", path: "none" }, "Directory not found: /workspace/none"],
    ])("%s refuses %j", async (tool, args, text) => {
      expect(await fail(tool, args)).toBe(text);
    });

    test("scan at most 5 MB", async () => {
      for (let index = 0; index < 11; index++) await write(`g/${index}`, "y".repeat(500_000));
      const text = "Grep scan exceeds maximum total size of 5242880 bytes";
      expect(await fail("grep", { pattern: "y" })).toBe(text);
      expect(await fail("grep_files", { pattern: "y", after_context: 1 })).toBe(text);
    });
  });
});

test("glob looks at 10,000 entries", async () => {
  const path = makeFolder();
  mkdirSync(`${path}/d`);
  for (let index = 0; index < 10_050; index++) writeFileSync(`${path}/d/${String(index).padStart(5, "0")}`, "");
  const adapter = await createFileAdapter({ roots: { r: { path } } });
  try {
    const profile = createProfile(adapter, { profile: "everruns", root: "r", variant: "0.50" });
    const glob = async (pattern: string) => {
      const { paths, truncated } = Object(await profile.call("glob", { pattern }));
      return [paths.length, truncated];
    };
    expect(await glob("d/00001")).toEqual([1, true]);
    expect(await glob("d/10040")).toEqual([0, true]);
    expect(await glob("*")).toEqual([200, true]);
  } finally {
    await adapter.close();
  }
});
