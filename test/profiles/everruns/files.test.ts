import {
  chmodSync,
  existsSync,
  lstatSync,
  readFileSync,
  statSync,
  symlinkSync,
  unlinkSync,
  writeFileSync,
} from "node:fs";
import { rename, symlink } from "node:fs/promises";
import { join } from "node:path";
import { beforeEach, describe, expect, test } from "@jest/globals";
import { cleanOutput } from "../../../src/profiles/everruns/bash.js";
import { pathMatcher, type SessionPaths, sessionPaths } from "../../../src/profiles/everruns/session-path.js";
import { failureOf } from "../../ops/ground.js";
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

const APP =
  "from flask import Flask\napp = Flask(__name__)\n\n@app.route('/')\ndef hello():\n    return 'Hello, World!'\n";

/** What the page shows, as it shows it. */
describe.each(KINDS)("the example of the page on a %s root", (kind) => {
  const { call } = useBed({ kind });

  test("an agent creates a Flask app", async () => {
    expect(await call("write_file", { path: "/workspace/app.py", content: APP })).toMatchObject({ created: true });
    const requirements = { path: "/workspace/requirements.txt", content: "flask>=3.0\n" };
    expect(await call("write_file", requirements)).toMatchObject({ content_hash: hashOf("flask>=3.0\n") });
  });

  test("and updates it safely", async () => {
    const { content_hash } = await call("read_file", { path: "/workspace/app.py" });
    const edit = {
      path: "/workspace/app.py",
      expected_hash: content_hash,
      edits: [{ old_text: "return 'Hello, World!'", new_text: "return 'Hello from Everruns!'" }],
    };
    const edited = APP.replace("Hello, World!", "Hello from Everruns!");
    expect(await call("edit_file", edit)).toMatchObject({
      ...{ path: "/workspace/app.py", content_hash: hashOf(edited), previous_content_hash: content_hash },
      ...{ applied_edits: 1, first_changed_line: 6, diff_truncated: false },
      diff: expect.stringContaining("-    return 'Hello, World!'\n+    return 'Hello from Everruns!'\n"),
    });
    expect(await call("read_file", { path: "/workspace/app.py" })).toMatchObject({ content: edited });
    // The hash of before is of no use any more.
    expect(await call("edit_file", edit)).toEqual({
      error: `File '/workspace/app.py' changed since the last read. Expected ${content_hash}, found ${hashOf(edited)}. Read the file again before editing.`,
    });
  });
});

describe("the page about it", () => {
  const page = readFileSync(new URL("../../../docs/profile-everruns.md", import.meta.url), "utf8");

  test("names tests that there are", () => {
    const rows = [...page.matchAll(/\| `([\w.-]+\.test\.ts)`: (.+) \|$/gm)];
    expect(rows.length).toBeGreaterThan(15);
    const unknown = rows.filter(([, file = "", title = ""]) => {
      const source = readFileSync(new URL(file, import.meta.url), "utf8");
      return !source.includes(`"${title}"`);
    });
    expect(unknown.map(([row]) => row)).toEqual([]);
  });
});

