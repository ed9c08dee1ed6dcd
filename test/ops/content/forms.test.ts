import { describe, expect, test } from "@jest/globals";
import fc from "fast-check";
import mimeTypes from "mime-types";
import type { ReadBudget } from "../../../src/core/call/limits.js";
import { encodeText } from "../../../src/ops/content/encoding.js";
import { jsonFault } from "../../../src/ops/content/json-fault.js";
import { mimeByName } from "../../../src/ops/content/mime.js";
import { anyCharacter } from "../../any-character.js";
import { failure, useGround } from "../ground.js";
import { png } from "../rendering/images.js";
import { etagOfContent } from "./etags.js";

describe("every form of a read keeps to the default budget", () => {
  const ground = useGround();

  const context = { budget: { defaultBytes: 10_000, defaultLines: 200, maxBytes: 1_048_576 } };
  const forms = [
    ...[{}, { head: 1 }, { tail: 1 }, { line: 1, limit: 1 }, { line: 1 }, { offset: 0 }, { offset: 3, length: 90_000 }],
    ...[{ head: 40 }, { tail: 40 }, { line: 2, limit: 30 }, { tail: 7 }, { mode: "bytes" }],
  ];
  const files: Readonly<Record<string, string>> = {
    "one line": "0123456789".repeat(9000),
    "one line of snow": "☃".repeat(30_000),
    "long lines": `${"x".repeat(9000)}\n`.repeat(9),
    "longer lines": `${"é".repeat(8000)}\r\n`.repeat(40),
    "short lines": Array.from({ length: 20_000 }, (_, index) => `${index}\n`).join(""),
    "a long line last": `a\nb\n${"z".repeat(30_000)}`,
  };
  const encodings = ["utf-8", "utf-16le", "shift_jis", "latin1"] as const;

  test.each(Object.keys(files).flatMap((name) => encodings.map((encoding) => [name, encoding] as const)))(
    "%s in %s",
    async (name, encoding) => {
      const text = files[name] ?? "";
      const bytes = encodeText(encoding === "utf-8" ? text : text.replaceAll("☃", "あ"), { encoding, bom: false });
      if (bytes === undefined) return;
      ground.put("file", bytes);
      for (const form of forms) {
        for (const lineNumbers of "mode" in form ? [false] : [false, true]) {
          const said = "mode" in form || encoding === "utf-8" ? {} : { encoding };
          const read = await ground.run("read", { path: "file", ...form, ...said, lineNumbers } as never, context);
          const { content = "", offset = 0, length = bytes.length } = read;
          const shown = "mode" in form ? Buffer.from(content, "base64").length : Buffer.byteLength(content);
          expect([form, shown, length <= 10_000, shown <= 10_000]).toEqual([form, shown, true, true]);
          // What is left over of a budget is less than a short line.
          if (read.reason === "bytes")
            expect([form, lineNumbers || Math.max(shown, length) > 5000]).toEqual([form, true]);
          if (read.encoding === "utf-8" && !lineNumbers) {
            expect(content).toBe(bytes.subarray(offset, offset + length).toString());
          }
          if ("tail" in form) expect(offset + length).toBe(bytes.length);
        }
      }
    },
  );

  test("a tail that does not fit is its end, and says where the rest of it is", async () => {
    const text = Array.from({ length: 3000 }, (_, index) => `line ${index}\n`).join("");
    ground.put("file", text);
    const seen = await ground.render("read", { path: "file", tail: 2500 }, context);
    const shown = seen.kind === "text" ? String(seen.text) : "";
    expect([text.endsWith(shown), shown.length > 9980, shown.startsWith("line ")]).toEqual([true, true, true]);
    const first = text.indexOf("line 500\n");
    const start = text.length - shown.length;
    expect(seen.rest).toMatchObject({ complete: false, reason: "bytes", eof: true, omitted: start - first });
    expect(seen.note).toBe(
      `Cut: bytes ${start}-${text.length} of ${text.length}. Before them: offset: ${first}, length: ${start - first}`,
    );
    const numbered = await ground.run("read", { path: "file", tail: 2500, lineNumbers: true }, context);
    const [number, line] = (numbered.content ?? "").split("\n")[0]?.split("\t") ?? [];
    expect([numbered.startLine, line]).toEqual([Number(number), `line ${Number(number) - 1}`]);
  });
});

