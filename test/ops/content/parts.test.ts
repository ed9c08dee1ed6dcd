import { appendFileSync, readdirSync, renameSync, rmSync, truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "@jest/globals";
import fc from "fast-check";
import { encodeText } from "../../../src/ops/content/encoding.js";
import type { GrepInput, ReadInput, ReadOutput } from "../../../src/schema/types.js";
import { anyCharacter } from "../../any-character.js";
import { failure, useGround } from "../ground.js";
import { etagOfContent } from "./etags.js";

describe("everything is told exactly once while others write", () => {
  const ground = useGround();

  /** Every line that pages of a search tell, as `path:line`; those around in brackets. */
  async function grepped(input: Omit<GrepInput, "root">, between: (page: number) => void): Promise<string[]> {
    const seen: string[] = [];
    let cursor: string | undefined;
    for (let page = 1; ; page++) {
      const found = await ground.run("grep", { ...input, ...(cursor === undefined ? {} : { cursor }) });
      for (const { path, line, before = [], after = [] } of found.matches ?? []) {
        seen.push(...before.map((_, at) => `(${path}:${line - before.length + at})`));
        seen.push(`${path}:${line}`, ...after.map((_, at) => `(${path}:${line + 1 + at})`));
      }
      cursor = found.nextCursor;
      expect(found.complete).toBe(cursor === undefined);
      if (cursor === undefined) return seen;
      expect(cursor.length).toBeLessThanOrEqual(200);
      between(page);
    }
  }

  test("by pages of grep, lines around too, in the middle of files and of long paths", async () => {
    const name = fc.constantFrom("a", "B", "c", `d-${"long".repeat(30)}`);
    const path = fc.array(name, { minLength: 1, maxLength: 3 }).map((names) => `t/${names.join("/")}/f`);
    const lines = fc.array(fc.constantFrom("hit", "-"), { maxLength: 8 });
    const wish = fc.record({
      pattern: fc.constantFrom("hit", "h[i]t"),
      limit: fc.integer({ min: 1, max: 4 }),
      context: fc.constantFrom(0, 0, 1, 3),
    });
    await fc.assert(
      fc.asyncProperty(fc.dictionary(path, lines, { maxKeys: 6 }), wish, async (files, input) => {
        rmSync(`${ground.dir}/t`, { recursive: true, force: true });
        for (const [one, content] of Object.entries(files)) ground.put(one, content.join("\n"));
        ground.put("t/gone", "hit\n");
        const seen = await grepped({ ...input, path: "t" }, (page) => {
          rmSync(`${ground.dir}/t/gone`, { force: true });
          if (page > 5) return;
          ground.put(`t/0-new-${page}`, "hit\n");
          ground.put(`t/zz-new-${page}/f`, "hit\n");
        });
        expect(new Set(seen.map((one) => one.replace(/[()]/g, ""))).size).toBe(seen.length);
        const hits = Object.entries(files).flatMap(([one, content]) =>
          content.flatMap((line, at) => (line === "hit" ? [`${one}:${at + 1}`] : [])),
        );
        expect(seen).toEqual(expect.arrayContaining(hits));
      }),
      { numRuns: 40 },
    );
  });

  test.each(["files", "count"] as const)("by pages of grep that tell %s", async (output) => {
    for (let index = 0; index < 20; index++) ground.put(`d${index % 3}/f${index}`, "hit\n".repeat(index % 4));
    const seen: string[] = [];
    let cursor: string | undefined;
    do {
      const page = await ground.run("grep", {
        ...{ pattern: "hit", output, limit: 4 },
        ...(cursor === undefined ? {} : { cursor }),
      });
      seen.push(...(page.paths ?? []), ...(page.counts ?? []).map(({ path, count }) => `${path}:${count}`));
      expect(page.totalMatches).toBe(15);
      ground.put("0-before", "hit\n");
      cursor = page.nextCursor;
    } while (cursor !== undefined);
    const all = Array.from({ length: 20 }, (_, index) => [`d${index % 3}/f${index}`, index % 4] as const);
    const expected = all.filter(([, count]) => count > 0).map(([path, count]) => `${path}:${count}`);
    expect(seen.toSorted()).toEqual(
      (output === "count" ? expected : expected.map((one) => one.replace(/:\d$/, ""))).toSorted(),
    );
  });

  test("by pages of list, while entries are replaced, and others come and go before and behind", async () => {
    const names = Array.from({ length: 40 }, (_, index) => `f${String(index).padStart(2, "0")}`);
    for (const name of names) ground.put(name, "old");
    const seen: string[] = [];
    for (let offset = 0, after: string | undefined; ; offset += 7) {
      const page = await ground.run("list", { limit: 7, ...(after !== undefined && { after }) });
      seen.push(...page.entries.map(({ name }) => name));
      after = seen.at(-1);
      ground.put(`a${offset}`);
      for (const name of ["f00", names[offset] ?? "f01"]) await ground.run("write", { path: name, content: "new" });
      await ground.run("append", { path: "f02", content: "more" });
      if (offset < 21) ground.put(`g${offset}`);
      expect(page.complete).toBe(!page.truncated);
      if (!page.truncated) break;
    }
    expect(seen).toEqual([...names, "g0", "g14", "g7"]);
  });

  test.each(["lines", "bytes"] as const)("by pieces of a file in %s, while others append", async (unit) => {
    let all = Array.from({ length: 50 }, (_, index) => `line ${index} é\n`).join("");
    ground.put("log", all);
    let content = "";
    for (let at = unit === "lines" ? 1 : 0, page = 0; ; page++) {
      const range = unit === "lines" ? { line: at, limit: 7 } : { offset: at, length: 50 };
      const piece = await ground.run("read", { path: "log", mode: "text", ...range });
      content += piece.content;
      const next = unit === "lines" ? piece.nextLine : piece.nextOffset;
      expect(piece.truncated).toBe(next !== undefined);
      if (next === undefined) break;
      at = next;
      if (page > 5) continue;
      appendFileSync(`${ground.dir}/log`, `more ${page}\n`);
      all += `more ${page}\n`;
    }
    expect(content).toBe(all);
  });
});

describe("ranges of lines", () => {
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
          const encodable = [...text]
            .filter((char) => encodeText(char, { encoding, bom: false }) !== undefined)
            .join("");
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
        const failed = pooled
          .fail("read", { path: "file", line: 2 }, { signal: controller.signal })
          .catch(() => "read");
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
});

describe("ranges of bytes", () => {
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
      const read = (offset: number, mode: "auto" | "text" = "auto") =>
        ground.run("read", { path: "file", offset, mode });
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
});
