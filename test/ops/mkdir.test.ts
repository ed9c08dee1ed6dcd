import { execFileSync } from "node:child_process";
import { statSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "@jest/globals";
import { failure, useGround } from "./ground.js";
import { asNobody } from "./rights.js";

const ground = useGround({ publicCaps: [] });
const isDirectory = (path: string): boolean =>
  statSync(join(ground.dir, path), { throwIfNoEntry: false })?.isDirectory() ?? false;

describe("file:mkdir", () => {
  test("makes a directory and gives its canonical path", async () => {
    ground.mkdir("a");
    expect(await ground.run("mkdir", { path: "/a//./x/../new dir/" })).toEqual({ created: true, path: "a/new dir" });
    expect(isDirectory("a/new dir")).toBe(true);
  });

  test.each([
    ["a directory", "dir", "dir"],
    ["a directory, asked for with parents", "dir", "dir"],
    ["a link to a directory", "link", "link"],
    ["the root", "", ""],
    ["the root", "/", ""],
  ])("leaves what is there: %s", async (why, path, canonical) => {
    ground.put("dir/inner");
    symlinkSync("dir", join(ground.dir, "link"));
    const parents = why.endsWith("parents");
    expect(await ground.run("mkdir", { path, parents })).toEqual({ created: false, path: canonical });
    expect(ground.names("dir")).toEqual(["inner"]);
  });

  test("makes the directories above it where that is asked for", async () => {
    expect(await ground.run("mkdir", { path: "a/b/c", parents: true })).toEqual({ created: true, path: "a/b/c" });
    expect(await ground.run("mkdir", { path: "a/b/d/e", parents: true })).toEqual({ created: true, path: "a/b/d/e" });
    expect(isDirectory("a/b/c") && isDirectory("a/b/d/e")).toBe(true);
  });

  test("makes it behind a link that stays inside", async () => {
    ground.mkdir("dir");
    symlinkSync(join(ground.dir, "dir"), join(ground.dir, "link"));
    expect(await ground.run("mkdir", { path: "link/new" })).toEqual({ created: true, path: "link/new" });
    expect(isDirectory("dir/new")).toBe(true);
  });

  test("is created once by callers at the same time", async () => {
    const made = await Promise.all(
      Array.from({ length: 8 }, () => ground.run("mkdir", { path: "a/b", parents: true })),
    );
    expect(made.filter(({ created }) => created)).toHaveLength(1);
  });
});

describe("file:mkdir is refused, and makes nothing", () => {
  const refused = [
    [
      "where the parent is missing",
      "a/b/c",
      false,
      failure("PARENT_MISSING", "Parent directory does not exist: a/b. Pass parents: true or call file:mkdir", "a/b"),
    ],
    [
      "where a file has the name",
      "file",
      true,
      failure("EXISTS_NOT_DIRECTORY", "Path exists and is not a directory: file", "file"),
    ],
    [
      "where a link to a file has the name",
      "to-file",
      true,
      failure("EXISTS_NOT_DIRECTORY", "Path exists and is not a directory: to-file", "to-file"),
    ],
    [
      "below a file",
      "file/x",
      true,
      failure("NOT_A_DIRECTORY", "Not a directory: file. Read it with file:read, or choose another path", "file"),
    ],
    [
      "further below a file",
      "file/x/y",
      true,
      failure("NOT_A_DIRECTORY", "Not a directory: file. Read it with file:read, or choose another path", "file"),
    ],
    [
      "on a link to nothing",
      "dangling",
      true,
      failure("DANGLING_SYMLINK", "Path resolves through dangling symlink: dangling", "dangling"),
    ],
    [
      "below a link that leads out",
      "out/x",
      true,
      failure("SYMLINK_ESCAPE", "Path escapes root via symlink: out/x", "out/x"),
    ],
    ["outside", "../x", true, failure("PATH_ESCAPES_ROOT", "Path escapes root 'r': ../x", "../x")],
    [
      "by a reserved name",
      "a/.venue-files-x",
      true,
      failure("INVALID_PATH", "Invalid path 'a/.venue-files-x': reserved name", "a/.venue-files-x"),
    ],
  ] as const;
  test.each(refused)("%s", async (_, path, parents, expected) => {
    ground.put("file");
    symlinkSync("file", join(ground.dir, "to-file"));
    symlinkSync("nothing", join(ground.dir, "dangling"));
    symlinkSync(ground.outside, join(ground.dir, "out"));
    expect(await ground.fail("mkdir", { path, parents })).toEqual(expected);
    expect(ground.names()).toEqual(["dangling", "file", "out", "to-file"]);
    expect(execFileSync("ls", ["-A", ground.outside], { encoding: "utf8" })).toBe("");
  });

  test("where a parent to be made is not granted, which it names", async () => {
    const caps = [
      { with: "file://r/a/b", can: "crud" },
      { with: "file://r/x", can: "crud/read" },
    ];
    const failed = await ground.fail("mkdir", { path: "a/b/c", parents: true }, { caps });
    expect(failed.code).toBe("CAPABILITY_DENIED");
    expect(failed.data["required"]).toEqual({ with: "file://r/a", can: "crud/write" });
    expect(ground.names()).toEqual([]);
    ground.mkdir("a");
    expect(await ground.run("mkdir", { path: "a/b/c", parents: true }, { caps })).toMatchObject({ created: true });
  });

  test("where the process may not write", async () => {
    const failed = await asNobody(ground.dir, () => ground.fail("mkdir", { path: "x" }));
    expect(failed).toEqual(failure("PERMISSION_DENIED", "Permission denied: r:x", "x"));
  });

  test.each([["true"], [1]])("when parents is %p", async (parents) => {
    expect(await ground.fail("mkdir", { path: "a/b", parents })).toEqual({
      code: "INVALID_INPUT",
      message: "'parents' must be a boolean",
      data: { pointer: "/parents", expected: "boolean" },
    });
    expect(ground.names()).toEqual([]);
  });
});