describe("JSON that is read", () => {
  const ground = useGround();
  const notJson = (reason: string) => failure("NOT_JSON", `File is not valid JSON: ${reason}`, "a.json");

  describe("file:read as JSON", () => {
    const values: readonly [string, unknown][] = [
      ['{"b":1,"a":[true,null,"é"]}', { b: 1, a: [true, null, "é"] }],
      [" \t\r\n[1.5e3]\n", [1500]],
      ["null", null],
      ["false", false],
      ["0", 0],
      ['""', ""],
      ['"\\u0000\\ud83d\\ude00"', "\u0000😀"],
      ['{"a":1,"a":2}', { a: 2 }],
      ["12345678901234567890", 12345678901234567890n],
    ];
    test.each(values)("gives the value of %s", async (text, value) => {
      ground.put("a.json", text);
      const size = Buffer.byteLength(text);
      expect(await ground.run("read", { path: "a.json", mode: "json" })).toEqual({
        value,
        size,
        mime: "application/json",
        etag: etagOfContent(text),
      });
    });

    test("gives a member of any name as a member", async () => {
      ground.put("a.json", '{"__proto__":{"x":1},"then":2}');
      const { value } = await ground.run("read", { path: "a.json", mode: "json" });
      expect(JSON.stringify(value)).toBe('{"__proto__":{"x":1},"then":2}');
      expect(Object.getPrototypeOf(value)).toBe(Object.getPrototypeOf(JSON.parse("{}")));
    });

    test("skips one byte order mark", async () => {
      ground.put("a.json", "\ufeff[1]");
      expect(await ground.run("read", { path: "a.json", mode: "json" })).toMatchObject({ value: [1], size: 6 });
      ground.put("a.json", "\ufeff\ufeff[1]");
      expect(await ground.fail("read", { path: "a.json", mode: "json" })).toEqual(
        notJson("unexpected character at line 1, column 1"),
      );
    });

    test("is refused for bytes that are not UTF-8", async () => {
      ground.put("a.json", Buffer.of(0x22, 0xff, 0x22));
      expect(await ground.fail("read", { path: "a.json", mode: "json" })).toEqual(
        failure(
          "NOT_TEXT",
          "File is not valid UTF-8 text. Pass its encoding, such as latin1, or mode: bytes",
          "a.json",
        ),
      );
    });

    const faults: readonly [string, string][] = [
      ["", "unexpected end"],
      [" \n\t", "unexpected end"],
      ["{", "unexpected end"],
      ['{"a"', "unexpected end"],
      ['{"a":', "unexpected end"],
      ["[1,", "unexpected end"],
      ['["abc', "unexpected end"],
      ['["abc\\"]', "unexpected end"],
      ['{"a":}', "unexpected character at line 1, column 6"],
      ["[1,]", "unexpected character at line 1, column 4"],
      ['{"a":1,}', "unexpected character at line 1, column 8"],
      ["{a:1}", "unexpected character at line 1, column 2"],
      ["{'a':1}", "unexpected character at line 1, column 2"],
      ['{"a" 1}', "unexpected character at line 1, column 6"],
      ['{"a":1 "b":2}', "unexpected character at line 1, column 8"],
      ['{1:"a"}', "unexpected character at line 1, column 2"],
      ["[1}", "unexpected character at line 1, column 3"],
      ["]", "unexpected character at line 1, column 1"],
      ["1 2", "unexpected character at line 1, column 3"],
      ["[1],", "unexpected character at line 1, column 4"],
      ["[01]", "unexpected character at line 1, column 2"],
      ["[1.]", "unexpected character at line 1, column 2"],
      ["[+1]", "unexpected character at line 1, column 2"],
      ["NaN", "unexpected character at line 1, column 1"],
      ["[True]", "unexpected character at line 1, column 2"],
      ["undefined", "unexpected character at line 1, column 1"],
      ["[1] // note", "unexpected character at line 1, column 5"],
      ['["a\\x"]', "unexpected character at line 1, column 2"],
      ['["a\nb"]', "unexpected character at line 1, column 2"],
      ["[1\u00a0]", "unexpected character at line 1, column 3"],
      ['{\n  "a": 1,\n  "b": oops\n}\n', "unexpected character at line 3, column 8"],
      ["\u0000", "unexpected character at line 1, column 1"],
    ];
    test.each(faults)("is refused for %j, and says where", async (text, reason) => {
      ground.put("a.json", text);
      expect(await ground.fail("read", { path: "a.json", mode: "json" })).toEqual(notJson(reason));
    });

    test("never quotes what it refuses", async () => {
      ground.put("a.json", '{"password": s3cret}');
      expect(JSON.stringify(await ground.fail("read", { path: "a.json", mode: "json" }))).not.toContain("s3cret");
    });
  });

  /** Whether more text could make it JSON: it is, or the engine complains of nothing but its end. */
  function mayGoOn(text: string): boolean {
    try {
      JSON.parse(text);
      return true;
    } catch (error) {
      const { message } = error as Error;
      return message.includes("end of JSON") || message.includes(`at position ${text.length}`);
    }
  }

  describe("the place of a fault in JSON", () => {
    test("has only what could be JSON before it, whatever is wrong with a text", async () => {
      const damage = fc.record({
        json: fc.json({ maxDepth: 3 }).chain((text) => fc.constantFrom(text, text.replaceAll(",", ",\n "))),
        at: fc.nat(60),
        remove: fc.nat(2),
        insert: fc.constantFrom("", ",", "}", "]", "{", "[", ":", '"', "x", "1", "\\", "\n", "-"),
      });
      fc.assert(
        fc.property(damage, ({ json, at, remove, insert }) => {
          const text = json.slice(0, at) + insert + json.slice(at + remove);
          fc.pre(!isJson(text));
          const [, line, column] = /^unexpected character at line (\d+), column (\d+)$/.exec(jsonFault(text)) ?? [];
          if (line === undefined) {
            expect(jsonFault(text)).toBe("unexpected end");
            return;
          }
          const before = text.split("\n").slice(0, Number(line) - 1);
          const index = before.join("\n").length + (before.length > 0 ? 1 : 0) + Number(column) - 1;
          expect({ text, before: mayGoOn(text.slice(0, index)) }).toEqual({ text, before: true });
        }),
        { numRuns: 2000 },
      );
    });

    test("is the end for whatever could go on", async () => {
      fc.assert(
        fc.property(fc.json({ maxDepth: 3 }), fc.nat(60), (json, at) => {
          const text = json.slice(0, at);
          // A word that is cut short is no word.
          fc.pre(!isJson(text) && !/[\w.+-]$/.test(text));
          expect({ text, fault: jsonFault(text) }).toEqual({ text, fault: "unexpected end" });
        }),
        { numRuns: 1000 },
      );
    });
  });

  function isJson(text: string): boolean {
    try {
      JSON.parse(text);
      return true;
    } catch {
      return false;
    }
  }
});