describe.each([undefined, "session-1"])("links in a session with the prefix %s", (prefix) => {
  const bed = useBed({ binding: prefix === undefined ? {} : { prefix } });
  const { call, fail } = bed;
  const link = (target: string, name: string) => {
    if (!existsSync(join(bed.dir, name))) symlinkSync(target, join(bed.dir, name));
  };

  beforeEach(() => {
    bed.put("real/f", "x\n");
    writeFileSync(join(bed.outside, "secret"), "x\n");
    const names = ["inside", "file", "out", "secret", "dangling"];
    for (const name of names)
      if (lstatSync(join(bed.dir, name), { throwIfNoEntry: false })) unlinkSync(join(bed.dir, name));
    link("real", "inside");
    link("real/f", "file");
    link(bed.outside, "out");
    link(join(bed.outside, "secret"), "secret");
    link("nowhere", "dangling");
  });

  test.each(["inside", "inside/f", "inside/new", "file", "out", "out/secret", "out/new", "secret", "dangling"])(
    "no tool goes through %s",
    async (path) => {
      const edit = { expected_hash: hashOf("x\n"), old_text: "x", new_text: "y" };
      for (const answer of [
        await fail("read_file", { path }),
        await fail("write_file", { path, content: "new" }),
        await fail("edit_file", { path, ...edit }),
        await fail("list_directory", { path }),
        await fail("grep_files", { path, pattern: "x" }),
        await fail("stat_file", { path }),
        await fail("delete_file", { path }),
        await fail("delete_file", { path, recursive: true }),
      ]) {
        expect(answer).toBe(`path traversal rejected: /workspace/${path} goes through a symlink`);
      }
      expect(bed.get("real/f")).toBe("x\n");
      expect(readFileSync(join(bed.outside, "secret"), "utf8")).toBe("x\n");
      expect(existsSync(join(bed.outside, "new"))).toBe(false);
      expect(existsSync(join(bed.dir, "real/new"))).toBe(false);
    },
  );

  test("links are in no list and no search", async () => {
    expect(await call("list_directory")).toMatchObject({ entries: [{ name: "real" }], count: 1 });
    expect(await call("grep_files", { pattern: "x" })).toMatchObject({ matches: [{ path: "/workspace/real/f" }] });
  });

  test("a directory of links is deleted with them, and what they lead to stays", async () => {
    bed.put("links/f", "");
    link("../real/f", "links/file");
    link(bed.outside, "links/out");
    expect(await call("delete_file", { path: "links", recursive: true })).toMatchObject({ deleted: true });
    expect(bed.get("real/f")).toBe("x\n");
    expect(existsSync(join(bed.outside, "secret"))).toBe(true);
  });

  test("a link that takes turns with a directory lets nothing out", async () => {
    bed.put("turn/secret", "mine\n");
    bed.put("turn/mine", "");
    await symlink(bed.outside, join(bed.dir, "turn-link"));
    const [turn, directory, other] = ["turn", "turn-directory", "turn-link"].map((name) => join(bed.dir, name));
    let isOver = false;
    const swap = async () => {
      while (!isOver) {
        await rename(`${turn}`, `${directory}`);
        await rename(`${other}`, `${turn}`);
        await rename(`${turn}`, `${other}`);
        await rename(`${directory}`, `${turn}`);
      }
    };
    const swapping = swap();
    for (let round = 0; round < 150; round++) {
      const read = await call("read_file", { path: "turn/secret" });
      expect(read["content"] ?? "mine\n").toBe("mine\n");
      const listed = await call("list_directory", { path: "turn" });
      expect(JSON.stringify(listed["entries"] ?? "mine")).toContain("mine");
    }
    isOver = true;
    await swapping;
  });
});

describe("a session whose directory is a link", () => {
  const bed = useBed({ binding: { prefix: "session" } });

  test("is refused whole", async () => {
    symlinkSync(bed.outside, bed.dir);
    expect(await bed.fail("list_directory")).toContain("symlink");
    expect(await bed.fail("write_file", { path: "f", content: "x" })).toContain("symlink");
    expect(existsSync(join(bed.outside, "f"))).toBe(false);
  });
});

const FILES = ["a.ts", "b.py", "docs/x.md", "docs/deep/y.md", "my-docs/a", "src/app/(x)/m.ts", ".env"];

describe("path_pattern", () => {
  test.each([
    ["*.ts", ["a.ts", "src/app/(x)/m.ts"]],
    ["/workspace/*.ts", ["a.ts"]],
    ["/*.ts", ["a.ts"]],
    ["docs/*", ["docs/x.md"]],
    ["docs/**", ["docs/x.md", "docs/deep/y.md"]],
    ["**/*.md", ["docs/x.md", "docs/deep/y.md"]],
    ["?.{ts,py}", ["a.ts", "b.py", "src/app/(x)/m.ts"]],
    ["[ab].*", ["a.ts", "b.py"]],
    ["[!a].*", ["b.py", "docs/x.md", "docs/deep/y.md", "src/app/(x)/m.ts"]],
    ["*env", [".env"]],
    ["docs", ["docs/x.md", "docs/deep/y.md", "my-docs/a"]],
    ["/docs", ["docs/x.md", "docs/deep/y.md"]],
    ["/workspace/docs/x", ["docs/x.md"]],
    [".md", ["docs/x.md", "docs/deep/y.md"]],
    ["", FILES],
    ["/workspace", FILES],
    ["/workspace/", FILES],
    ["/workspacefoo", []],
  ])("%j takes %j", async (pattern, expected) => {
    const matches = pathMatcher(pattern, "/workspace");
    expect(FILES.filter(matches)).toEqual(expected);
  });

  test("without an alias `/workspace` is a name like others", async () => {
    expect(FILES.filter(pathMatcher("/workspace", ""))).toEqual([]);
  });

  test.each([
    ["[ab", "Invalid path pattern: '[' is not closed: at 3"],
    ["docs/{a,b", "Invalid path pattern: '{' is not closed: at 5"],
    ["x".repeat(1001), "Path pattern too long"],
    [`${"x".repeat(1000)}*`, "Path pattern too long"],
  ])("%j is refused", async (pattern, message) => {
    expect(await failureOf(Promise.resolve().then(() => pathMatcher(pattern, "/workspace")))).toMatchObject({
      code: "INVALID_PATTERN",
      message,
    });
  });
});

