import { mkdirSync, renameSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "@jest/globals";
import fc from "fast-check";
import { RE2JS } from "re2js";
import { createFileAdapter } from "../../src/index.js";
import type { GrepOutput } from "../../src/schema/types.js";
import { failure, failureOf, useGround } from "./ground.js";

const ground = useGround({ root: { deny: ["@secrets"] }, roots: { tmp: { temp: true } } });
type Input = Parameters<typeof ground.run<"grep">>[1];

const grep = (input: Input): Promise<GrepOutput> => ground.run("grep", input);
/** `path:line:text` of each match. */
const hits = async (input: Input): Promise<string[]> =>
  ((await grep(input)).matches ?? []).map(({ path, line, text }) => `${path}:${line}:${text}`);

describe("file:grep", () => {
  test("finds lines by an expression or a text, in the order of a tree, then of lines", async () => {
    ground.put("b.ts", "one\ntwo foo\nfoo three\n");
    ground.put("a/x.ts", "foo(1)");
    ground.put("none", "bar");
    const matches = [
      { path: "a/x.ts", line: 1, text: "foo(1)" },
      { path: "b.ts", line: 2, text: "two foo" },
      { path: "b.ts", line: 3, text: "foo three" },
    ];
    const rest = { totalMatches: 3, countIsComplete: true, filesScanned: 3, timedOut: false, complete: true };
    expect(await grep({ pattern: "fo+" })).toEqual({ matches, ...rest });
    expect(await grep({ pattern: "foo", literal: true })).toEqual({ matches, ...rest });
    expect(await hits({ pattern: "foo(", literal: true })).toEqual(["a/x.ts:1:foo(1)"]);
    expect(await hits({ pattern: "FOO\\(", ignoreCase: true })).toEqual(["a/x.ts:1:foo(1)"]);
    expect(await hits({ pattern: "FOO(", ignoreCase: true, literal: true })).toEqual(["a/x.ts:1:foo(1)"]);
  });

  test("says that there is none, and in how many files it looked", async () => {
    ground.put("a", "x");
    expect(await grep({ pattern: "y" })).toMatchObject({ matches: [], totalMatches: 0, complete: true });
    expect((await ground.render("grep", { pattern: "y" })).note).toBe("No match in 1 file");
  });

  test("gives files, or how many lines of each", async () => {
    ground.put("a", "x\nx\n");
    ground.put("b", "x");
    ground.put("c", "y");
    const files = await grep({ pattern: "x", output: "files" });
    expect(files).toMatchObject({ paths: ["a", "b"], totalMatches: 2 });
    expect(files.matches).toBeUndefined();
    expect((await grep({ pattern: "x", output: "count" })).counts).toEqual([
      { path: "a", count: 2 },
      { path: "b", count: 1 },
    ]);
  });

  test("looks into the files that are meant", async () => {
    for (const path of ["a.ts", "b.js", "gen/c.ts", "sub/d.ts"]) ground.put(path, "x");
    expect(await hits({ pattern: "x", glob: "**/*.ts", exclude: "gen" })).toEqual(["a.ts:1:x", "sub/d.ts:1:x"]);
    expect(await hits({ pattern: "x", path: "sub" })).toEqual(["sub/d.ts:1:x"]);
    expect(await hits({ pattern: "x", path: "b.js" })).toEqual(["b.js:1:x"]);
  });

  test("shows lines around, each once, with touching stretches as one", async () => {
    ground.put(
      "f",
      Array.from({ length: 12 }, (_, at) => ([3, 5, 11].includes(at + 1) ? `hit${at + 1}` : `${at + 1}`)).join("\n"),
    );
    expect((await grep({ pattern: "hit", context: 2 })).matches).toEqual([
      { path: "f", line: 3, text: "hit3", before: ["1", "2"], after: ["4"] },
      { path: "f", line: 5, text: "hit5", after: ["6", "7"] },
      { path: "f", line: 11, text: "hit11", before: ["9", "10"], after: ["12"] },
    ]);
    expect((await ground.render("grep", { pattern: "hit", before: 1 })) as object).toMatchObject({
      kind: "text",
      text: "f\n2-2\n3:hit3\n4-4\n5:hit5\n--\n10-10\n11:hit11\n",
    });
  });

  test("cuts long lines around the first hit", async () => {
    ground.put("long", `${"a".repeat(10_000)}NEEDLE${"b".repeat(10_000)}`);
    for (const input of [{ pattern: "NEEDLE", literal: true }, { pattern: "NEE+DLE" }]) {
      const [match] = (await grep(input)).matches ?? [];
      expect(match).toMatchObject({ line: 1, cut: true });
      expect(match?.text).toHaveLength(400);
      expect(match?.text).toContain("NEEDLE");
    }
  });

  test("ends lines at line feeds, and takes a carriage return before one for a part of it", async () => {
    ground.put("crlf", "ab\r\ncb\r\n\r\nx\rb");
    expect(await hits({ pattern: "b$" })).toEqual(["crlf:1:ab", "crlf:2:cb", "crlf:4:x\rb"]);
    expect(await hits({ pattern: "^$" })).toEqual(["crlf:3:"]);
    expect(await hits({ pattern: "\n", literal: true })).toEqual([]);
    ground.put("bom", "\ufeffstart\nnext");
    expect(await hits({ pattern: "^start", path: "bom" })).toEqual(["bom:1:start"]);
  });

  test("leaves out what is no text, too large, ignored, denied, linked or unreachable, and counts it", async () => {
    ground.put("ok", "hit");
    ground.put("nul", "hit\0");
    ground.put("nul1", Buffer.of(0x68, 0x69, 0x74, 0xe9, 0));
    ground.put("large", `hit${"x".repeat(100)}`);
    ground.put(".gitignore", "ignored\n");
    ground.put("ignored", "hit");
    ground.put(".env", "hit");
    symlinkSync("ok", join(ground.dir, "link"));
    writeFileSync(join(ground.dir, "back\\slash"), "hit");
    const input = { pattern: "h.t", maxFileBytes: 100 };
    expect(await grep(input)).toMatchObject({
      matches: [{ path: "ok" }],
      complete: true,
      hidden: { binary: 2, tooLarge: 1, gitignored: 1, policy: 1, symlinks: 1, unreadable: 1 },
    });
    expect((await grep({ ...input, literal: true, pattern: "hit" })).hidden).toEqual((await grep(input)).hidden);
    const hint = 'Left out: 1 too large: search path: "large"; 2 binary; 1 that cannot be read or named';
    expect((await grep({ ...input, ignore: "none" })).hint).toBe(hint);
    expect((await ground.render("grep", { ...input, pattern: "none" })).note).toBe(
      'No match in 2 files. 1 gitignored path hidden; pass ignore: "none". Left out: 1 too large: search path: "large"; 2 binary',
    );
    expect((await ground.render("grep", { pattern: ".", limit: 1 })).note).toMatch(
      /^Cut: 1 of \d+\. Go on with cursor: ".+"\. 1 gitignored path hidden; pass ignore: "none"/,
    );
    expect((await grep({ ...input, path: "nul1" })).hint).toBe("Left out: 1 binary");
    expect(await hits({ ...input, ignore: "none" })).toEqual(["ignored:1:hit", "ok:1:hit"]);
  });

  test("refuses what RE2 cannot say, and says where", async () => {
    ground.put("a", "x");
    expect(await ground.fail("grep", { pattern: "a(?=b)" })).toMatchObject({ code: "INVALID_PATTERN" });
    for (const pattern of ["a(?=b)", "a(?!b)", "(?<=a)b", "(?<!a)b"]) {
      expect((await ground.fail("grep", { pattern })).message).toContain(": RE2 has no look-around");
    }
    for (const pattern of ["(a)\\1", "(?<n>a)\\k<n>"]) {
      expect((await ground.fail("grep", { pattern })).message).toContain(": RE2 has no back-references");
    }
    expect(await ground.fail("grep", { pattern: "(a)\\1" })).toMatchObject({
      code: "INVALID_PATTERN",
      data: { position: 3 },
    });
    expect(await ground.fail("grep", { pattern: "a(b" })).toMatchObject({ code: "INVALID_PATTERN" });
    expect(await ground.fail("grep", { pattern: "x".repeat(1001) })).toMatchObject({ code: "INVALID_PATTERN" });
    expect(await ground.fail("grep", { pattern: "" })).toMatchObject({ code: "INVALID_PATTERN" });
    expect(await ground.fail("grep", { pattern: "x", context: 21 })).toMatchObject({ code: "INVALID_INPUT" });
    expect(await ground.fail("grep", { pattern: "x", path: "none" })).toEqual(
      failure("NOT_FOUND", "Not found: r:none", "none"),
    );
  });

  test("takes linear time for expressions that take for ever elsewhere", async () => {
    ground.put("a", `${"a".repeat(20_000)}\n`.repeat(5));
    expect(await grep({ pattern: "(a+)+b|(a|aa)+c|(.*)*d" })).toMatchObject({ totalMatches: 0, complete: true });
  });

  test("ends in time with what it has, never as if there were nothing, and goes on", async () => {
    for (let index = 0; index < 30; index++) ground.put(`d${index}/f`, "hit");
    let cursor: string | undefined;
    const seen: string[] = [];
    for (let page = 0; page < 100; page++) {
      const found = await grep({ pattern: "h.t", timeoutMs: 1, ...(cursor === undefined ? {} : { cursor }) });
      seen.push(...(found.matches ?? []).map(({ path }) => path));
      if (found.complete) break;
      expect(found).toMatchObject({ reason: "timeout", timedOut: true, countIsComplete: false });
      cursor = found.nextCursor ?? cursor;
    }
    expect(new Set(seen).size).toBe(seen.length);
  });

  test("serves several searches at once, and is ready again after one that took too long", async () => {
    // So many states that none is kept for long.
    let bits = "";
    for (let state = 1; bits.length < 300_000; bits += state & 0x10000 ? "a" : "b") {
      state = (Math.imul(state, 1_103_515_245) + 12_345) & 0x7fffffff;
    }
    ground.put("slow", `${bits}\n`.repeat(4));
    ground.put("quick", "hit");
    const slow = grep({ pattern: "(a|b)*a(a|b){400}[cd]", timeoutMs: 50 });
    const others = await Promise.all([1, 2, 3].map(() => hits({ pattern: "h.t", path: "quick" })));
    expect(others).toEqual([1, 2, 3].map(() => ["quick:1:hit"]));
    expect(await slow).toMatchObject({ timedOut: true, complete: false, reason: "timeout", countIsComplete: false });
    expect(await hits({ pattern: "hi[t]", path: "quick" })).toEqual(["quick:1:hit"]);
  });

  test("gives back its thread when it is cancelled while it waits for it", async () => {
    ground.put("a", "hit");
    // Its threads are still to be started, which takes longer than a turn.
    const adapter = await createFileAdapter({ roots: { r: ground.dir } });
    try {
      const searches = [1, 2, 3, 4].map(() => {
        const stop = new AbortController();
        const input = { root: "r", pattern: "h.t" };
        const ended = failureOf(adapter.invoke("file:grep", input, { signal: stop.signal }));
        setImmediate(() => stop.abort());
        return ended;
      });
      for (const search of searches) expect((await search).code).toBe("ABORTED");
      const found = await adapter.invoke("file:grep", { root: "r", pattern: "h[i]t" });
      expect(found).toMatchObject({ totalMatches: 1, complete: true });
    } finally {
      await adapter.close();
    }
  });

  test("refuses half a character, which no text can hold", async () => {
    ground.put("a", "\u{1f600}\ufffd");
    for (const literal of [true, false]) {
      const found = await ground.fail("grep", { pattern: "\ud83d", literal });
      expect(found.code).toBe("INVALID_PATTERN");
    }
  });

  test("needs to read where it starts, works in temp roots, and shows nothing of what is outside", async () => {
    ground.put("src/a", "x");
    const caps = { caps: [{ with: "file://r/src/", can: "crud/read" }] };
    expect((await ground.fail("grep", { pattern: "x" }, caps)).code).toBe("CAPABILITY_DENIED");
    expect((await ground.run("grep", { pattern: "x", path: "src" }, caps)).totalMatches).toBe(1);
    await ground.adapter.invoke("file:write", { root: "tmp", path: "a", content: "x" });
    expect((await ground.adapter.invoke("file:grep", { root: "tmp", pattern: "x" })).totalMatches).toBe(1);
    mkdirSync(join(ground.outside, "d"));
    writeFileSync(join(ground.outside, "d/secret"), "x");
    ground.mkdir("swap");
    symlinkSync(join(ground.outside, "d"), join(ground.dir, "other"));
    for (let round = 0; round < 50; round++) {
      const searching = grep({ pattern: "x", output: "files" });
      renameSync(join(ground.dir, "swap"), join(ground.dir, "t"));
      renameSync(join(ground.dir, "other"), join(ground.dir, "swap"));
      renameSync(join(ground.dir, "t"), join(ground.dir, "other"));
      expect((await searching).paths).toEqual(["src/a"]);
    }
  });
});

describe("pages of file:grep", () => {
  test("give every line exactly once, in the middle of files too, while others write", async () => {
    for (const name of ["a", "b", "c"]) ground.put(name, "x1\nx2\n-\nx3\n");
    const seen: string[] = [];
    let cursor: string | undefined;
    for (let page = 0; page < 20; page++) {
      const found = await grep({ pattern: "x", limit: 2, ...(cursor === undefined ? {} : { cursor }) });
      seen.push(...(found.matches ?? []).map(({ path, line }) => `${path}${line}`));
      if (page < 3) ground.put(`0-new-${page}`, "x");
      cursor = found.nextCursor;
      if (cursor === undefined) break;
      expect(found).toMatchObject({ complete: false, reason: "limit" });
    }
    expect(seen).toEqual(["a", "b", "c"].flatMap((name) => [1, 2, 4].map((line) => `${name}${line}`)));
  });

  test("show no line twice, with lines around too", async () => {
    ground.put("f", "1\n2\nx3\n4\nx5\n6\n7\n8\nx9\n10\n");
    const seen: string[] = [];
    let cursor: string | undefined;
    do {
      const page = await grep({ pattern: "x", context: 2, limit: 1, ...(cursor === undefined ? {} : { cursor }) });
      for (const { text, before = [], after = [] } of page.matches ?? []) seen.push(...before, text, ...after);
      cursor = page.nextCursor;
    } while (cursor !== undefined);
    expect(seen).toEqual(["1", "2", "x3", "4", "x5", "6", "7", "8", "x9", "10"]);
  });

  test("go on in the one file that was named, however long its path is", async () => {
    const path = `${"directory-".repeat(10)}/${"name-".repeat(10)}`;
    ground.put(path, "x1\nx2\nx3\n");
    const first = await grep({ pattern: "x", path, limit: 2 });
    const cursor = first.nextCursor ?? "";
    const second = await grep({ pattern: "x", path, limit: 2, cursor });
    expect(second).toMatchObject({ matches: [{ path, line: 3, text: "x3" }], totalMatches: 3, complete: true });
  });

  test("count what lines take when they are sent, in both forms", async () => {
    ground.put("odd", `${"\u202e".repeat(100)}hit\n`.repeat(300));
    ground.put("short", "hit\n".repeat(2000));
    for (const path of ["odd", "short"]) {
      const input = { pattern: "hit", path, limit: 2000 };
      const found = await grep(input);
      expect(found.reason).toBe("bytes");
      expect(Buffer.byteLength(JSON.stringify(found.matches))).toBeLessThanOrEqual(65_536);
      const shown = await ground.render("grep", input);
      expect(Buffer.byteLength(shown.kind === "text" ? String(shown.text) : "")).toBeLessThanOrEqual(65_536);
    }
  });

  test("hold at most 64 KB, and belong to one search", async () => {
    ground.put("big", `hit ${"x".repeat(390)}\n`.repeat(1000));
    const found = await grep({ pattern: "hit", literal: true, limit: 2000 });
    expect(found).toMatchObject({ totalMatches: 1000, complete: false, reason: "bytes" });
    expect(Buffer.byteLength(JSON.stringify(found.matches))).toBeLessThanOrEqual(65_536);
    const cursor = found.nextCursor ?? "";
    const next = await grep({ pattern: "hit", literal: true, limit: 2000, cursor });
    expect(next.matches?.[0]?.line).toBe((found.matches?.length ?? 0) + 1);
    expect(next.totalMatches).toBe(1000);
    expect((await ground.fail("grep", { pattern: "hit", cursor })).code).toBe("INVALID_INPUT");
  });
});

test("the lines that are found are those that RE2 finds one by one", async () => {
  const line = fc.string({ unit: fc.constantFrom("a", "b", "A", "ß", "K", " ", "\r", "\ufeff"), maxLength: 6 });
  const ending = fc.constantFrom("\n", "\r\n");
  const pattern = fc.constantFrom(
    "a",
    "ab",
    "^a",
    "b$",
    "a.b",
    "[^a]",
    "^$",
    "\\bab",
    "(?i)k",
    "a|b\\s",
    ".",
    "x*",
    "\\r",
  );
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.tuple(line, ending), { maxLength: 6 }),
      line,
      pattern,
      fc.boolean(),
      async (lines, last, expression, literal) => {
        const text = `${lines.map((parts) => parts.join("")).join("")}${last}`;
        ground.put("f", text);
        const re = RE2JS.compile(literal ? RE2JS.quote(expression) : expression);
        const expected = text
          .replace(/^\ufeff/, "")
          .split("\n")
          .map((one, at, all) => ({ line: at + 1, text: at < all.length - 1 ? one.replace(/\r$/, "") : one }))
          // What ends in a line feed has no line behind it.
          .filter((one, at, all) => at < all.length - 1 || one.text !== "")
          .filter((one) => re.test(one.text));
        const found = await grep({ pattern: expression, literal, path: "f" });
        expect(found.matches?.map((one) => ({ line: one.line, text: one.text }))).toEqual(expected);
      },
    ),
    { numRuns: 150 },
  );
});
