import { describe, expect, test } from "@jest/globals";
import fc from "fast-check";
import type { ReadOutput } from "../../../src/schema/types.js";
import { anyCharacter } from "../../any-character.js";
import { failure, useGround } from "../ground.js";

const ground = useGround();
const bytesOf = ({ content = "", encoding }: ReadOutput): Buffer =>
  Buffer.from(content, encoding === "base64" ? "base64" : "utf8");

describe("a range of text", () => {
  // a at 0, é at 1, 😀 at 3, z at 7.
  const TEXT = "aé😀z";
  const ranges: readonly [string, { offset?: number; length?: number }, string, number, boolean][] = [
    ["of everything", { offset: 0 }, TEXT, 0, true],
    ["of more than there is", { offset: 0, length: 100 }, TEXT, 0, true],
    ["by its length alone", { length: 3 }, "aé", 0, false],
    ["that ends inside a code point", { offset: 0, length: 2 }, "a", 0, false],
    ["that ends inside a longer one", { offset: 0, length: 6 }, "aé", 0, false],
    ["that begins inside a code point", { offset: 2, length: 6 }, "😀z", 3, true],
    ["that begins inside a longer one", { offset: 4, length: 4 }, "z", 7, true],
    ["that begins and ends inside code points", { offset: 2, length: 3 }, "😀", 3, false],
    ["in which none is whole: the one that starts there", { offset: 1, length: 1 }, "é", 1, false],
    ["in which none starts: the next one", { offset: 2, length: 1 }, "😀", 3, false],
    ["inside a longer one: the next one", { offset: 4, length: 2 }, "z", 7, true],
    ["of one", { offset: 7, length: 1 }, "z", 7, true],
    ["of no length", { offset: 3, length: 0 }, "", 3, false],
    ["of no length at the start", { length: 0 }, "", 0, false],
    ["at the end", { offset: 8 }, "", 8, true],
    ["behind the end", { offset: 9, length: 5 }, "", 9, true],
    ["far behind the end", { offset: Number.MAX_SAFE_INTEGER }, "", Number.MAX_SAFE_INTEGER, true],
  ];
  test.each(ranges)("%s", async (_, range, content, offset, eof) => {
    ground.put("file", TEXT);
    const length = Buffer.byteLength(content);
    const expected = {
      ...{ content, encoding: "utf-8", size: 8, mime: "text/plain", offset, length, eof },
      ...{ complete: true, truncated: !eof, totalBytes: 8 },
      ...(eof ? {} : { nextOffset: offset + length }),
      ...(content === TEXT ? { etag: "5dgggvmb" } : {}),
    };
    for (const mode of ["auto", "text"] as const) {
      expect(await ground.run("read", { path: "file", mode, ...range })).toEqual(expected);
    }
  });

  test("of an empty file is empty", async () => {
    ground.put("empty");
    for (const offset of [0, 5]) {
      const read = await ground.run("read", { path: "empty", offset, length: 10 });
      expect(read).toMatchObject({ content: "", encoding: "utf-8", size: 0, offset, length: 0, eof: true });
    }
  });

  test("starts with the byte order mark, if it starts at the start", async () => {
    ground.put("file", "\ufeffab");
    expect(await ground.run("read", { path: "file", length: 4 })).toMatchObject({ content: "\ufeffa", length: 4 });
    expect(await ground.run("read", { path: "file", offset: 3 })).toMatchObject({ content: "ab" });
  });
});

describe("a range of other bytes", () => {
  const BYTES = Buffer.of(0xff, 0xfd, 0, 0x61, 0xc3, 0xa9, 0x80);

  test.each([
    [0, 3],
    [1, 5],
    [2, 1],
    [5, 2],
    [6, 9],
    [7, 1],
    [99, 1],
  ])("is exactly what was asked for: %d, %d bytes", async (offset, length) => {
    ground.put("file", BYTES);
    const read = await ground.run("read", { path: "file", mode: "bytes", offset, length });
    const expected = BYTES.subarray(offset, offset + length);
    expect(read).toMatchObject({ encoding: "base64", size: 7, offset, length: expected.length });
    expect(bytesOf(read).equals(expected)).toBe(true);
    expect(read.eof).toBe(offset + length >= 7);
  });

  test("is judged by the bytes of the range alone", async () => {
    ground.put("file", Buffer.concat([Buffer.from("text é"), Buffer.of(0, 0xff), Buffer.from("more text")]));
    const encodings = async (offset: number, length: number) =>
      (await ground.run("read", { path: "file", offset, length })).encoding;
    expect(await encodings(0, 7)).toBe("utf-8");
    expect(await encodings(9, 9)).toBe("utf-8");
    expect(await encodings(0, 8)).toBe("base64");
    expect(await encodings(8, 3)).toBe("base64");
  });

  test("is no text for a NUL in its first 8,192 bytes, and text for a later one", async () => {
    ground.put("file", Buffer.concat([Buffer.alloc(9000, "a"), Buffer.of(0), Buffer.alloc(10, "a")]));
    const read = (offset: number, mode: "auto" | "text" = "auto") => ground.run("read", { path: "file", offset, mode });
    expect((await read(9000 - 8191)).encoding).toBe("base64");
    expect((await read(9000 - 8192)).encoding).toBe("utf-8");
    expect((await read(9000, "text")).content).toBe(`\u0000${"a".repeat(10)}`);
  });

  test("is refused as text, wherever it is cut", async () => {
    ground.put("file", BYTES);
    const refused = failure(
      "NOT_TEXT",
      "File is not valid UTF-8 text. Pass its encoding, such as latin1, or mode: bytes",
      "file",
    );
    for (const [offset, length] of [
      [0, 1],
      [3, 4],
      [6, 1],
    ]) {
      expect(await ground.fail("read", { path: "file", mode: "text", offset, length })).toEqual(refused);
    }
    expect(await ground.run("read", { path: "file", mode: "text", offset: 3, length: 3 })).toMatchObject({
      content: "aé",
    });
  });
});

