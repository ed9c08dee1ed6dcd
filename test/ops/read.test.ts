import { execFileSync } from "node:child_process";
import { chmodSync, symlinkSync, truncateSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "@jest/globals";
import { dispatchOn } from "../dispatch/fake.js";
import { etagOfContent } from "./content/etags.js";
import { failure, failureOf, useGround } from "./ground.js";
import { asNobody } from "./rights.js";

const NUL = Buffer.of(0);
const INVALID = Buffer.of(0xff);
const filled = (length: number): Buffer => Buffer.alloc(length, "a");

describe("modes of file:read", () => {
  const ground = useGround();

  test.each([[undefined], ["auto"], [""]] as const)("%p gives text as it is", async (mode) => {
    ground.put("a.txt", "grüße\r\n\t😀\n");
    expect(await ground.run("read", { path: "a.txt", ...(mode === undefined ? {} : { mode }) })).toEqual({
      content: "grüße\r\n\t😀\n",
      encoding: "utf-8",
      size: 15,
      mime: "text/plain",
      etag: etagOfContent("grüße\r\n\t😀\n"),
    });
  });

  test.each([[undefined], ["auto"], [""], ["bytes"]] as const)("%p gives other bytes as base64", async (mode) => {
    ground.put("a.bin", Buffer.of(0, 255, 1));
    expect(await ground.run("read", { path: "a.bin", ...(mode === undefined ? {} : { mode }) })).toEqual({
      content: "AP8B",
      encoding: "base64",
      size: 3,
      mime: "application/octet-stream",
      etag: etagOfContent(Buffer.of(0, 255, 1)),
    });
  });

  test.each([
    [0, ""],
    [1, "YQ=="],
    [2, "YWE="],
    [3, "YWFh"],
  ])("bytes gives %d bytes of text as padded base64", async (length, content) => {
    ground.put("a.txt", filled(length));
    const read = await ground.run("read", { path: "a.txt", mode: "bytes" });
    const etag = etagOfContent(filled(length));
    expect(read).toEqual({ content, encoding: "base64", size: length, mime: "text/plain", etag });
  });

  test("never parses JSON unless told to", async () => {
    ground.put("a.json", '{"a":1}');
    expect(await ground.run("read", { path: "a.json" })).toEqual({
      content: '{"a":1}',
      encoding: "utf-8",
      size: 7,
      mime: "application/json",
      etag: etagOfContent('{"a":1}'),
    });
  });

  test("keep a byte order mark in text", async () => {
    ground.put("a", "\ufeffx");
    for (const mode of ["auto", "text"] as const) {
      expect(await ground.run("read", { path: "a", mode })).toMatchObject({ content: "\ufeffx", size: 4 });
    }
  });

  test("give an empty file as text", async () => {
    ground.put("empty");
    const empty = { content: "", encoding: "utf-8", size: 0, mime: "text/plain", etag: etagOfContent("") };
    expect(await ground.run("read", { path: "empty" })).toEqual(empty);
    expect(await ground.run("read", { path: "empty", mode: "text" })).toEqual(empty);
  });

  test.each([["yaml"], ["TEXT"], ["text "]])("are five, and %p is none of them", async (mode) => {
    expect(await ground.fail("read", { path: "a", mode })).toEqual({
      code: "INVALID_INPUT",
      message: `Unknown mode '${mode}'. Expected: auto, text, bytes, json, extract`,
      data: { pointer: "/mode", expected: "auto, text, bytes, json, extract" },
    });
  });

  test("are texts", async () => {
    expect((await ground.fail("read", { path: "a", mode: 1 })).message).toBe("'mode' must be a string");
  });
});

describe("what file:read takes for text", () => {
  const ground = useGround();
  const contents: readonly [string, Buffer, "utf-8" | "base64", boolean][] = [
    ["a NUL as byte 8,192", Buffer.concat([filled(8191), NUL, filled(9)]), "base64", true],
    ["a NUL as byte 8,193", Buffer.concat([filled(8192), NUL, filled(9)]), "utf-8", true],
    ["a NUL as its only byte", NUL, "base64", true],
    ["an invalid byte at the start", Buffer.concat([INVALID, filled(9)]), "base64", false],
    ["an invalid byte far behind", Buffer.concat([filled(100_000), INVALID]), "base64", false],
    ["a code point cut short at the end", Buffer.from("é😀").subarray(0, 5), "base64", false],
    ["an encoded surrogate", Buffer.of(0xed, 0xa0, 0x80), "base64", false],
    ["an overlong form", Buffer.of(0xc0, 0xaf), "base64", false],
    ["a code point beyond the last", Buffer.of(0xf4, 0x90, 0x80, 0x80), "base64", false],
    ["a continuation alone", Buffer.of(0x61, 0x80), "base64", false],
    ["the last code point", Buffer.from("\u{10ffff}"), "utf-8", true],
    ["a replacement character of its own", Buffer.from("\ufffd"), "utf-8", true],
    ["control characters", Buffer.from("\u0001\u001b[0m\u007f"), "utf-8", true],
  ];
  test.each(contents)("%s", async (_, bytes, encoding, isUtf8) => {
    ground.put("file", bytes);
    const content = bytes.toString(encoding === "base64" ? "base64" : "utf8");
    expect(await ground.run("read", { path: "file" })).toMatchObject({ content, encoding, size: bytes.length });
    // `text` asks for valid UTF-8 and no more.
    if (isUtf8) {
      const read = await ground.run("read", { path: "file", mode: "text" });
      expect(read).toMatchObject({ content: bytes.toString("utf8"), encoding: "utf-8" });
    } else {
      expect(await ground.fail("read", { path: "file", mode: "text" })).toEqual(
        failure("NOT_TEXT", "File is not valid UTF-8 text. Pass its encoding, such as latin1, or mode: bytes", "file"),
      );
    }
  });
});

describe("limit of file:read", () => {
  const ground = useGround({ limits: { maxReadBytes: 100 } });
  const OF_TEXT = "Use line/limit, tail, or file_grep";
  const OF_EITHER = `${OF_TEXT}; for other bytes offset and length`;
  const tooLarge = (size: number, advice = OF_EITHER) =>
    failure("TOO_LARGE", `File is too large to read in one call: ${size} bytes, limit 100. ${advice}`, "big", {
      size,
      limit: 100,
    });

  test.each([
    ["auto", OF_EITHER],
    ["text", OF_TEXT],
    ["bytes", "Use offset and length"],
  ] as const)("holds for %s, to the byte", async (mode, advice) => {
    ground.put("fits", filled(100));
    expect(await ground.run("read", { path: "fits", mode })).toMatchObject({ size: 100 });
    ground.put("big", filled(101));
    expect(await ground.fail("read", { path: "big", mode })).toEqual(tooLarge(101, advice));
  });

  test("holds for json, which has no ranges itself", async () => {
    ground.put("fits", `"${"a".repeat(98)}"`);
    expect(await ground.run("read", { path: "fits", mode: "json" })).toMatchObject({ size: 100 });
    ground.put("big", `"${"a".repeat(99)}"`);
    expect(await ground.fail("read", { path: "big", mode: "json" })).toEqual(
      tooLarge(101, "Use mode: text with line/limit, or file_grep"),
    );
  });

  test("is seen before anything is read", async () => {
    ground.put("big");
    truncateSync(join(ground.dir, "big"), 2 ** 43);
    expect(await ground.fail("read", { path: "big" })).toEqual(tooLarge(2 ** 43));
  });

  test("shortens a range, which is never too large", async () => {
    ground.put("big", filled(250));
    const read = await ground.run("read", { path: "big", offset: 10, length: 1_000_000 });
    expect(read).toMatchObject({ size: 250, offset: 10, length: 100, eof: false });
    expect(read.content).toHaveLength(100);
    expect(await ground.run("read", { path: "big", offset: 200 })).toMatchObject({ length: 50, eof: true });
  });
});

describe("a file whose size is not what it says", () => {
  /** A root on which every file claims to be empty, as those of the kernel do. */
  const claimingNothing = (content: string) =>
    dispatchOn({
      limits: { maxReadBytes: 100 },
      backend: {
        read(_path, plan) {
          const { offset, length } = plan(0);
          const bytes = Buffer.from(content).subarray(offset, offset + length);
          return { bytes, size: bytes.length === 0 ? 0 : offset + bytes.length };
        },
      },
    });

  test("is read to its end all the same", async () => {
    expect(await claimingNothing("content").call("read")).toEqual({
      content: "content",
      encoding: "utf-8",
      size: 7,
      mime: "text/plain",
      etag: etagOfContent("content"),
    });
    expect(await claimingNothing("[1]").call("read", { mode: "json" })).toMatchObject({ value: [1] });
    expect(await claimingNothing("a".repeat(100)).call("read")).toMatchObject({ size: 100 });
  });

  test("is refused when it turns out to be too large", async () => {
    expect(await failureOf(claimingNothing("a".repeat(1000)).call("read"))).toMatchObject({
      code: "TOO_LARGE",
      message:
        "File is too large to read in one call: 101 bytes, limit 100. Use line/limit or tail; for other bytes offset and length",
      data: { limit: 100 },
    });
  });
});

describe("file:read follows", () => {
  const ground = useGround();

  test("links that stay inside, relative and absolute", async () => {
    ground.put("dir/file", "content");
    symlinkSync("../dir/file", join(ground.dir, "dir/up"));
    symlinkSync(join(ground.dir, "dir"), join(ground.dir, "absolute"));
    for (const path of ["dir/up", "absolute/file", "/absolute//up"]) {
      expect((await ground.run("read", { path })).content).toBe("content");
    }
  });
});

describe("file:read is refused", () => {
  const ground = useGround();
  const dangling = "Path resolves through dangling symlink: dangling";
  const refused = [
    ["where nothing is", "none", failure("NOT_FOUND", "Not found: r:none", "none")],
    ["where no parent is", "none/x", failure("NOT_FOUND", "Not found: r:none/x", "none/x")],
    ["below a file", "file/x", failure("NOT_FOUND", "Not found: r:file/x", "file/x")],
    [
      "on a directory",
      "dir",
      failure("IS_A_DIRECTORY", "Not a regular file: dir. It is a directory: list it with file:list", "dir"),
    ],
    [
      "on the root",
      "/",
      failure("IS_A_DIRECTORY", "Not a regular file: /. It is a directory: list it with file:list", ""),
    ],
    ["on a FIFO, at once", "pipe", failure("NOT_A_FILE", "Not a regular file: pipe", "pipe")],
    ["on a link that leads out", "out", failure("SYMLINK_ESCAPE", "Path escapes root via symlink: out", "out")],
    ["on a link to nothing", "dangling", failure("DANGLING_SYMLINK", dangling, "dangling")],
    ["on a link to itself", "loop", failure("INVALID_PATH", "Invalid path 'loop': too many links", "loop")],
  ] as const;
  test.each(refused)("%s", async (_, path, expected) => {
    ground.put("file");
    ground.mkdir("dir");
    execFileSync("mkfifo", [join(ground.dir, "pipe")]);
    symlinkSync("/etc/hostname", join(ground.dir, "out"));
    symlinkSync("nothing", join(ground.dir, "dangling"));
    symlinkSync("loop", join(ground.dir, "loop"));
    expect(await ground.fail("read", { path })).toEqual(expected);
  });

  test("where the process may not read", async () => {
    ground.put("closed", "x");
    chmodSync(join(ground.dir, "closed"), 0o200);
    const failed = await asNobody(ground.dir, () => ground.fail("read", { path: "closed" }));
    expect(failed).toEqual(failure("PERMISSION_DENIED", "Permission denied: r:closed", "closed"));
  });
});