describe("types of content", () => {
  const ground = useGround();
  const PNG = Buffer.from("89504e470d0a1a0a0000", "hex");
  /** File size, reserved bytes, where the pixels are, and how long the second header is. */
  const BMP = Buffer.from("424d46000000000000003600000028000000ff", "hex");
  const heif = (major: string, ...compatible: string[]): Buffer => {
    const brands = Buffer.from(`ftyp${major}\0\0\0\0${compatible.join("")}`, "latin1");
    return Buffer.concat([Buffer.of(0, 0, 0, brands.length + 4), brands, Buffer.of(0xff)]);
  };
  const mimeOf = async (path: string, content: string | Buffer): Promise<string> => {
    ground.put(path, content);
    return (await ground.run("read", { path })).mime;
  };

  describe("the type of content, by name", () => {
    const names: readonly [string, string][] = [
      ["a.ts", "text/typescript"],
      ["a.tsx", "text/typescript"],
      ["a.mts", "text/typescript"],
      ["a.cts", "text/typescript"],
      ["a.d.ts", "text/typescript"],
      ["a.py", "text/x-python"],
      ["a.rs", "text/rust"],
      ["Dockerfile", "text/plain"],
      ["Makefile", "text/plain"],
      [".gitignore", "text/plain"],
      ["a.txt", "text/plain"],
      ["a.html", "text/html"],
      ["a.md", "text/markdown"],
      ["a.json", "application/json"],
      ["a.js", "text/javascript"],
      ["a.svg", "image/svg+xml"],
      ["a.tar.gz", "application/gzip"],
      ["A.PNG", "image/png"],
      ["dir.html/a.css", "text/css"],
      ["dir/Dockerfile", "text/plain"],
    ];
    test.each(names)("%s is %s, also of bytes that say otherwise, and for stat", async (path, mime) => {
      expect(await mimeOf(path, "text")).toBe(mime);
      expect(await mimeOf(path, PNG)).toBe(mime);
      expect(await ground.run("stat", { path })).toMatchObject({ mime });
    });

    test.each([
      ["noextension"],
      [".png"],
      ["a."],
      ["a.unheardof"],
      ["a.constructor"],
      ["a.__proto__"],
      ["constructor"],
    ])("%s says nothing", async (path) => {
      ground.put(path, PNG);
      expect(await ground.run("stat", { path })).not.toHaveProperty("mime");
      expect((await ground.run("read", { path })).mime).toBe("image/png");
    });
  });

  test("all other extensions have the type that mime-types knows", () => {
    const own = new Set(["ts", "tsx", "mts", "cts", "py", "rs"]);
    const others = Object.entries(mimeTypes.types).filter(([extension]) => !own.has(extension));
    expect(others.length).toBeGreaterThan(1000);
    expect(others.map(([extension]) => [extension, mimeByName(`a.${extension}`)])).toEqual(others);
  });

  describe("the type of content whose name says nothing", () => {
    const contents: readonly [string, string | Buffer, string][] = [
      ["a PNG", PNG, "image/png"],
      ["a JPEG", Buffer.from("ffd8ffe000104a464946", "hex"), "image/jpeg"],
      ["a GIF", Buffer.from("GIF89a\u0001\u0000\u0001\u0000"), "image/gif"],
      ["a WebP", Buffer.concat([Buffer.from("RIFF"), Buffer.alloc(4), Buffer.from("WEBPVP8 ")]), "image/webp"],
      ["a PDF", Buffer.concat([Buffer.from("%PDF-1.7\n"), Buffer.of(0xff)]), "application/pdf"],
      [
        "another RIFF",
        Buffer.concat([Buffer.from("RIFF"), Buffer.alloc(4), Buffer.from("WAVE")]),
        "application/octet-stream",
      ],
      [
        "what only looks like a WebP",
        Buffer.concat([Buffer.alloc(8), Buffer.from("WEBPVP8 ")]),
        "application/octet-stream",
      ],
      ["too little of a PNG", PNG.subarray(0, 7), "application/octet-stream"],
      ["a PNG further behind", Buffer.concat([Buffer.of(0), PNG]), "application/octet-stream"],
      ["a BMP", BMP, "image/bmp"],
      ["a BMP of OS/2", Buffer.concat([BMP.subarray(0, 14), Buffer.from("0c000000", "hex")]), "image/bmp"],
      ["what only begins as a BMP", "BMW and others: a list of cars\n", "text/plain"],
      [
        "a BMP with no known header",
        Buffer.concat([BMP.subarray(0, 14), Buffer.from("0d000000", "hex")]),
        "application/octet-stream",
      ],
      ["a TIFF, little-endian", Buffer.from("49492a0008000000ff", "hex"), "image/tiff"],
      ["a TIFF, big-endian", Buffer.from("4d4d002a00000008ff", "hex"), "image/tiff"],
      ["a BigTIFF", Buffer.from("49492b0008000000ff", "hex"), "image/tiff"],
      ["a HEIC", heif("heic", "mif1", "heic"), "image/heic"],
      ["a HEIC by its compatible brands", heif("mif1", "mif1", "heic"), "image/heic"],
      ["a sequence of HEIC", heif("hevc", "msf1"), "image/heic-sequence"],
      ["another HEIF", heif("mif1", "mif1", "miaf"), "image/heif"],
      ["another file of ISO base media", heif("isom", "mp42", "heic"), "application/octet-stream"],
      ["an SVG", '<svg xmlns="http://www.w3.org/2000/svg"/>', "image/svg+xml"],
      [
        "an SVG behind all that may come first",
        '\ufeff<?xml version="1.0"?>\n<!-- <b> -->\n<!DOCTYPE svg [ <!ENTITY a "b>"> ]>\n<?style a?>\n<svg>\n</svg>',
        "image/svg+xml",
      ],
      [
        "an SVG with a plain document type",
        '<!DOCTYPE svg PUBLIC "-//W3C//DTD SVG 1.1//EN" "a.dtd">\n<svg\n/>',
        "image/svg+xml",
      ],
      ["a page that holds an SVG", "<!DOCTYPE html><svg/>", "text/plain"],
      ["another tag", "<svgx/>", "text/plain"],
      ["a comment that does not end", "<!-- <svg/>", "text/plain"],
      ["an SVG that is no text", Buffer.concat([Buffer.from("<svg>"), Buffer.of(0xff)]), "application/octet-stream"],
      ["text", "hello", "text/plain"],
      ["nothing", "", "text/plain"],
      ["bytes", Buffer.of(0, 1, 2), "application/octet-stream"],
    ];
    test.each(contents)("is told by its first bytes: %s", async (_, content, mime) => {
      expect(await mimeOf("file", content)).toBe(mime);
      expect((await ground.run("read", { path: "file", mode: "bytes" })).mime).toBe(mime);
    });

    test("is plain text for JSON that was read as such", async () => {
      ground.put("file", "{}");
      expect((await ground.run("read", { path: "file", mode: "json" })).mime).toBe("text/plain");
    });
  });
});

