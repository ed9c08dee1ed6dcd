import { writeFileSync } from "node:fs";
import { describe, expect, test } from "@jest/globals";
import { KINDS, useBed } from "./bed.js";

const KB = 1024;

describe.each(KINDS)("grep_files on a %s root", (kind) => {
  const bed = useBed({ kind, binding: { prefix: "s" } });
  const { call, fail } = bed;
  const write = (path: string, content: string | Buffer) =>
    call("write_file", { path, content: Buffer.from(content).toString("base64"), encoding: "base64" });
  const found = async (args: object) => {
    const { matches, match_count, pattern } = await call("grep_files", args);
    expect(pattern).toBe(Object(args).pattern);
    expect(match_count).toBe(Object(matches).length);
    return (matches as { path: string; line_number: number; line: string }[]).map(
      ({ path, line_number, line }) => `${path}:${line_number}:${line}`,
    );
  };

  test("gives lines without their ends, by path and line", async () => {
    await write("a/b.txt", "\ufeffneedle one\r\nno\r\nNeedle two\r\nneedle");
    await write("a-b", "a needle\n");
    await write("Z", "needle\n\n\nneedle\n");
    await write(".hidden/.env", "needle=1\n");
    await write("bin", Buffer.from("needle\0\n"));
    await write("latin", Buffer.from([0x6e, 0x65, 0x65, 0x64, 0x6c, 0x65, 0xff]));
    await write("long", `${"x".repeat(3000)}needle${"y".repeat(3000)}\n`);
    expect(await found({ pattern: "needle" })).toEqual([
      "/workspace/.hidden/.env:1:needle=1",
      "/workspace/Z:1:needle",
      "/workspace/Z:4:needle",
      "/workspace/a-b:1:a needle",
      "/workspace/a/b.txt:1:needle one",
      "/workspace/a/b.txt:4:needle",
      `/workspace/long:1:${"x".repeat(3000)}needle${"y".repeat(3000)}`,
    ]);
    expect(await found({ pattern: "^(?i)needle [a-z]+$" })).toEqual([
      "/workspace/a/b.txt:1:needle one",
      "/workspace/a/b.txt:3:Needle two",
    ]);
    expect(await found({ pattern: "one\\r?$" })).toEqual(["/workspace/a/b.txt:1:needle one"]);
  });

  test("path is a directory, and path_pattern narrows it further", async () => {
    for (const path of ["p/docs/x.md", "p/docs/deep/y.md", "p/docs.md", "p/my-docs/z"]) await write(path, "here\n");
    expect(await found({ pattern: "here", path: "/workspace/p/docs" })).toEqual([
      "/workspace/p/docs/deep/y.md:1:here",
      "/workspace/p/docs/x.md:1:here",
    ]);
    expect(await found({ pattern: "here", path: "p", path_pattern: "p/docs/*" })).toEqual([
      "/workspace/p/docs/x.md:1:here",
    ]);
    expect(await found({ pattern: "here", path: "p/docs", path_pattern: "y" })).toEqual([
      "/workspace/p/docs/deep/y.md:1:here",
    ]);
    expect(await found({ pattern: "here", path_pattern: "*.md" })).toHaveLength(3);
    expect(await found({ pattern: "here", path_pattern: "docs" })).toHaveLength(4);
    expect(await found({ pattern: "here", path: "p/docs/x.md" })).toEqual(["/workspace/p/docs/x.md:1:here"]);
    expect(await found({ pattern: "here", path: "p/docs/x.md", path_pattern: "y" })).toEqual([]);
    expect(await fail("grep_files", { pattern: "here", path: "p/doc" })).toBe("Directory not found: /workspace/p/doc");
  });

  test("a pattern that is none is told before anything is looked at", async () => {
    expect(await fail("grep_files", { pattern: "a(", path: "none" })).toBe(
      "Invalid regex pattern: missing closing ): at 0",
    );
    expect(await fail("grep_files", { pattern: "(?=a)" })).toMatch(/^Invalid regex pattern: /);
    expect(await fail("grep_files", { pattern: "" })).toMatch(/^Invalid regex pattern: /);
    expect(await fail("grep_files", { pattern: "x".repeat(1001) })).toBe("Regex pattern too long");
    expect(await fail("grep_files", { pattern: "x", path_pattern: "x".repeat(1001) })).toBe("Path pattern too long");
    expect(await fail("grep_files", { pattern: "x", path_pattern: "[ab" })).toBe(
      "Invalid path pattern: '[' is not closed: at 3",
    );
    expect(await fail("grep_files", {})).toBe("Missing required parameter: pattern");
    expect(await found({ pattern: "q".repeat(1000) })).toEqual([]);
  });

  test("what is ignored is left out, and .git always", async () => {
    await write("i/.gitignore", "*.log\nbuild/\n");
    await write("i/.ignore", "secret\n");
    for (const path of ["i/a.log", "i/build/x", "i/secret", "i/kept", "i/.git/config"]) await write(path, "word\n");
    expect(await found({ pattern: "word", path: "i" })).toEqual(["/workspace/i/kept:1:word"]);
    expect(await found({ pattern: "word", path: "i/.git" })).toEqual([]);
    expect(await found({ pattern: "word", path: "i", path_pattern: "**/.git/*" })).toEqual([]);
  });

  test("a file over 512 KB is skipped, and more than 5 MB is too much", async () => {
    const line = `${"-".repeat(1023)}\n`;
    const half = `word${line.repeat(512).slice(4)}`;
    await write("big/fits", half);
    await write("big/over", `${half}-`);
    expect(await found({ pattern: "^word", path: "big" })).toHaveLength(1);
    for (let file = 0; file < 9; file++) await write(`big/${file}`, half);
    expect(Buffer.byteLength(half) * 10).toBe(5 * KB * KB);
    expect(await found({ pattern: "word", path: "big" })).toHaveLength(10);
    await write("big/one-more", "x");
    const tooMuch = "Grep scan exceeds maximum total size of 5242880 bytes";
    expect(await fail("grep_files", { pattern: "word", path: "big" })).toBe(tooMuch);
    expect(await fail("grep_files", { pattern: "w[o]rd", path: "big" })).toBe(tooMuch);
    // What is not searched does not count.
    expect(await found({ pattern: "word", path: "big", path_pattern: "[0-9]" })).toHaveLength(9);
  });
});

describe("grep_files on the host", () => {
  const bed = useBed();

  test("skips names that are not UTF-8", async () => {
    bed.put("plain", "word\n");
    writeFileSync(Buffer.concat([Buffer.from(`${bed.dir}/`), Buffer.from([0xff, 0x61])]), "word\n");
    expect(await bed.call("grep_files", { pattern: "word" })).toMatchObject({
      matches: [{ path: "/workspace/plain" }],
    });
    expect(await bed.call("list_directory")).toMatchObject({ entries: [{ name: "plain" }], count: 1 });
  });

  test("tells every one of many matches", async () => {
    bed.put("many", "x\n".repeat(20_000));
    expect(await bed.call("grep_files", { pattern: "^x$" })).toMatchObject({ match_count: 20_000 });
  });
});
