import { describe, expect, test } from "@jest/globals";
import { KINDS, useBed050, whole } from "./bed.js";

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
  const { mkdirSync, writeFileSync } = await import("node:fs");
  const { createFileAdapter, createProfile } = await import("../../../src/index.js");
  const { makeFolder } = await import("../../cli/process.js");
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