function pathsOf(alias: string | null): SessionPaths {
  const paths = sessionPaths(alias);
  if (paths === undefined) throw new Error(`${alias} is no alias`);
  return paths;
}
const workspace = pathsOf("/workspace");

describe("a path of the tools", () => {
  test.each([
    ["/workspace", "/"],
    ["/workspace/", "/"],
    ["/workspace/foo/bar.txt", "/foo/bar.txt"],
    ["/test.txt", "/test.txt"],
    ["/workspacefoo", "/workspacefoo"],
    ["//a///b//", "/a/b"],
    ["foo.txt", "/foo.txt"],
    ["/sub/dir/", "/sub/dir"],
    ["  /workspace/x  ", "/x"],
    ["//workspace//x", "/x"],
    ["", "/"],
    ["///", "/"],
    ["/./workspace/./x/.", "/x"],
    ["/workspace/workspace/x", "/workspace/x"],
    ["/a b", "/a b"],
    ["$HOME/~", "/$HOME/~"],
  ])("%j is %j", (text, path) => {
    expect(workspace.parse(text)).toBe(path);
  });

  test.each(["..", "/workspace/..", "a/../b", "/workspace/a/..", "../workspace/x", " .. "])(
    "%j is refused, also where it would stay inside",
    async (text) => {
      expect((await failureOf(Promise.resolve().then(() => workspace.parse(text)))).code).toBe("PATH_ESCAPES_ROOT");
    },
  );

  test("`..` is only a segment of its own", () => {
    expect(workspace.parse("/workspace/..a/b..")).toBe("/..a/b..");
  });

  test("is shown behind the alias", () => {
    expect(workspace.show("/")).toBe("/workspace");
    expect(workspace.show("/foo.txt")).toBe("/workspace/foo.txt");
  });

  test("is the session path itself without an alias", () => {
    const bare = pathsOf(null);
    expect(bare.parse("/workspace/x")).toBe("/workspace/x");
    expect([bare.show("/"), bare.show("/x")]).toEqual(["/", "/x"]);
  });

  test("may stand behind an alias of several names", () => {
    const deep = pathsOf("/home/agent/");
    expect(deep.parse("/home/agent/x")).toBe("/x");
    expect(deep.parse("/home/agents")).toBe("/home/agents");
    expect(deep.show("/x")).toBe("/home/agent/x");
  });

  test.each(["workspace", "", "/a/../b", "/a//b", "/a\\b", "/a\nb"])("the alias %j is refused", (alias) => {
    expect(sessionPaths(alias)).toBeUndefined();
  });
});

const clean = (text: string, most = 1000) => cleanOutput(Buffer.from(text), most);

describe("output of a command", () => {
  test.each([
    ["plain\nlines\n", "plain\nlines\n"],
    ["\u001b[1;31mred\u001b[0m \u001b[2K\u001b[?25lx", "red x"],
    ["\u001b]0;title\u0007a\u001b]8;;http://x\u001b\\link\u001b]8;;\u001b\\", "alink"],
    ["\u001b(Ba\u001b7b\u001bMc", "abc"],
    ["a\u001b", "a"],
    ["a\u001b[", "a"],
    ["\u001b]never ends", ""],
    ["10%\r50%\r100%\ndone\n", "100%\ndone\n"],
    ["10%\r50%\r", "50%"],
    ["windows\r\nlines\r\n", "windows\nlines\n"],
    ["a\r\r\nb", "a\nb"],
  ])("%j is read as %j", (text, expected) => {
    expect(clean(text)).toBe(expected);
  });

  test("is cut in its middle, with a fifth of its room before the marker", () => {
    const text = `${"a".repeat(500)}${"m".repeat(4000)}${"z".repeat(900)}`;
    expect(clean(text, 1000)).toBe(`${"a".repeat(200)}\n... [4400 bytes left out] ...\n${"z".repeat(800)}`);
    expect(clean(text, text.length)).toBe(text);
  });

  test("keeps characters whole where it is cut", () => {
    for (let extra = 0; extra < 4; extra++) {
      const cut = clean(`${"x".repeat(extra)}${"😀".repeat(1000)}`, 1000);
      expect(cut).not.toContain("\ufffd");
      const [head = "", left = "", tail = ""] = cut.split(/\n\.\.\. \[(\d+) bytes left out\] \.\.\.\n/);
      expect(Buffer.byteLength(head)).toBeLessThanOrEqual(200);
      expect(Buffer.byteLength(tail)).toBeLessThanOrEqual(800);
      expect(Buffer.byteLength(head) + Number(left) + Buffer.byteLength(tail)).toBe(4000 + extra);
    }
  });

  test("bytes that are no text are shown as such", () => {
    expect(cleanOutput(Buffer.from([0x61, 0xff, 0x62]), 100)).toBe("a\ufffdb");
  });
});