describe("the budget of an answer", () => {
  const ground = useGround({ limits: { maxReadBytes: 500 } });
  const context = (budget: Partial<ReadBudget> = {}) => ({
    budget: { defaultBytes: 20, defaultLines: 3, maxBytes: 100, ...budget },
  });
  const PNG = png([3, 2]);
  const tooLarge = (
    size: number,
    limit: number,
    advice = ". Use line/limit, tail, or file_grep; for other bytes offset and length",
  ) =>
    failure("TOO_LARGE", `File is too large to read in one call: ${size} bytes, limit ${limit}${advice}`, "file", {
      size,
      limit,
    });

  describe("a text under a budget", () => {
    const texts: readonly [string, Partial<ReadBudget>, string, string][] = [
      ["comes whole where it fits to the byte", {}, "12345678\n12345678\n12", "12345678\n12345678\n12"],
      ["comes whole where its lines fit exactly", {}, "1\n2\n3\n", "1\n2\n3\n"],
      ["is cut after the last whole line", {}, "12345678\n12345678\n123", "12345678\n12345678\n"],
      ["is cut after a line that ends with the budget", {}, "1234567890123456789\nx", "1234567890123456789\n"],
      ["is cut before a line that ends one byte later", {}, "1\n345678901234567890\n2", "1\n"],
      ["is cut at the lines it may have", {}, "1\n2\n3\n4", "1\n2\n3\n"],
      ["is cut at empty lines too", {}, "\n\n\n\n", "\n\n\n"],
      ["keeps carriage returns with their lines", { defaultLines: 1 }, "1\r\n2\r\n", "1\r\n"],
      ["is cut inside its first line if that is longer", {}, "1234567890123456789012", "12345678901234567890"],
      ["is cut there at a whole code point", {}, `1${"é".repeat(20)}`, `1${"é".repeat(9)}`],
      ["is never cut to less than one code point", { defaultBytes: 1 }, "😀😀", "😀"],
      ["counts a byte order mark like any other", { defaultBytes: 4 }, "\ufeffabc", "\ufeffa"],
    ];
    test.each(texts)("%s", async (_, budget, text, shown) => {
      ground.put("file", text);
      const [size, length] = [Buffer.byteLength(text), Buffer.byteLength(shown)];
      const whole = { content: shown, encoding: "utf-8", size, mime: "text/plain" };
      const isTorn = !shown.endsWith("\n");
      const endLine = isTorn ? 1 : shown.split("\n").length - 1;
      const reason = endLine === { defaultLines: 3, ...budget }.defaultLines ? "limit" : "bytes";
      const cut = {
        ...{ truncated: true, complete: false, reason, startLine: 1, endLine, offset: 0, length, eof: false },
        ...{ nextOffset: length, totalBytes: size },
        ...(isTorn ? {} : { nextLine: endLine + 1 }),
      };
      const expected = size === length ? { ...whole, etag: etagOfContent(text) } : { ...whole, ...cut };
      for (const mode of ["auto", "text"] as const) {
        expect(await ground.run("read", { path: "file", mode }, context(budget))).toEqual(expected);
      }
    });

    test("of bytes that may be text in another encoding says how to read it", async () => {
      ground.put("file", Buffer.from("caf\xe9 au lait\n", "latin1"));
      const { description } = await ground.run("read", { path: "file" }, context());
      expect(description).toContain("\nAs text: its encoding, such as latin1\n");
      const read = await ground.run("read", { path: "file", encoding: "latin1" }, context());
      expect(read.content).toBe("café au lait\n");
      ground.put("file", Buffer.of(1, 2, 0xe9));
      expect((await ground.run("read", { path: "file" }, context())).description).not.toContain("As text");
    });

    test("is text by its first bytes, however few of them are shown", async () => {
      ground.put("file", Buffer.concat([Buffer.alloc(8000, "a\n"), Buffer.of(0)]));
      expect(await ground.run("read", { path: "file" }, context())).toMatchObject({
        size: 8001,
        description: expect.stringMatching(/^No text: application\/octet-stream, 8001 bytes/),
      });
      expect(await ground.run("read", { path: "file", mode: "text" }, context())).toMatchObject({ length: 6 });
      ground.put("file", Buffer.concat([Buffer.from("#!/bin/sh\n"), Buffer.of(0xff, 0xfe)]));
      expect(await ground.run("read", { path: "file" }, context({ defaultLines: 1 }))).toMatchObject({
        description: expect.any(String),
        size: 12,
      });
      expect((await ground.fail("read", { path: "file", mode: "text" }, context({ defaultLines: 1 }))).code).toBe(
        "NOT_TEXT",
      );
    });

    test("is text also where the bytes that were looked at end inside a code point", async () => {
      for (const start of ["", "1", "12", "123"]) {
        ground.put("file", start + "😀".repeat(5000));
        const read = await ground.run("read", { path: "file" }, context());
        expect(read).toMatchObject({
          content: start + "😀".repeat(start === "" ? 5 : 4),
          encoding: "utf-8",
          eof: false,
        });
      }
    });

    test("is cut to the adapter's own limit where that is tighter", async () => {
      ground.put("file", "a".repeat(600));
      const read = await ground.run("read", { path: "file" }, context({ defaultBytes: 1000, maxBytes: 1000 }));
      expect(read).toMatchObject({ length: 500, eof: false });
    });

    test("goes on where it was cut, until it is whole", async () => {
      const lines = fc.array(fc.string({ unit: anyCharacter, maxLength: 12 }), { maxLength: 12 });
      await fc.assert(
        fc.asyncProperty(
          lines,
          fc.integer({ min: 1, max: 30 }),
          fc.integer({ min: 1, max: 4 }),
          async (some, bytes, count) => {
            const text = some.join("\n");
            ground.put("file", text);
            const budget = context({ defaultBytes: bytes, defaultLines: count, maxBytes: 30 });
            const first = await ground.run("read", { path: "file", mode: "text" }, budget);
            let content = first.content ?? "";
            for (let page = first; page.eof === false; ) {
              const offset = (page.offset ?? 0) + (page.length ?? 0);
              page = await ground.run("read", { path: "file", mode: "text", offset }, budget);
              expect(page.length).toBeGreaterThan(0);
              content += page.content;
            }
            expect(content).toBe(text);
          },
        ),
        { numRuns: 40 },
      );
    });
  });

  describe("what is not cut by a budget", () => {
    test("is an image: whole up to its limit, else described", async () => {
      ground.put("file", PNG);
      const etag = etagOfContent(PNG);
      const [size, mime] = [PNG.length, "image/png"];
      const shown = { content: PNG.toString("base64"), encoding: "base64", size, mime, etag };
      expect(await ground.run("read", { path: "file" }, context())).toEqual(shown);
      expect(await ground.run("read", { path: "file" }, context({ maxBytes: size }))).toEqual(shown);
      const described = await ground.run("read", { path: "file" }, context({ maxBytes: size - 1 }));
      expect(described).toMatchObject({
        size,
        mime,
        etag,
        description: expect.stringMatching(/^Image, too large to show/),
      });
      expect(described.content).toBeUndefined();
    });

    test("is other bytes: they come only for a range of bytes or in mode bytes, and no more than fit", async () => {
      const bytes = Buffer.concat([Buffer.alloc(60, 0xff), Buffer.from("text\n")]);
      ground.put("file", bytes);
      const read = (more: object) => ground.run("read", { path: "file", ...more }, context());
      for (const more of [{}, { head: 9 }, { line: 1 }, { tail: 9 }, { maxBytes: 50 }]) {
        const found = await read(more);
        expect(found).toMatchObject({ size: 65, etag: etagOfContent(bytes), description: expect.any(String) });
        expect(found).not.toHaveProperty("content");
        expect(found.hash).toMatch(/^sha256:[0-9a-f]{64}$/);
        expect(found.description).toContain(found.hash);
      }
      const first = {
        content: bytes.subarray(0, 20).toString("base64"),
        complete: false,
        reason: "bytes",
        nextOffset: 20,
      };
      expect(await read({ mode: "bytes" })).toMatchObject(first);
      expect(await read({ offset: 0 })).toMatchObject(first);
      expect(await read({ mode: "bytes", offset: 0, length: 60 })).toMatchObject(first);
      expect(await read({ mode: "bytes", maxBytes: 80 })).toEqual({
        ...{ content: bytes.toString("base64"), encoding: "base64", size: 65 },
        ...{ mime: "application/octet-stream", etag: etagOfContent(bytes) },
      });
      expect((await ground.fail("read", { path: "file", mode: "text" }, context())).code).toBe("NOT_TEXT");
    });

    test("is never an image among several files, which come as one text", async () => {
      ground.put("photo", PNG);
      const { files } = await ground.run("readMany", { files: [{ path: "photo" }] }, context());
      expect(files[0]).toMatchObject({ ok: true, description: expect.stringMatching(/^Image, shown when read alone/) });
      expect(files[0]).not.toHaveProperty("content");
    });

    test("names only ways that the model has", async () => {
      ground.put("file", Buffer.alloc(10));
      const told = async (...tools: string[]): Promise<string | undefined> => {
        const { budget } = context();
        const offering = { ...context(), budget: { ...budget, offers: (name: string) => tools.includes(name) } };
        return (await ground.run("read", { path: "file" }, offering)).description;
      };
      expect(await told()).not.toContain("file_");
      // Nothing here issues tickets, so a transfer would not help.
      expect(await told("file:transfer", "file:hash")).not.toContain("file_");
    });

    test("is JSON: whole up to its limit, else refused with advice that helps", async () => {
      const value = Array.from({ length: 30 }, (_, index) => index);
      ground.put("file", JSON.stringify(value));
      const size = JSON.stringify(value).length;
      const json = { path: "file", mode: "json" } as const;
      expect(await ground.run("read", { ...json, maxBytes: size }, context())).toEqual({
        ...{ value, size, mime: "text/plain" },
        etag: etagOfContent(JSON.stringify(value)),
      });
      const advice = "Use mode: text with line/limit, or file_grep";
      const all = { ...json, maxBytes: 100 };
      expect(await ground.fail("read", all, context({ maxBytes: 50 }))).toEqual(tooLarge(size, 50, `. ${advice}`));
      // What the error advises is the call that helps.
      expect(await ground.fail("read", json, context())).toEqual(
        tooLarge(size, 20, `. Pass maxBytes: ${size}. ${advice}`),
      );
    });

    test("is nothing of a range but by maxBytes", async () => {
      ground.put("file", "a".repeat(300));
      const read = (more: object) => ground.run("read", { path: "file", offset: 5, ...more }, context());
      expect(await read({ length: 60, maxBytes: 80 })).toMatchObject({ length: 60, complete: true });
      expect(await read({ length: 60 })).toMatchObject({ length: 20, complete: false, nextOffset: 25 });
      expect(await read({ length: 200, maxBytes: 200 })).toMatchObject({ offset: 5, length: 100, eof: false });
    });
  });

  describe("what a model sees of file:read", () => {
    test("is the text, and where to go on if it was cut", async () => {
      ground.put("file", "1\n2\n3\n4\n");
      expect(await ground.render("read", { path: "file" }, context())).toEqual({
        kind: "text",
        text: "1\n2\n3\n",
        rest: {
          ...{ encoding: "utf-8", size: 8, mime: "text/plain", truncated: true, complete: false, reason: "limit" },
          ...{ startLine: 1, endLine: 3, nextLine: 4, offset: 0, length: 6, eof: false, nextOffset: 6, totalBytes: 8 },
        },
        note: "Cut: lines 1-3. Go on with line: 4",
      });
      expect((await ground.render("read", { path: "file", offset: 6 }, context())).note).toBeUndefined();
    });

    test("has no note where everything came that was asked for", async () => {
      ground.put("file", "0123456789");
      const note = async (input: { offset?: number; length?: number }, budget = context()) =>
        (await ground.render("read", { path: "file", ...input }, budget)).note;
      expect(await note({})).toBe(`etag ${etagOfContent("0123456789")}`);
      expect(await note({ offset: 2, length: 3 })).toBeUndefined();
      expect(await note({ offset: 2, length: 300 })).toBeUndefined();
      expect(await note({ offset: 2 }, context({ maxBytes: 4 }))).toBe("Cut: bytes 2-6 of 10. Go on with offset: 6");
      expect(await note({ offset: 2, length: 5 }, context({ maxBytes: 4 }))).toBe(
        "Cut: bytes 2-6 of 10. Go on with offset: 6, length: 1",
      );
    });

    test.each([[{ b: [1] }], [null], [0], ["text"]])("is the JSON value: %j", async (value) => {
      ground.put("a.json", JSON.stringify(value));
      const size = JSON.stringify(value).length;
      expect(await ground.render("read", { path: "a.json", mode: "json" }, context())).toEqual({
        kind: "json",
        value,
        rest: { size, mime: "application/json", etag: etagOfContent(JSON.stringify(value)) },
        note: `etag ${etagOfContent(JSON.stringify(value))}`,
      });
    });

    test("is other bytes in base64, with a URI of the canonical path", async () => {
      ground.put("a dir/ü#%.bin", Buffer.of(0));
      expect(await ground.render("read", { path: "/a dir/./x/..//ü#%.bin", mode: "bytes" }, context())).toEqual({
        kind: "blob",
        base64: "AA==",
        mime: "application/octet-stream",
        uri: "venue://r/a%20dir/%C3%BC%23%25.bin",
        rest: { encoding: "base64", size: 1, mime: "application/octet-stream", etag: etagOfContent(Buffer.of(0)) },
        note: `etag ${etagOfContent(Buffer.of(0))}`,
      });
    });

    test("is an image by its content, and only if it is whole", async () => {
      ground.put("photo.dat", PNG);
      ground.put("photo.png", PNG);
      const mime = async (path: string, range: { offset?: number; length?: number; maxBytes?: number } = {}) => {
        const seen = await ground.render("read", { path, ...range }, context());
        return seen.kind === "blob" ? seen.mime : seen.kind;
      };
      expect(await mime("photo.dat")).toBe("image/png");
      expect(await mime("photo.png", { offset: 0, length: 1000, maxBytes: 100 })).toBe("image/png");
      expect(await mime("photo.png", { offset: 0, length: 20 })).toBe("application/octet-stream");
      expect(await mime("photo.png", { offset: 8 })).toBe("application/octet-stream");
      expect(await mime("photo.dat", { length: 20 })).toBe("application/octet-stream");
    });
  });

  describe("a range that only the file ends, under a budget", () => {
    const read = (more: object, budget?: Partial<ReadBudget>) =>
      ground.render("read", { path: "file", ...more }, context(budget));
    const lines = Array.from({ length: 12 }, (_, index) => `line ${index}\n`).join("");

    test("is cut like the whole file, and the next call is named", async () => {
      ground.put("file", lines);
      expect(await read({ line: 2 })).toMatchObject({
        text: "line 1\nline 2\n",
        rest: { startLine: 2, endLine: 3, nextLine: 4, complete: false, reason: "bytes" },
        note: "Cut: lines 2-3. Go on with line: 4",
      });
      // Only a read of the whole file is cut at a number of lines: so reading on takes no more calls than it has bytes for.
      const byBytes = { defaultBytes: 21, defaultLines: 2 };
      for (const more of [{ line: 2 }, { line: 2, mode: "text" }]) {
        const found = await read(more, byBytes);
        expect(found).toMatchObject({ text: "line 1\nline 2\nline 3\n", rest: { reason: "bytes", nextLine: 5 } });
        expect(found.note).toBe("Cut: lines 2-4. Go on with line: 5");
      }
      expect(await read({ line: 2, lineNumbers: true }, byBytes)).toMatchObject({ rest: { nextLine: 4 } });
      expect(await read({ offset: 7 })).toMatchObject({
        text: "line 1\nline 2\n",
        note: "Cut: bytes 7-21 of 86. Go on with offset: 21",
      });
      expect(await read({ offset: 7 }, byBytes)).toMatchObject({
        text: "line 1\nline 2\nline 3\n",
        note: "Cut: bytes 7-28 of 86. Go on with offset: 28",
      });
      ground.put("file", Buffer.from(lines, "utf16le"));
      const found = await read({ offset: 14, encoding: "utf-16le" }, { defaultBytes: 42 });
      expect(found).toMatchObject({ text: "line 1\nline 2\nline 3\n", rest: { length: 42 } });
    });

    test("is whole where it fits", async () => {
      ground.put("file", lines);
      for (const more of [{ line: 11 }, { offset: 70 }]) {
        const { rest, note } = await read(more);
        expect(rest).toMatchObject({ complete: true, eof: true });
        expect(note).toBeUndefined();
      }
      expect((await read({ line: 10 }, { defaultBytes: 50 })).rest).toMatchObject({ complete: true, endLine: 12 });
    });

    test("is as long as was asked for, if maxBytes says so too", async () => {
      ground.put("file", lines);
      for (const more of [{ line: 2, limit: 9 }, { head: 9 }, { tail: 9 }, { offset: 7, length: 65 }]) {
        expect((await read(more)).rest).toMatchObject({ complete: false, reason: "bytes" });
        expect((await read({ ...more, maxBytes: 80 })).rest).toMatchObject({ complete: true });
      }
      expect((await read({ line: 2, maxBytes: 60 })).rest).toMatchObject({ length: 56 });
      expect(await ground.run("read", { path: "file", line: 2 })).toMatchObject({ complete: true, endLine: 12 });
    });
  });
});
