import { describe, expect, test } from "@jest/globals";
import { gif, jpeg, png, webp } from "../../ops/rendering/images.js";
import { hashOf, KINDS, useBed050, whole } from "./bed.js";

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
        ...{ path: "/workspace/a/f.txt", content, total_lines: 4, lines_shown: { start: 1, end: 4 }, truncated: false },
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
