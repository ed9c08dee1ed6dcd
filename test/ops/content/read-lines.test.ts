import { readdirSync, renameSync, truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "@jest/globals";
import fc from "fast-check";
import { encodeText } from "../../../src/ops/content/encoding.js";
import type { ReadInput, ReadOutput } from "../../../src/schema/types.js";
import { failure, useGround } from "../ground.js";
import { etagOfContent } from "./etags.js";

const ground = useGround({ limits: { maxReadBytes: 200_000 } });
type Request = Omit<ReadInput, "root" | "path">;
const read = (request: Request = {}): Promise<ReadOutput> => ground.run("read", { path: "file", ...request });

describe("a range of lines", () => {
  const TEXT = "one\ntwo\r\n\nfour";
  const ranges: readonly [string, Request, string, object][] = [
    [
      "from a line",
      { line: 2, limit: 1 },
      "two\r\n",
      { startLine: 2, endLine: 2, nextLine: 3, offset: 4, nextOffset: 9 },
    ],
    ["without a limit", { line: 3 }, "\nfour", { startLine: 3, endLine: 4, totalLines: 4, offset: 9 }],
    ["without a start", { limit: 2 }, "one\ntwo\r\n", { startLine: 1, endLine: 2, nextLine: 3, offset: 0 }],
    ["longer than the file", { line: 4, limit: 9 }, "four", { startLine: 4, endLine: 4, totalLines: 4, offset: 10 }],
    [
      "of everything",
      { line: 1, limit: 4 },
      TEXT,
      { startLine: 1, endLine: 4, totalLines: 4, etag: etagOfContent(TEXT) },
    ],
    ["behind the end", { line: 5 }, "", { totalLines: 4, offset: 14 }],
    ["far behind the end", { line: 1000, limit: 1 }, "", { totalLines: 4, offset: 14 }],
    ["of no lines", { line: 2, limit: 0 }, "", { nextLine: 2, offset: 4, nextOffset: 4 }],
    ["at the start", { head: 1 }, "one\n", { startLine: 1, endLine: 1, nextLine: 2, offset: 0 }],
    ["at the start, of none", { head: 0 }, "", { nextLine: 1, offset: 0, nextOffset: 0 }],
    ["at the end", { tail: 2 }, "\nfour", { offset: 9 }],
    ["at the end, longer than the file", { tail: 99 }, TEXT, { startLine: 1, endLine: 4, totalLines: 4, offset: 0 }],
    ["at the end, of none", { tail: 0 }, "", { offset: 14 }],
  ];
  test.each(ranges)("%s", async (_, request, content, more) => {
    ground.put("file", TEXT);
    const length = Buffer.byteLength(content);
    const found = await read(request);
    const eof = Number(found.offset) + length === 14;
    const common = { content, encoding: "utf-8", size: 14, mime: "text/plain", length, eof, totalBytes: 14 };
    expect(found).toMatchObject({ ...common, truncated: !eof, complete: true, ...more });
    expect("nextOffset" in found).toBe(!eof);
    expect("nextLine" in found && eof).toBe(false);
    expect(found).not.toHaveProperty("reason");
  });

  const files: readonly [string, string, Request, string, number | undefined][] = [
    ["a terminator begins no line", "a\n", { line: 1 }, "a\n", 1],
    ["an empty file has none", "", { line: 1 }, "", 0],
    ["nor at its end", "", { tail: 3 }, "", 0],
    ["the last one needs no terminator", "a\nb\n", { tail: 1 }, "b\n", undefined],
    ["an empty one counts", "\n\n", { tail: 1 }, "\n", undefined],
    ["a carriage return alone ends none", "a\rb\nc", { head: 1 }, "a\rb\n", undefined],
    ["behind a last terminator there is none", "a\n", { line: 2 }, "", 1],
  ];
  test.each(files)("%s", async (_, text, request, content, totalLines) => {
    ground.put("file", text);
    const found = await read(request);
    expect([found.content, found.totalLines]).toEqual([content, totalLines]);
  });

  test("of bytes that are no text is what it is in base64, or refused as text", async () => {
    ground.put("file", Buffer.concat([Buffer.of(0xff, 10), Buffer.from("two\nthree")]));
    expect(await read({ line: 1, limit: 1 })).toMatchObject({ content: "/wo=", encoding: "base64", length: 2 });
    expect(await read({ line: 2, limit: 1 })).toMatchObject({ content: "two\n", encoding: "utf-8" });
    expect(await read({ line: 2, limit: 1, mode: "bytes" })).toMatchObject({ content: "dHdvCg==", length: 4 });
    expect(await ground.fail("read", { path: "file", mode: "text", line: 1 })).toMatchObject({ code: "NOT_TEXT" });
  });

  test("is found however far into a file it is, from both ends", async () => {
    const lines = Array.from({ length: 20_000 }, (_, index) => `${index + 1} ${"x".repeat(index % 23)}\n`);
    ground.put("file", lines.join(""));
    for (const line of [1, 2, 5000, 12_345, 19_999, 20_000]) {
      expect((await read({ line, limit: 3 })).content).toBe(lines.slice(line - 1, line + 2).join(""));
      const { offset = 0, omitted = 0 } = await read({ tail: line });
      expect(offset - omitted).toBe(Buffer.byteLength(lines.slice(0, -line).join("")));
    }
    expect((await read({ line: 20_001 })).totalLines).toBe(20_000);
  });

  test("of a file of 8 TiB costs what the range costs", async () => {
    ground.put("file", "one\ntwo\n");
    truncateSync(join(ground.dir, "file"), 2 ** 43);
    expect(await read({ head: 2 })).toMatchObject({ content: "one\ntwo\n", nextLine: 3, totalBytes: 2 ** 43 });
    expect(await read({ line: 3, maxBytes: 10, mode: "text" })).toMatchObject({ length: 10, reason: "bytes" });
  });
});

describe("what a budget cuts", () => {
  test("ends with a whole line, and says so", async () => {
    ground.put("file", "1234\n5678\n90");
    const cut = { complete: false, reason: "bytes", truncated: true };
    expect(await read({ maxBytes: 11 })).toMatchObject({
      ...cut,
      content: "1234\n5678\n",
      nextLine: 3,
      nextOffset: 10,
    });
    expect(await read({ line: 2, maxBytes: 6 })).toMatchObject({ ...cut, content: "5678\n", nextLine: 3 });
    const tail = { complete: false, reason: "bytes", eof: true, content: "90" };
    expect(await read({ tail: 3, maxBytes: 6 })).toMatchObject({ ...tail, offset: 10, omitted: 10 });
    expect(await read({ tail: 2, maxBytes: 6 })).toMatchObject({ ...tail, offset: 10, omitted: 5 });
    expect(await read({ offset: 2, maxBytes: 6 })).toMatchObject({ ...cut, content: "34\n", nextOffset: 5 });
    expect(await read({ offset: 2, length: 4, maxBytes: 6 })).toMatchObject({ complete: true, content: "34\n5" });
    expect(await read({ maxBytes: 12 })).not.toHaveProperty("truncated");
  });

  test("ends inside a line that alone is too long, and then there is no next line", async () => {
    ground.put("file", `${"é".repeat(10)}\n2`);
    const torn = await read({ line: 1, maxBytes: 5 });
    expect(torn).toMatchObject({ content: "éé", startLine: 1, endLine: 1, nextOffset: 4, complete: false });
    expect(torn).not.toHaveProperty("nextLine");
  });

  test("is never an image or other bytes: they come whole or not at all", async () => {
    ground.put("file", Buffer.alloc(100));
    expect(await read({ maxBytes: 100 })).toMatchObject({ encoding: "base64", size: 100 });
    expect(await ground.fail("read", { path: "file", maxBytes: 99 })).toEqual(
      failure(
        "TOO_LARGE",
        "File is too large to read in one call: 100 bytes, limit 99. Use line/limit, tail, or file_grep; for other bytes offset and length",
        "file",
        {
          ...{ size: 100, limit: 99 },
        },
      ),
    );
  });

  test("has the numbers of its lines in it", async () => {
    ground.put("file", "a\n".repeat(12));
    const numbered = { lineNumbers: true };
    expect((await read({ ...numbered, line: 9, limit: 2 })).content).toBe("9\ta\n10\ta\n");
    expect((await read({ ...numbered, maxBytes: 9 })).content).toBe("1\ta\n2\ta\n");
    expect((await read({ ...numbered, tail: 1 })).content).toBe("12\ta\n");
    expect((await read({ ...numbered, offset: 3, length: 2 })).content).toBe("2\t\n3\ta");
    expect((await read(numbered)).content).toBe(Array.from({ length: 12 }, (_, i) => `${i + 1}\ta\n`).join(""));
  });
});

describe("what goes together", () => {
  const wrong: readonly [object, string][] = [
    [{ line: 1, head: 1 }, "/head"],
    [{ limit: 1, tail: 1 }, "/tail"],
    [{ head: 1, tail: 1 }, "/tail"],
    [{ line: 1, offset: 1 }, "/offset"],
    [{ tail: 1, length: 1 }, "/length"],
    [{ mode: "json", line: 1 }, "/mode"],
    [{ mode: "json", lineNumbers: true }, "/mode"],
    [{ mode: "bytes", lineNumbers: true }, "/mode"],
    [{ mode: "bytes", encoding: "latin1" }, "/encoding"],
    [{ encoding: "utf-9" }, "/encoding"],
    [{ line: 0 }, "/line"],
    [{ limit: -1 }, "/limit"],
    [{ tail: -1 }, "/tail"],
    [{ head: 1.5 }, "/head"],
    [{ maxBytes: 0 }, "/maxBytes"],
  ];
  test.each(wrong)("not %j", async (input, pointer) => {
    ground.put("file", "1");
    expect(await ground.fail("read", { path: "file", ...input })).toMatchObject({
      code: "INVALID_INPUT",
      data: { pointer },
    });
  });
});

describe("pages put together are the file, byte for byte", () => {
  const NAMES = ["utf-8", "utf-16le", "utf-16be", "latin1", "windows-1252", "shift_jis", "gb18030"];
  const texts = fc
    .array(
      fc.tuple(
        fc.string({ unit: fc.constantFrom("a", " ", "é", "日", "本", "😀", "ソ", "\t", "€"), maxLength: 12 }),
        fc.constantFrom("\n", "\r\n", "\r", "\n\n"),
      ),
      { maxLength: 12 },
    )
    .map((lines) => lines.flat().join(""));
  const cases = fc.record({
    text: fc.tuple(texts, fc.constantFrom("", "end")).map((parts) => parts.join("")),
    encoding: fc.constantFrom(...NAMES),
    bom: fc.boolean(),
    maxBytes: fc.integer({ min: 8, max: 40 }),
    by: fc.constantFrom("line", "offset", "nextLine"),
    limit: fc.integer({ min: 1, max: 5 }),
  });

  test("in every encoding, by lines and by bytes, whatever the terminators", async () => {
    const encodings = new Set<string>();
    await fc.assert(
      fc.asyncProperty(cases, async ({ text, encoding, bom, maxBytes, by, limit }) => {
        const marked = bom && encoding.startsWith("utf");
        // Only what the encoding has, so that each of them is tried.
        const encodable = [...text].filter((char) => encodeText(char, { encoding, bom: false }) !== undefined).join("");
        const file = encodeText(encodable, { encoding, bom: marked }) ?? Buffer.alloc(0);
        encodings.add(encoding);
        ground.put("file", file);
        const named = encoding === "utf-8" || marked ? {} : { encoding };
        const parts: Buffer[] = [];
        let next: Request | undefined = by === "offset" ? { offset: 0 } : { line: 1, limit };
        for (let page = 0; next !== undefined; page++) {
          const found: ReadOutput = await read({ mode: "text", maxBytes, ...named, ...next });
          expect(Buffer.byteLength(found.content ?? "")).toBeLessThanOrEqual(maxBytes);
          const bytes = encodeText(found.content ?? "", { encoding, bom: false }) ?? Buffer.alloc(0);
          expect(bytes.length).toBe(found.length);
          parts.push(bytes);
          expect(page).toBeLessThan(500);
          if (found.nextOffset === undefined) next = undefined;
          else if (found.nextLine !== undefined && by !== "offset") next = { line: found.nextLine, limit };
          else next = { offset: found.nextOffset };
        }
        expect(Buffer.concat(parts).equals(file)).toBe(true);
      }),
      { numRuns: 300 },
    );
    expect([...encodings].sort()).toEqual([...NAMES].sort());
  });

  test("each of one file, also while it is replaced by another", async () => {
    const contents = ["a", "b"].map((letter) => `${letter.repeat(50)}\n`.repeat(2000));
    ground.put("file", contents[0]);
    ground.put("other");
    for (let page = 0; page < 60; page++) {
      const reading = read({ line: 1 + page * 30, limit: 30 });
      writeFileSync(join(ground.dir, "other"), contents[page % 2] ?? "");
      renameSync(join(ground.dir, "other"), join(ground.dir, "file"));
      const { content = "", startLine } = await reading;
      expect(startLine).toBe(1 + page * 30);
      expect(["a", "b"]).toContain([...new Set(content.replaceAll("\n", ""))].join(""));
      expect(content.split("\n")).toHaveLength(31);
    }
  });
});

test("a read that is over leaves no file open", async () => {
  ground.put("file", "a\nb\n");
  const open = () => readdirSync("/proc/self/fd").length;
  await read({ line: 1 });
  const before = open();
  for (let index = 0; index < 20; index++) {
    await read({ line: 2 });
    await read({ offset: 1 });
    await ground.fail("read", { path: "file", mode: "text", encoding: "utf-16", tail: 1 });
    await ground.run("hash", { path: "file" });
    await ground.run("stat", { path: "file", hash: true });
  }
  expect(open()).toBe(before);
});

describe("in the thread pool", () => {
  const pooled = useGround({ root: { io: "pool" } });

  test("a read that is cancelled while its file is being opened leaves none open", async () => {
    pooled.put("file", "a\nb\n");
    const open = () => readdirSync("/proc/self/fd").length;
    expect(await pooled.run("read", { path: "file", line: 2 })).toMatchObject({ content: "b\n" });
    const before = open();
    for (let turns = 0; turns < 60; turns++) {
      const controller = new AbortController();
      const failed = pooled.fail("read", { path: "file", line: 2 }, { signal: controller.signal }).catch(() => "read");
      for (let turn = 0; turn < turns % 20; turn++) await new Promise((resolve) => setImmediate(resolve));
      controller.abort();
      await failed;
    }
    // What was under way ends at its next step, behind the answer, whenever a thread of the pool gets there: before what comes later.
    for (let later = 0; later < 20; later++) await pooled.run("read", { path: "file", line: 2 });
    while (open() > before) await new Promise((resolve) => setImmediate(resolve));
    expect(open()).toBe(before);
  });
});
