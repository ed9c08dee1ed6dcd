import { execFileSync } from "node:child_process";
import { chmodSync, linkSync, lstatSync, mkdirSync, readlinkSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "@jest/globals";
import { entriesBelow, failure, useGround } from "./ground.js";
import { asNobody } from "./rights.js";

const ground = useGround({ roots: { other: { temp: true }, fixed: { temp: true, readOnly: true } } });
const done = { moved: true, overwritten: false, atomic: true };
const at = (path: string) => join(ground.dir, path);
/** Everything below the root, with what it is. */
const tree = (path = ""): string[] => entriesBelow(ground.dir, path);

describe("file:move", () => {
  test("gives a file another name, with its mode bits, times and inode", async () => {
    ground.put("a/file", "content");
    ground.mkdir("b");
    chmodSync(at("a/file"), 0o741);
    const before = lstatSync(at("a/file"));
    expect(await ground.run("move", { path: "a/file", to: "b/new" })).toEqual({ path: "a/file", to: "b/new", ...done });
    expect(ground.get("b/new").toString()).toBe("content");
    expect(lstatSync(at("b/new"))).toMatchObject({
      ino: before.ino,
      mode: before.mode,
      mtimeMs: before.mtimeMs,
      nlink: 1,
    });
    expect(ground.names("a")).toEqual([]);
    expect(ground.staged()).toEqual([]);
  });

  test("takes a directory with all in it, links and special files too", async () => {
    ground.put("a/b/file", "content");
    symlinkSync("nowhere", at("a/link"));
    execFileSync("mkfifo", [at("a/pipe")]);
    expect(await ground.run("move", { path: "a", to: "c" })).toEqual({ path: "a", to: "c", ...done });
    expect(tree()).toEqual(["c/", "c/b/", "c/b/file", "c/link", "c/pipe"]);
  });

  test("takes a link itself, wherever it leads", async () => {
    symlinkSync(ground.outside, at("out"));
    expect(await ground.run("move", { path: "out", to: "new" })).toMatchObject(done);
    expect(readlinkSync(at("new"))).toBe(ground.outside);
    expect(ground.names()).toEqual(["new"]);
  });

  test.each(["file", "directory", "link", "link to nothing", "pipe"])(
    "leaves alone a %s that has the name",
    async (kind) => {
      for (const source of ["from-file", "from-dir/inner"]) ground.put(source, "mine");
      if (kind === "file") ground.put("to", "theirs");
      if (kind === "directory") ground.mkdir("to");
      if (kind === "link") symlinkSync("from-file", at("to"));
      if (kind === "link to nothing") symlinkSync("nothing", at("to"));
      if (kind === "pipe") execFileSync("mkfifo", [at("to")]);
      const before = tree();
      for (const path of ["from-file", "from-dir"]) {
        expect(await ground.fail("move", { path, to: "to" })).toEqual(
          failure(
            "ALREADY_EXISTS",
            "Already exists: to. 'to' is the whole new path, name included; overwrite: true replaces a file",
            "to",
          ),
        );
      }
      expect(tree()).toEqual(before);
    },
  );

  test("replaces a file by a file with overwrite, and nothing else", async () => {
    ground.put("a", "new");
    ground.put("b", "old");
    ground.put("dir/inner");
    ground.mkdir("empty");
    symlinkSync("b", at("link"));
    expect(await ground.fail("move", { path: "dir", to: "b", overwrite: true })).toMatchObject({
      code: "ALREADY_EXISTS",
    });
    for (const to of ["dir", "empty"]) {
      expect(await ground.fail("move", { path: "a", to, overwrite: true })).toMatchObject({ code: "ALREADY_EXISTS" });
      expect(await ground.fail("move", { path: "dir", to: "empty", overwrite: true })).toMatchObject({
        code: "ALREADY_EXISTS",
      });
    }
    expect(await ground.fail("move", { path: "a", to: "link", overwrite: true })).toMatchObject({ code: "NOT_A_FILE" });
    expect(await ground.fail("move", { path: "link", to: "b", overwrite: true })).toMatchObject({
      code: "ALREADY_EXISTS",
    });
    expect(await ground.run("move", { path: "a", to: "b", overwrite: true })).toMatchObject({
      overwritten: true,
      atomic: true,
    });
    expect(ground.get("b").toString()).toBe("new");
    expect(tree()).toEqual(["b", "dir/", "dir/inner", "empty/", "link"]);
  });

  test("removes one name when both are of one file", async () => {
    ground.put("a", "content");
    linkSync(at("a"), at("b"));
    expect(await ground.run("move", { path: "a", to: "b", overwrite: true })).toMatchObject({ overwritten: true });
    expect(ground.names()).toEqual(["b"]);
    expect(ground.get("b").toString()).toBe("content");
  });

  test("does nothing where the file is already, by any path", async () => {
    ground.put("dir/file", "content");
    symlinkSync("dir", at("same"));
    for (const to of ["dir/file", "dir/./file", "same/file"]) {
      for (const overwrite of [false, true]) {
        expect(await ground.run("move", { path: "dir/file", to, overwrite })).toMatchObject(done);
      }
    }
    expect(ground.get("dir/file").toString()).toBe("content");
    expect(await ground.fail("move", { path: "none", to: "none" })).toMatchObject({ code: "NOT_FOUND" });
  });

  test("renames where only the case differs", async () => {
    ground.put("File", "content");
    expect(await ground.run("move", { path: "File", to: "file" })).toMatchObject(done);
    expect(ground.names()).toEqual(["file"]);
  });

  test("refuses the root, and a directory into itself by any way", async () => {
    ground.put("dir/sub/file");
    symlinkSync("dir/sub", at("inside"));
    for (const [path, to] of [
      ["", "x"],
      ["dir", "dir/new"],
      ["dir", "dir/sub/deep/new"],
      ["dir", "inside/new"],
    ] as const) {
      expect(await ground.fail("move", { path, to, parents: true })).toMatchObject({ code: "INVALID_INPUT" });
    }
    expect(await ground.fail("move", { path: "dir", to: "" })).toMatchObject({ code: "ALREADY_EXISTS" });
    expect(tree()).toEqual(["dir/", "dir/sub/", "dir/sub/file", "inside"]);
  });

  test("makes parents only if told so, and not for what is not there", async () => {
    ground.put("a", "content");
    expect(await ground.fail("move", { path: "a", to: "x/y/z" })).toMatchObject({
      code: "PARENT_MISSING",
      data: { root: "r", path: "x/y" },
    });
    expect(await ground.fail("move", { path: "none", to: "x/y/z", parents: true })).toMatchObject({
      code: "NOT_FOUND",
    });
    const ifMatch = "aaaaaaaa";
    expect(await ground.fail("move", { path: "a", to: "x/y/z", parents: true, ifMatch })).toMatchObject({
      code: "CONFLICT",
    });
    expect(tree()).toEqual(["a"]);
    expect(await ground.run("move", { path: "a", to: "x/y/z", parents: true })).toMatchObject(done);
    expect(tree()).toEqual(["x/", "x/y/", "x/y/z"]);
  });

  test("goes on only with what is expected at both ends", async () => {
    ground.put("a", "source");
    ground.put("b", "target");
    const etag = async (path: string) => {
      const { createHash } = await import("node:crypto");
      return `sha256:${createHash("sha256").update(ground.get(path)).digest("hex")}`;
    };
    const [a, b] = [await etag("a"), await etag("b")];
    expect(await ground.fail("move", { path: "a", to: "b", overwrite: true, ifMatch: b })).toMatchObject({
      code: "CONFLICT",
      data: { path: "a", expected: b },
    });
    expect(await ground.fail("move", { path: "a", to: "b", overwrite: true, ifMatchTo: a })).toMatchObject({
      code: "CONFLICT",
      data: { path: "b", expected: a },
    });
    expect(await ground.fail("move", { path: "a", to: "c", overwrite: true, ifMatchTo: a })).toMatchObject({
      code: "CONFLICT",
      data: { path: "c", current: null },
    });
    expect(await ground.fail("move", { path: "a", to: "b", ifNoneMatchTo: "*" })).toMatchObject({
      code: "CONFLICT",
      data: { path: "b", expected: "*" },
    });
    expect(await ground.fail("move", { path: "a", to: "b", ifMatchTo: b })).toMatchObject({ code: "INVALID_INPUT" });
    expect(await ground.fail("move", { path: "a", to: "b", ifMatch: "x" })).toMatchObject({
      code: "INVALID_INPUT",
      data: { pointer: "/ifMatch" },
    });
    expect(tree()).toEqual(["a", "b"]);
    const moved = await ground.run("move", { path: "a", to: "b", overwrite: true, ifMatch: a, ifMatchTo: b });
    expect(moved).toMatchObject({ overwritten: true, etag: expect.stringMatching(/^[a-z2-7]{8}$/) });
    expect(await ground.run("move", { path: "b", to: "c", ifNoneMatchTo: "*" })).toMatchObject(done);
    expect(tree()).toEqual(["c"]);
  });

  test("needs reading and deleting there, and writing here, each on its own, before it looks", async () => {
    ground.put("a/file");
    ground.mkdir("b");
    const caps = (from: string[], to: string[]) => ({
      caps: [...from.map((can) => ({ with: "file://r/a", can })), ...to.map((can) => ({ with: "file://r/b", can }))],
    });
    const input = { path: "a/file", to: "b/file" };
    for (const [from, to] of [
      [["crud/read"], ["crud"]],
      [["crud/delete"], ["crud"]],
      [
        ["crud/read", "crud/delete"],
        ["crud/read", "crud/delete"],
      ],
    ] as const) {
      const context = caps([...from], [...to]);
      for (const path of ["a/file", "a/none"]) {
        expect(await ground.fail("move", { ...input, path }, context)).toMatchObject({ code: "CAPABILITY_DENIED" });
      }
    }
    expect(await ground.run("move", input, caps(["crud/read", "crud/delete"], ["crud/write"]))).toMatchObject(done);
    expect(await ground.fail("move", { path: "b/file", to: "x", toRoot: "fixed" })).toMatchObject({
      code: "READ_ONLY_ROOT",
    });
    expect(await ground.fail("move", { root: "fixed", path: "x", to: "b/x", toRoot: "r" })).toMatchObject({
      code: "READ_ONLY_ROOT",
    });
  });

  test("between roots copies, compares and removes", async () => {
    ground.put("dir/sub/file", "content");
    chmodSync(at("dir/sub"), 0o750);
    ground.mkdir("dir/empty");
    expect(await ground.run("move", { path: "dir", to: "moved", toRoot: "other" })).toEqual({
      ...{ path: "dir", to: "moved", moved: true, overwritten: false, files: 1, atomic: false },
    });
    expect(tree()).toEqual([]);
    const back = { root: "other", path: "moved", to: "back", toRoot: "r" };
    expect(await ground.adapter.invoke("file:move", back)).toMatchObject({ files: 1, atomic: false });
    expect(tree()).toEqual(["back/", "back/empty/", "back/sub/", "back/sub/file"]);
    expect(lstatSync(at("back/sub")).mode & 0o777).toBe(0o750);
    expect(ground.get("back/sub/file").toString()).toBe("content");
    const listed = await ground.adapter.invoke("file:list", { root: "other" });
    expect(listed.entries).toEqual([]);
  });

  test("between roots refuses what a copy would lose, and leaves nothing there", async () => {
    ground.put("dir/file");
    symlinkSync("file", at("dir/link"));
    expect(await ground.fail("move", { path: "dir", to: "x", toRoot: "other" })).toMatchObject({
      code: "NOT_SUPPORTED",
    });
    expect((await ground.adapter.invoke("file:list", { root: "other" })).entries).toEqual([]);
    expect(tree()).toEqual(["dir/", "dir/file", "dir/link"]);
  });

  test("as the system refuses it", async () => {
    ground.put("a/file");
    ground.mkdir("open");
    chmodSync(at("a"), 0o777);
    mkdirSync(at("closed"), { mode: 0o555 });
    await asNobody(ground.dir, async () => {
      expect(await ground.fail("move", { path: "a/file", to: "closed/file" })).toMatchObject({
        code: "PERMISSION_DENIED",
      });
      expect(await ground.fail("move", { path: "a/file", to: "closed/new/file", parents: true })).toMatchObject({
        code: "PERMISSION_DENIED",
      });
    });
    expect(tree()).toEqual(["a/", "a/file", "closed/", "open/"]);
  });
});
