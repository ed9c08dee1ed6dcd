import { chmodSync, lstatSync, statSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "@jest/globals";
import { hashOf, KINDS, useBed } from "./bed.js";

const TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/;
const PIXEL = Buffer.from(
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==",
  "base64",
);

describe.each(KINDS)("on a %s root", (kind) => {
  describe.each([undefined, "session-1"])("with the prefix %s", (prefix) => {
    const bed = useBed({ kind, binding: prefix === undefined ? {} : { prefix } });
    const { call, fail } = bed;

    test("a session begins as an empty directory", async () => {
      expect(await call("list_directory")).toEqual({ path: "/workspace", entries: [], count: 0 });
      expect(await call("stat_file", { path: "/workspace" })).toMatchObject({
        ...{ path: "/workspace", name: "/", exists: true, type: "directory", is_directory: true, size_bytes: 0 },
      });
      expect(await call("grep_files", { pattern: "x" })).toEqual({ pattern: "x", matches: [], match_count: 0 });
      expect(await fail("read_file", { path: "/workspace/none" })).toBe("File not found: /workspace/none");
    });

    test("what is written is read, with the hash of its bytes", async () => {
      const path = "/workspace/a/b.txt";
      const content = "\ufeffé\r\n";
      const written = { path, size_bytes: 7, created: true, content_hash: hashOf(content) };
      expect(await call("write_file", { path, content })).toEqual(written);
      expect(await call("read_file", { path: "a/b.txt" })).toEqual({
        ...{ path, content, encoding: "text", size_bytes: 7, content_hash: hashOf(content) },
      });
      expect(await call("write_file", { path, content: "x" })).toMatchObject({ created: false, size_bytes: 1 });
      expect((await call("read_file", { path }))["content"]).toBe("x");
    });

    test("other bytes are base64, in and out", async () => {
      const path = "/workspace/bin";
      for (const bytes of [Buffer.from([0xff, 0xfe, 0x41, 0]), Buffer.from("a\0b")]) {
        const content = bytes.toString("base64");
        const about = { path, size_bytes: bytes.length, content_hash: hashOf(bytes) };
        expect(await call("write_file", { path, content, encoding: "base64" })).toMatchObject(about);
        expect(await call("read_file", { path })).toEqual({ ...about, content, encoding: "base64" });
      }
      for (const content of ["a", "a===", "YQ==x", "@@@@", "YR=="]) {
        expect(await fail("write_file", { path, content, encoding: "base64" })).toBe(
          "Invalid parameter content: is not valid base64",
        );
      }
      expect(await call("read_file", { path })).toMatchObject({ size_bytes: 3 });
    });

    test("a picture is a picture by its name, unless it is text", async () => {
      const content = PIXEL.toString("base64");
      for (const [name, media_type] of [
        ["p.png", "image/png"],
        ["p.JPG", "image/jpeg"],
        ["p.jpeg", "image/jpeg"],
        ["p.gif", "image/gif"],
        ["p.WebP", "image/webp"],
      ]) {
        const path = `/workspace/pictures/${name}`;
        await call("write_file", { path, content, encoding: "base64" });
        expect(await call("read_file", { path })).toEqual({
          ...{ path, media_type, size_bytes: PIXEL.length, content_hash: hashOf(PIXEL) },
          image: { base64: content, media_type },
        });
      }
      const cut = PIXEL.subarray(0, -9);
      await call("write_file", { path: "cut.png", content: cut.toString("base64"), encoding: "base64" });
      expect(await call("read_file", { path: "cut.png" })).toEqual({
        ...{ path: "/workspace/cut.png", media_type: "image/png", size_bytes: cut.length, content_hash: hashOf(cut) },
        ...{ content: "Image, damaged or cut short: image/png, 1x1 px, 61 bytes", encoding: "text" },
      });
      await call("write_file", { path: "t.png", content: "text" });
      expect(await call("read_file", { path: "t.png" })).toMatchObject({ content: "text", encoding: "text" });
      await call("write_file", { path: "p.bmp", content, encoding: "base64" });
      expect(await call("read_file", { path: "p.bmp" })).toMatchObject({ content, encoding: "base64" });
    });

    test("a directory is listed by path, one level, with what begins with a dot", async () => {
      for (const path of ["list/b", "list/A", "list/.env", "list/sub/deep"])
        await call("write_file", { path, content: "12" });
      const entry = (name: string, size_bytes: number, is_directory = false) => ({
        ...{ name, path: `/workspace/list/${name}`, is_directory, size_bytes, is_readonly: false },
      });
      expect(await call("list_directory", { path: "/workspace/list/" })).toEqual({
        path: "/workspace/list",
        entries: [entry(".env", 2), entry("A", 2), entry("b", 2), entry("sub", 0, true)],
        count: 4,
      });
      // In UTF-16, unlike UTF-8, the second character comes before the first.
      for (const name of ["\uff5e", "😀", "a"]) await call("write_file", { path: `order/${name}`, content: "" });
      const { entries } = (await call("list_directory", { path: "order" })) as { entries: { name: string }[] };
      expect(entries.map(({ name }) => name)).toEqual(["a", "😀", "\uff5e"]);
      expect(await fail("list_directory", { path: "list/b" })).toBe("Path is not a directory: /workspace/list/b");
      expect(await fail("list_directory", { path: "none" })).toBe("Directory not found: /workspace/none");
    });

    test("stat tells of what is there and of what is not", async () => {
      await call("write_file", { path: "st/f", content: "abc" });
      expect(await call("stat_file", { path: "st/f" })).toEqual({
        ...{ path: "/workspace/st/f", name: "f", exists: true, type: "file", is_directory: false, is_readonly: false },
        ...{ size_bytes: 3, created_at: expect.stringMatching(TIME), updated_at: expect.stringMatching(TIME) },
      });
      expect(await call("stat_file", { path: "/workspace/st" })).toMatchObject({ type: "directory", size_bytes: 0 });
      for (const path of ["none", "st/f/below"]) {
        expect(await call("stat_file", { path })).toEqual({ path: `/workspace/${path}`, exists: false });
      }
    });

    test("delete takes files, empty directories, and others when it is told to", async () => {
      await call("write_file", { path: "del/d/f", content: "" });
      const full = "Directory is not empty. Use recursive=true to delete";
      expect(await fail("delete_file", { path: "del/d" })).toBe(full);
      expect(await call("delete_file", { path: "del/d/f" })).toEqual({ path: "/workspace/del/d/f", deleted: true });
      expect(await call("delete_file", { path: "del/d" })).toEqual({ path: "/workspace/del/d", deleted: true });
      expect(await fail("delete_file", { path: "del/d" })).toBe("File not found: /workspace/del/d");
      await call("write_file", { path: "del/e/f", content: "" });
      expect(await call("delete_file", { path: "del", recursive: true })).toMatchObject({ deleted: true });
      expect(await call("stat_file", { path: "del/e/f" })).toMatchObject({ exists: false });
    });

    test("the root of the session is never deleted", async () => {
      for (const path of ["/workspace", "/", "", ".", "  /workspace/  "]) {
        for (const recursive of [false, true]) {
          expect(await fail("delete_file", { path, recursive })).toContain("cannot delete workspace root");
        }
      }
    });

    test("a directory is no file, and a file no directory", async () => {
      await call("write_file", { path: "kind/f", content: "x" });
      const isDirectory = "Path '/workspace/kind' is a directory, not a file. Use list_directory instead.";
      expect(await fail("read_file", { path: "kind" })).toBe(isDirectory);
      expect(await fail("write_file", { path: "kind", content: "y" })).toBe(isDirectory);
      const edit = { expected_hash: hashOf("x"), old_text: "x", new_text: "y" };
      expect(await fail("edit_file", { path: "kind", ...edit })).toBe(isDirectory);
      expect(await fail("write_file", { path: "kind/f/g", content: "y" })).toBe(
        "Path is not a directory: /workspace/kind/f",
      );
      expect(await fail("write_file", { path: "/workspace", content: "y" })).toMatch(/directory/);
      expect(await call("read_file", { path: "kind/f" })).toMatchObject({ content: "x" });
    });

    test.each([
      ["read_file", {}, "Missing required parameter: path"],
      ["write_file", { path: "f" }, "Missing required parameter: content"],
      ["write_file", { path: "f", content: 1 }, "Invalid parameter content: must be a string"],
      ["write_file", { path: "f", content: "\ud800" }, "Invalid parameter content: is not well-formed Unicode"],
      [
        "write_file",
        { path: "f", content: "", encoding: "hex" },
        "Invalid parameter encoding: must be one of: text, base64",
      ],
      ["delete_file", { path: "f", recursive: "yes" }, "Invalid parameter recursive: must be a boolean"],
      ["stat_file", { pth: "f" }, "Missing required parameter: path"],
      ["stat_file", { path: "f", x: 1 }, "Invalid parameter x: unknown field 'x'. Known fields: path"],
    ])("%s with %j is refused", async (tool, args, text) => {
      expect(await fail(tool, args)).toBe(text);
    });

    test.each([
      ["..", "path traversal rejected: .."],
      ["/workspace/a/../b", "path traversal rejected: /workspace/a/../b"],
      ["a\0b", "path traversal rejected: a\\u{0}b (Nul character not allowed)"],
      ["a\\..\\b", "path traversal rejected: a\\..\\b (backslash not allowed)"],
      ["C:/x", "path traversal rejected: C:/x"],
    ])("the path %j is refused by every tool", async (path, text) => {
      const edit = { expected_hash: "", old_text: "a", new_text: "b" };
      expect(await fail("read_file", { path })).toBe(text);
      expect(await fail("write_file", { path, content: "" })).toBe(text);
      expect(await fail("edit_file", { path, ...edit })).toBe(text);
      expect(await fail("list_directory", { path })).toBe(text);
      expect(await fail("grep_files", { pattern: "x", path })).toBe(text);
      expect(await fail("delete_file", { path })).toBe(text);
      expect(await fail("stat_file", { path })).toBe(text);
    });
  });
});

describe("on the host", () => {
  const bed = useBed({ root: { maxReadBytes: 1000 } });

  test("times are those of the file, its birth among them", async () => {
    bed.put("f", "x");
    const { birthtimeMs, mtimeMs } = statSync(join(bed.dir, "f"));
    expect(await bed.call("stat_file", { path: "f" })).toMatchObject({
      created_at: new Date(Math.floor(birthtimeMs)).toISOString(),
      updated_at: new Date(Math.floor(mtimeMs)).toISOString(),
    });
  });

  test("a file over the limit of the root is not read", async () => {
    bed.put("fits", Buffer.alloc(1000, "x"));
    bed.put("big", Buffer.alloc(1001, "x"));
    expect(await bed.call("read_file", { path: "fits" })).toMatchObject({ size_bytes: 1000 });
    expect(await bed.fail("read_file", { path: "big" })).toBe("File exceeds the size limit of 1000 bytes");
  });

  test("permission bits stay when a file is written anew", async () => {
    bed.put("script", "a");
    chmodSync(join(bed.dir, "script"), 0o755);
    await bed.call("write_file", { path: "script", content: "b" });
    await bed.call("edit_file", { path: "script", expected_hash: hashOf("b"), old_text: "b", new_text: "c" });
    expect(bed.get("script")).toBe("c");
    expect(lstatSync(join(bed.dir, "script")).mode & 0o777).toBe(0o755);
  });
});

describe("without an alias", () => {
  const bed = useBed({ binding: { alias: null } });

  test("paths are session paths, and no description speaks of another", async () => {
    expect(await bed.call("write_file", { path: "/workspace/f", content: "x" })).toMatchObject({
      path: "/workspace/f",
    });
    expect(bed.get("workspace/f")).toBe("x");
    expect(await bed.call("list_directory", { path: "/" })).toMatchObject({ path: "/", count: 1 });
    expect(await bed.fail("read_file", { path: "none" })).toBe("File not found: /none");
    expect(JSON.stringify(bed.profile.tools)).not.toContain("workspace/");
    expect(JSON.stringify(bed.profile.tools)).not.toContain("/workspace");
  });
});

describe("the tools", () => {
  const bed = useBed();

  test("are seven, with the arguments of the page and hints that are true", () => {
    const shown = bed.profile.tools.map(({ name, input, annotations }) => [
      name,
      Object.keys(Object(input["properties"])),
      input["required"] ?? [],
      [annotations.readOnlyHint, annotations.idempotentHint, annotations.destructiveHint],
    ]);
    const looks = [true, true, false];
    expect(shown).toEqual([
      ["read_file", ["path"], ["path"], looks],
      ["write_file", ["path", "content", "encoding"], ["path", "content"], [false, true, true]],
      [
        "edit_file",
        ["path", "expected_hash", "old_text", "new_text", "edits"],
        ["path", "expected_hash"],
        [false, false, true],
      ],
      ["list_directory", ["path"], [], looks],
      ["grep_files", ["pattern", "path", "path_pattern"], ["pattern"], looks],
      ["delete_file", ["path", "recursive"], ["path"], [false, false, true]],
      ["stat_file", ["path"], ["path"], looks],
    ]);
    for (const { input } of bed.profile.tools) {
      expect(input["type"]).toBe("object");
      for (const word of ["oneOf", "anyOf", "allOf", "enum", "not"]) expect(input).not.toHaveProperty(word);
    }
  });
});

describe("on a root with another encoding", () => {
  const { call } = useBed({ root: { encoding: "latin1" } });

  test("text is UTF-8 all the same", async () => {
    const content = "é日";
    const written = { size_bytes: 5, content_hash: hashOf(content) };
    expect(await call("write_file", { path: "a", content })).toMatchObject(written);
    expect(await call("read_file", { path: "a" })).toMatchObject({ ...written, content });
  });
});

describe("with a prefix that is called as the root", () => {
  const bed = useBed({ binding: { prefix: "r" } });

  test("nothing lies outside of it", async () => {
    await bed.adapter.invoke("file:write", { root: "r", path: "secret", content: "s" });
    expect(await bed.call("write_file", { path: "/workspace/in/a.txt", content: "a" })).toMatchObject({
      created: true,
    });
    expect(await bed.fail("read_file", { path: "/workspace/secret" })).toBe("File not found: /workspace/secret");
    expect(bed.get("in/a.txt")).toBe("a");
  });
});
