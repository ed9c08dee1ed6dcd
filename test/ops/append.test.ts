import { chmodSync, linkSync, readFileSync, readlinkSync, statSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { afterEach, describe, expect, jest, test } from "@jest/globals";
import { Sys } from "../../src/jail/sys.js";
import { contentSuite } from "./content/content-suite.js";
import { failure, useGround } from "./ground.js";
import { asNobody } from "./rights.js";

contentSuite("append");

describe("file:append", () => {
  const ground = useGround();
  afterEach(() => {
    jest.restoreAllMocks();
  });

  test("makes a file, then adds to its end", async () => {
    expect(await ground.run("append", { path: "a", content: "one\n" })).toMatchObject({ appended: 4, created: true });
    expect(await ground.run("append", { path: "a", value: [2] })).toMatchObject({ appended: 3, created: false });
    expect(await ground.run("append", { path: "a", bytes: "/w==" })).toMatchObject({ appended: 1, created: false });
    expect(ground.get("a")).toEqual(Buffer.concat([Buffer.from("one\n[2]"), Buffer.of(0xff)]));
  });

  test("adds in place: it stays the same file", async () => {
    ground.put("a", "old");
    const before = statSync(join(ground.dir, "a")).ino;
    await ground.run("append", { path: "a", content: "new" });
    expect(statSync(join(ground.dir, "a")).ino).toBe(before);
  });

  test("makes missing directories where that is asked for", async () => {
    expect(await ground.run("append", { path: "a/b/c", content: "x", parents: true })).toMatchObject({ created: true });
    expect(await ground.run("append", { path: "a/b/c", content: "y", parents: true })).toMatchObject({
      created: false,
    });
    expect(ground.get("a/b/c").toString()).toBe("xy");
  });

  test("adds all of those that make the same directories at once", async () => {
    const letters = [..."abcdefghijklmnop"];
    const all = letters.map((content) => ground.run("append", { path: "n/e/w", content, parents: true }));
    expect((await Promise.all(all)).filter(({ created }) => created)).toHaveLength(1);
    expect([...ground.get("n/e/w").toString()].sort()).toEqual(letters);
  });

  test.each(["n/w", "n/e/w"])("adds to %s, which others make together with its directories", async (path) => {
    const { mkdir } = Sys.prototype;
    jest.spyOn(Sys.prototype, "mkdir").mockImplementation(function* (this: Sys, ...given) {
      if (String(given[0]).endsWith("/n")) ground.put(path, "theirs ");
      return yield* mkdir.apply(this, given);
    });
    expect(await ground.run("append", { path, content: "ours", parents: true })).toMatchObject({ created: false });
    expect(ground.get(path).toString()).toBe("theirs ours");
    expect(ground.staged()).toEqual([]);
  });

  test("makes no directory for what it refuses, nor where the file cannot be made", async () => {
    const input = { path: "n/e/w", content: "x", parents: true };
    expect(await ground.fail("append", { ...input, expectedSize: 7 })).toMatchObject({ code: "CONFLICT" });
    jest.spyOn(Sys.prototype, "link").mockImplementation(function* () {
      throw Object.assign(new Error("EIO"), { code: "EIO", syscall: "link" });
    });
    expect(await ground.fail("append", input)).toMatchObject({ code: "IO_ERROR" });
    expect(ground.names()).toEqual([]);
  });

  test("adds to what a link leads to, and leaves the link", async () => {
    ground.put("dir/file", "old ");
    symlinkSync("dir/file", join(ground.dir, "link"));
    await ground.run("append", { path: "link", content: "new" });
    expect(ground.get("dir/file").toString()).toBe("old new");
    expect(readlinkSync(join(ground.dir, "link"))).toBe("dir/file");
  });

  test("of many at once, through any spelling of the path, loses and tears nothing", async () => {
    ground.mkdir("dir");
    symlinkSync("dir", join(ground.dir, "link"));
    const lines = Array.from({ length: 60 }, (_, index) => `line ${index}\n`);
    const paths = ["dir/log", "link/log", "dir/../dir/./log"];
    await Promise.all(lines.map((content, index) => ground.run("append", { path: paths[index % 3] ?? "", content })));
    const written = ground.get("dir/log").toString().match(/.*\n/g);
    expect(new Set(written)).toEqual(new Set(lines));
    expect(written).toHaveLength(60);
  });

  test("leaves the other names of a hard-linked file alone", async () => {
    ground.put("a", "old ");
    linkSync(join(ground.dir, "a"), join(ground.outside, "b"));
    expect(await ground.run("append", { path: "a", content: "new" })).toMatchObject({ appended: 3, created: false });
    expect(ground.get("a").toString()).toBe("old new");
    expect(readFileSync(join(ground.outside, "b"), "utf8")).toBe("old ");
  });

  test("adds nothing where it cannot be read how the file begins", async () => {
    const content = Buffer.from("\ufeffold", "utf16le");
    ground.put("a", content);
    jest.spyOn(Sys.prototype, "read").mockImplementation(function* () {
      throw Object.assign(new Error("EIO"), { code: "EIO", syscall: "read" });
    });
    expect(await ground.fail("append", { path: "a", content: "new" })).toMatchObject({ code: "IO_ERROR" });
    expect(ground.get("a")).toEqual(content);
  });

  test("is refused where the process may not write", async () => {
    ground.put("a", "old");
    chmodSync(join(ground.dir, "a"), 0o444);
    const failed = await asNobody(ground.dir, () => ground.fail("append", { path: "a", content: "x" }));
    expect(failed).toEqual(failure("PERMISSION_DENIED", "Permission denied: r:a", "a"));
    expect(ground.get("a").toString()).toBe("old");
  });
});

describe("file:append to a hard-linked file over the limit", () => {
  const ground = useGround({ limits: { maxWriteBytes: 4 } });

  test("is refused, and changes nothing", async () => {
    ground.put("a", "12345");
    linkSync(join(ground.dir, "a"), join(ground.outside, "b"));
    const expected = failure("HARD_LINKED", "File has other hard links: a", "a");
    expect(await ground.fail("append", { path: "a", content: "x" })).toEqual(expected);
    expect(ground.get("a").toString()).toBe("12345");
  });
});

describe("file:append where the root allows hard links", () => {
  const ground = useGround({ limits: { maxWriteBytes: 4 }, root: { hardLinks: true } });

  test("adds in place, under every name", async () => {
    ground.put("a", "12345");
    linkSync(join(ground.dir, "a"), join(ground.dir, "b"));
    await ground.run("append", { path: "a", content: "x" });
    expect(ground.get("b").toString()).toBe("12345x");
  });
});