describe("ranges", () => {
  test.each([
    ["offset", -1],
    ["length", -1],
    ["offset", 2 ** 53],
    ["length", 1e300],
  ])("stay between 0 and the largest whole number: %s %d", async (field, value) => {
    ground.put("file");
    expect(await ground.fail("read", { path: "file", [field]: value })).toEqual({
      code: "INVALID_INPUT",
      message: `'${field}' must be between 0 and 9007199254740991`,
      data: { pointer: `/${field}`, expected: "0..9007199254740991" },
    });
  });

  test.each([
    ["offset", 1.5],
    ["length", "10"],
    ["offset", Number.NaN],
  ])("are whole numbers: %s %p", async (field, value) => {
    const failed = await ground.fail("read", { path: "file", [field]: value });
    expect(failed).toMatchObject({ code: "INVALID_INPUT", message: `'${field}' must be a whole number` });
  });

  test.each([[{ offset: 0 }], [{ length: 1 }], [{ offset: 0, length: 1 }]])("are not for JSON: %j", async (range) => {
    ground.put("file", "1");
    expect(await ground.fail("read", { path: "file", mode: "json", ...range })).toMatchObject({
      code: "INVALID_INPUT",
      data: { pointer: "/mode" },
    });
  });

  test("say what type a file has by its own first bytes only", async () => {
    const png = Buffer.concat([Buffer.from("89504e470d0a1a0a", "hex"), Buffer.alloc(20, 0xff)]);
    ground.put("picture", png);
    const mimeOf = async (range: object) => (await ground.run("read", { path: "picture", ...range })).mime;
    expect(await mimeOf({ offset: 0, length: 8 })).toBe("image/png");
    expect(await mimeOf({ length: 2 })).toBe("image/png");
    expect(await mimeOf({ offset: 1 })).toBe("application/octet-stream");
    ground.put("letter", "dear");
    expect((await ground.run("read", { path: "letter", mode: "bytes", offset: 1 })).mime).toBe("text/plain");
  });
});

/** Reads a file piece by piece, each from where the last one ended. */
async function pages(mode: "auto" | "text" | "bytes", lengths: readonly number[]): Promise<ReadOutput[]> {
  const read: ReadOutput[] = [];
  let offset = 0;
  for (let turn = 0; ; turn++) {
    const length = lengths[turn % lengths.length] ?? 1;
    const page = await ground.run("read", { path: "file", mode, offset, length });
    read.push(page);
    if (page.eof === true) return read;
    const next = (page.offset ?? 0) + (page.length ?? 0);
    // Otherwise it would go on forever.
    expect(next).toBeGreaterThan(offset);
    offset = next;
  }
}

const someLengths = fc.array(fc.integer({ min: 1, max: 12 }), { minLength: 1, maxLength: 8 });

describe("pages read with offset and length", () => {
  test("of any text, of any lengths, are the file byte for byte", async () => {
    await fc.assert(
      fc.asyncProperty(fc.string({ unit: anyCharacter, maxLength: 40 }), someLengths, async (text, lengths) => {
        ground.put("file", text);
        const read = await pages("text", lengths);
        expect(Buffer.concat(read.map(bytesOf)).equals(Buffer.from(text))).toBe(true);
        expect(read.map(({ content }) => content).join("")).toBe(text);
      }),
      { numRuns: 50 },
    );
  });

  test("of any text without NUL are text without being told", async () => {
    const text = fc.string({ unit: anyCharacter, maxLength: 40 }).map((any) => any.replaceAll("\0", "0"));
    await fc.assert(
      fc.asyncProperty(text, someLengths, async (content, lengths) => {
        ground.put("file", content);
        const read = await pages("auto", lengths);
        expect(read.every(({ encoding }) => encoding === "utf-8")).toBe(true);
        expect(read.map((page) => page.content).join("")).toBe(content);
      }),
      { numRuns: 40 },
    );
  });

  test("of any bytes are the file byte for byte", async () => {
    await fc.assert(
      fc.asyncProperty(fc.uint8Array({ maxLength: 60 }), someLengths, async (bytes, lengths) => {
        ground.put("file", Buffer.from(bytes));
        const read = await pages("bytes", lengths);
        expect(Buffer.concat(read.map(bytesOf)).equals(Buffer.from(bytes))).toBe(true);
      }),
      { numRuns: 40 },
    );
  });

  test("of text and bytes in turns tell where they really are", async () => {
    const part = fc.oneof(
      fc.string({ unit: anyCharacter, maxLength: 6 }).map((text) => Buffer.from(text)),
      fc.uint8Array({ maxLength: 4 }),
    );
    const mixed = fc.array(part, { maxLength: 10 }).map((parts) => Buffer.concat(parts));
    await fc.assert(
      fc.asyncProperty(mixed, fc.nat(50), fc.nat(20), async (file, offset, length) => {
        ground.put("file", file);
        const page = await ground.run("read", { path: "file", offset, length });
        const start = page.offset ?? -1;
        expect(start - offset).toBeGreaterThanOrEqual(0);
        expect(start - offset).toBeLessThanOrEqual(3);
        expect(bytesOf(page).equals(file.subarray(start, start + (page.length ?? 0)))).toBe(true);
        expect(page).toMatchObject({ size: file.length, length: bytesOf(page).length });
        expect(page.eof).toBe(start + bytesOf(page).length >= file.length);
      }),
      { numRuns: 150 },
    );
  });
});
