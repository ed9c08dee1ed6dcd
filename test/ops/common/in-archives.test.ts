import { rmSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "@jest/globals";
import { DRIVE_OPERATIONS, OPERATIONS, STREAM_OPERATIONS } from "../../../src/ops/registry.js";
import { zipOf } from "../../backend/archive/zip-bytes.js";
import { useGround } from "../ground.js";

const ground = useGround();

const putZip = () =>
  ground.put(
    "a/x.zip",
    zipOf([
      { name: "docs/b.md", content: "# B\nline 2\n" },
      { name: "c.txt", content: "see", method: 0 },
    ]),
  );

describe("operations that look", () => {
  test("list and read what lies in a zip", async () => {
    putZip();
    expect((await ground.run("list", { path: "a/x.zip!" })).entries).toMatchObject([
      { name: "c.txt", type: "file", size: 3 },
      { name: "docs", type: "directory", size: 0 },
    ]);
    expect(await ground.run("read", { path: "a/x.zip!/docs/b.md" })).toMatchObject({
      content: "# B\nline 2\n",
      size: 11,
    });
    expect(await ground.run("read", { path: "a/x.zip!/c.txt" })).toMatchObject({ content: "see" });
  });
});

const READS = ["list", "tree", "read", "readMany", "stat", "hash", "glob", "grep"];
const WRITE = "Cannot write an archive entry: use archive:extract or archive:zip";

describe("all other operations", () => {
  const change: Readonly<Record<string, object>> = {
    create: { content: { inline: "x" } },
    write: { content: "x" },
    edit: { oldText: "a", newText: "b" },
    append: { content: "x" },
    mkdir: {},
    delete: {},
    restore: { to: "v" },
  };
  const PATCH = "*** Begin Patch\n*** Add File: a/x.zip!/new\n+x\n*** End Patch\n";

  test.each(Object.entries(change))("%s is refused, whatever is there", async (name, input) => {
    putZip();
    for (const path of ["a/x.zip!/c.txt", "a/x.zip!", "none/Y.TGZ!/new"]) {
      expect(await ground.fail(name, { path, ...input })).toEqual({
        code: "NOT_SUPPORTED",
        message: WRITE,
        data: { root: "r", path, next: { tool: "archive:extract" } },
      });
    }
    expect(ground.names()).toEqual(["a"]);
  });

  test("copy and move neither take from there nor put there", async () => {
    putZip();
    ground.put("f", "1");
    for (const name of ["copy", "move"]) {
      for (const [from, to] of [
        ["a/x.zip!/c.txt", "g"],
        ["f", "a/x.zip!/g"],
        ["a/x.zip!", "g"],
      ])
        expect(await ground.fail(name, { from, to })).toMatchObject({ code: "NOT_SUPPORTED", message: WRITE });
    }
    expect(await ground.fail("patch", { patch: PATCH })).toMatchObject({ code: "NOT_SUPPORTED" });
    expect(await ground.fail("write", { path: "g", asset: "file://r/a/x.zip!/c.txt" })).toMatchObject({
      code: "NOT_SUPPORTED",
    });
    expect(ground.names()).toEqual(["a", "f"]);
  });

  test("that look say what they cannot do", async () => {
    putZip();
    for (const name of ["du", "history", "trash", "watch"]) {
      expect(await ground.fail(name, { path: "a/x.zip!" })).toMatchObject({
        code: "NOT_SUPPORTED",
        message: `file:${name} does not look into archives: use archive:extract`,
      });
    }
    expect(await ground.fail("transfer", { path: "a/x.zip!/c.txt", direction: "download" })).toMatchObject({
      code: "NOT_SUPPORTED",
    });
  });

  test("are all that do not say that they look in archives", () => {
    const all = [...OPERATIONS, ...STREAM_OPERATIONS, ...DRIVE_OPERATIONS];
    const looking = new Set(all.filter(({ looksInArchives }) => looksInArchives === true).map(({ name }) => name));
    expect([...looking].sort()).toEqual([...READS].sort());
    expect(
      all.filter(({ looksInArchives, changes, ability }) => looksInArchives && (changes || ability !== "crud/read")),
    ).toEqual([]);
  });
});

describe("an archive in an archive", () => {
  test("is not looked into", async () => {
    ground.put(
      "x.zip",
      zipOf([
        { name: "y.zip", content: zipOf([{ name: "z" }]) },
        { name: "y.zip!/z", content: "real" },
      ]),
    );
    for (const path of ["x.zip!/y.zip!/z", "x.zip!/y.zip!", "x.zip!/dir/Y.TAR!/z"]) {
      expect(await ground.fail("read", { path })).toEqual({
        code: "NOT_SUPPORTED",
        message: `Cannot look into an archive in an archive: ${path}. Extract the outer one with archive:extract`,
        data: { root: "r", path, next: { tool: "archive:extract" } },
      });
    }
    expect((await ground.run("read", { path: "x.zip!/y.zip", mode: "bytes" })).size).toBeGreaterThan(90);
    expect((await ground.run("list", { path: "x.zip!" })).entries).toMatchObject([
      { name: "y.zip", type: "file" },
      { name: "y.zip!", unreachable: true },
    ]);
  });
});

describe("real entries called like the inside of an archive", () => {
  test("are marked, and no path leads to them or below them", async () => {
    ground.put("dir/x.zip!/inside.txt", "text");
    ground.put("dir/Y.Tar.Gz!", "text");
    ground.put("dir/plain!", "text");
    expect((await ground.run("list", { path: "dir" })).entries).toMatchObject([
      { name: "plain!" },
      { name: "x.zip!", type: "directory", unreachable: true },
      { name: "Y.Tar.Gz!", unreachable: true },
    ]);
    expect(await ground.fail("read", { path: "dir/x.zip!/inside.txt" })).toMatchObject({
      code: "NOT_FOUND",
      data: { path: "dir/x.zip" },
    });
    expect(await ground.run("grep", { pattern: "text", path: "dir" })).toMatchObject({
      totalMatches: 1,
      hidden: { unreadable: 2 },
    });
    expect((await ground.run("glob", { pattern: "**", path: "dir" })).paths).toEqual(["dir/plain!"]);
  });
});

describe("rights on what lies in an archive", () => {
  const asOperator = (path: string, can = "crud/read") => ({ caps: [{ with: `file://r/${path}`, can }] });
  const PATH = "a/x.zip!/docs/b.md";

  test.each(["", "a", "a/x.zip"])("are those on the archive: a grant on '%s' opens it", async (path) => {
    putZip();
    expect(await ground.run("read", { path: PATH }, asOperator(path))).toMatchObject({ content: "# B\nline 2\n" });
    expect(await ground.run("grep", { path: "a/x.zip!", pattern: "line" }, asOperator(path))).toMatchObject({
      totalMatches: 1,
    });
  });

  test.each(["a/x.zip!", "a/x.zip!/docs", "a/x.zip/docs", "a/x.zip!/docs/b.md", "b"])(
    "a grant on '%s' does not",
    async (path) => {
      putZip();
      for (const name of READS) {
        const input = name === "readMany" ? { files: [{ path: PATH }] } : { path: PATH, pattern: "x" };
        if (name === "readMany") {
          expect(await ground.run("readMany", { files: [{ path: PATH }] }, asOperator(path))).toMatchObject({
            files: [{ ok: false, code: "CAPABILITY_DENIED" }],
          });
        } else {
          const { pattern, ...plain } = { ...input } as { path: string; pattern?: string };
          const asked = name === "glob" || name === "grep" ? { ...plain, pattern } : plain;
          expect(await ground.fail(name, asked, asOperator(path))).toMatchObject({ code: "CAPABILITY_DENIED" });
        }
      }
    },
  );

  test("a refusal says what is needed, and is the same whether or not there is an archive", async () => {
    putZip();
    const there = await ground.fail("read", { path: PATH }, asOperator("b"));
    ground.put("a/x.zip", "no archive");
    expect(await ground.fail("read", { path: PATH }, asOperator("b"))).toEqual(there);
    rmSync(join(ground.dir, "a"), { recursive: true });
    expect(await ground.fail("read", { path: PATH }, asOperator("b"))).toEqual(there);
    expect(there.data["required"]).toEqual({ with: "file://r/a/x.zip", can: "crud/read" });
  });

  test("write alone does not open it, and read alone is enough", async () => {
    putZip();
    expect(await ground.fail("read", { path: PATH }, asOperator("a", "crud/write"))).toMatchObject({
      code: "CAPABILITY_DENIED",
    });
    expect(await ground.run("hash", { path: PATH }, asOperator("a", "crud/read"))).toMatchObject({ size: 11 });
  });

  test("a link to an archive needs the rights on both", async () => {
    ground.put("secret/x.zip", zipOf([{ name: "f", content: "1" }]));
    ground.mkdir("a");
    symlinkSync("../secret/x.zip", join(ground.dir, "a/l.zip"));
    expect(await ground.run("read", { path: "a/l.zip!/f" })).toMatchObject({ content: "1" });
    expect(await ground.fail("read", { path: "a/l.zip!/f" }, asOperator("a"))).toMatchObject({
      code: "CAPABILITY_DENIED",
    });
    symlinkSync(ground.outside, join(ground.dir, "a/out.zip"));
    expect(await ground.fail("read", { path: "a/out.zip!/f" })).toMatchObject({ code: "SYMLINK_ESCAPE" });
  });

  test("every call is recorded with the whole path", async () => {
    putZip();
    await ground.run("read", { path: PATH });
    await ground.fail("write", { path: PATH, content: "" });
    expect(ground.audit).toMatchObject([
      { operation: "file:read", resource: "file://r/a/x.zip!/docs/b.md", outcome: "OK" },
      { operation: "file:write", resource: "file://r/a/x.zip!/docs/b.md", outcome: "NOT_SUPPORTED" },
    ]);
  });
});
