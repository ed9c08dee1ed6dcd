import { execFileSync } from "node:child_process";
import { createHash, randomBytes } from "node:crypto";
import {
  chmodSync,
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  statSync,
  symlinkSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { describe, expect, test } from "@jest/globals";
import { createFileAdapter } from "../../src/index.js";
import { entriesBelow, failure, useGround } from "./ground.js";
import { asNobody } from "./rights.js";

const ground = useGround({
  root: { deny: [".env", "guarded/secret"] },
  roots: { other: { temp: true, deny: ["*.key"] } },
});
const nested = useGround({ roots: { outer: { path: ".." } } });
const at = (path: string) => join(ground.dir, path);
const tree = (path = ""): string[] => entriesBelow(ground.dir, path);
const hashOf = (path: string) => `sha256:${createHash("sha256").update(ground.get(path)).digest("hex")}`;

test("a directory is not copied into a root that lies in it", async () => {
  nested.put("dir/a", "1");
  const input = { root: "outer", path: "", to: "new", toRoot: "r", recursive: true };
  const refused = { code: "INVALID_INPUT", message: "'to' lies inside 'path'" };
  expect(await nested.fail("copy", input)).toMatchObject(refused);
  expect(await nested.fail("move", { root: "outer", path: basename(nested.dir), to: "x", toRoot: "r" })).toMatchObject(
    refused,
  );
  expect(entriesBelow(nested.dir, "")).toEqual(["dir/", "dir/a"]);
});

test("nor is one by another spelling, where names fold", async () => {
  const top = mkdtempSync(join(tmpdir(), "venue-files-test-"));
  mkdirSync(join(top, "dir/deep"), { recursive: true });
  const roots = { outer: top, inner: join(top, "dir/deep") };
  const adapter = await createFileAdapter({ roots });
  const input = { root: "outer", path: "DIR", to: "new", toRoot: "inner" };
  const code = existsSync(join(top, "DIR")) ? "INVALID_INPUT" : "NOT_FOUND";
  await expect(adapter.invoke("file:copy", { ...input, recursive: true })).rejects.toMatchObject({ code });
  await expect(adapter.invoke("file:move", input)).rejects.toMatchObject({ code });
  expect(readdirSync(join(top, "dir/deep"))).not.toContain("new");
  await adapter.close();
  rmSync(top, { recursive: true });
});

describe("file:copy", () => {
  test("makes a second file with the same bytes and mode bits", async () => {
    ground.put("a", "content");
    chmodSync(at("a"), 0o750);
    expect(await ground.run("copy", { path: "a", to: "b" })).toEqual({
      ...{ path: "a", to: "b", copied: true, overwritten: false, files: 1, atomic: true },
      etag: expect.stringMatching(/^[a-z2-7]{8}$/),
    });
    expect(ground.get("b").toString()).toBe("content");
    expect(statSync(at("b")).mode & 0o7777).toBe(0o750);
    expect(statSync(at("b")).ino).not.toBe(statSync(at("a")).ino);
    expect(ground.staged()).toEqual([]);
  });

  test.each([0, 1, 65_536, 65_537, 3_000_000])("keeps every byte of %d", async (size) => {
    ground.put("a", randomBytes(size));
    await ground.run("copy", { path: "a", to: "b" });
    expect(ground.get("b").equals(ground.get("a"))).toBe(true);
  });

  test("follows a link to what it copies, in the path only", async () => {
    ground.put("file", "content");
    symlinkSync("file", at("link"));
    await ground.run("copy", { path: "link", to: "b" });
    expect(lstatSync(at("b")).isFile()).toBe(true);
    expect(ground.get("b").toString()).toBe("content");
    symlinkSync(ground.outside, at("out"));
    expect(await ground.fail("copy", { path: "out", to: "c", recursive: true })).toMatchObject({
      code: "SYMLINK_ESCAPE",
    });
    expect(await ground.fail("copy", { path: "file", to: "out/c" })).toMatchObject({ code: "SYMLINK_ESCAPE" });
  });

  test("copies a directory with all in it but links, special files and what is denied, which it counts", async () => {
    ground.put("dir/sub/file", "content");
    ground.put("dir/.env", "KEY=1");
    ground.put("dir/secret", "denied only there");
    ground.mkdir("dir/empty");
    chmodSync(at("dir/empty"), 0o555);
    chmodSync(at("dir/sub"), 0o500);
    symlinkSync("sub", at("dir/link"));
    execFileSync("mkfifo", [at("dir/pipe")]);
    expect(await ground.fail("copy", { path: "dir", to: "guarded" })).toEqual(
      failure("IS_A_DIRECTORY", "Not a regular file: dir. Pass recursive: true", "dir"),
    );
    expect(await ground.run("copy", { path: "dir", to: "guarded", recursive: true })).toEqual({
      ...{ path: "dir", to: "guarded", copied: true, overwritten: false, files: 1, atomic: true },
      hidden: { symlinks: 1, policy: 2, unreadable: 1 },
    });
    expect(tree("guarded")).toEqual(["guarded/empty/", "guarded/sub/", "guarded/sub/file"]);
    expect(statSync(at("guarded/empty")).mode & 0o777).toBe(0o555);
    expect(statSync(at("guarded/sub")).mode & 0o777).toBe(0o500);
    expect(
      await ground.adapter.invoke("file:copy", { root: "r", path: "dir", to: "x", toRoot: "other", recursive: true }),
    ).toMatchObject({ files: 2, hidden: { policy: 1 } });
  });

  test.each(["file", "directory", "link"])("leaves alone a %s that has the name", async (kind) => {
    ground.put("a", "mine");
    ground.put("dir/b", "mine");
    if (kind === "file") ground.put("to", "theirs");
    if (kind === "directory") ground.mkdir("to");
    if (kind === "link") symlinkSync("a", at("to"));
    const before = tree();
    for (const path of ["a", "dir"]) {
      const input = { path, to: "to", recursive: true };
      expect(await ground.fail("copy", input)).toEqual(
        failure(
          "ALREADY_EXISTS",
          "Already exists: to. 'to' is the whole new path, name included; overwrite: true replaces a file",
          "to",
        ),
      );
    }
    expect(await ground.fail("copy", { path: "dir", to: "to", recursive: true, overwrite: true })).toMatchObject({
      code: "ALREADY_EXISTS",
    });
    expect(tree()).toEqual(before);
    expect(ground.staged()).toEqual([]);
  });

  test("replaces a file by a file with overwrite, and a hard link's one name", async () => {
    ground.put("a", "new");
    ground.put("b", "old");
    execFileSync("ln", [at("b"), at("same")]);
    expect(await ground.run("copy", { path: "a", to: "b", overwrite: true })).toMatchObject({ overwritten: true });
    expect([ground.get("b"), ground.get("same")].map(String)).toEqual(["new", "old"]);
  });

  test("goes on only with what is expected at both ends", async () => {
    ground.put("a", "source");
    ground.put("b", "target");
    const [a, b] = [hashOf("a"), hashOf("b")];
    const refused: readonly [object, object][] = [
      [
        { to: "c", ifMatch: b },
        { path: "a", expected: b },
      ],
      [
        { to: "b", overwrite: true, ifMatchTo: a },
        { path: "b", expected: a },
      ],
      [
        { to: "b", ifNoneMatchTo: "*" },
        { path: "b", expected: "*" },
      ],
      [{ to: "x/c", parents: true, ifMatch: b }, { path: "a" }],
    ];
    for (const [input, data] of refused) {
      expect(await ground.fail("copy", { path: "a", ...input })).toMatchObject({ code: "CONFLICT", data });
    }
    expect(tree()).toEqual(["a", "b"]);
    expect(await ground.run("copy", { path: "a", to: "b", overwrite: true, ifMatch: a, ifMatchTo: b })).toMatchObject({
      overwritten: true,
    });
    expect(await ground.run("copy", { path: "a", to: "x/c", parents: true, ifNoneMatchTo: "*" })).toMatchObject({
      files: 1,
    });
  });

  test("does nothing where the file is already, and refuses a directory into itself", async () => {
    ground.put("dir/file", "content");
    symlinkSync("dir", at("same"));
    expect(await ground.run("copy", { path: "dir/file", to: "dir//file" })).toMatchObject({ copied: true, files: 0 });
    for (const [path, to] of [
      ["dir", "dir/new"],
      ["", "new"],
      ["dir", "same/new"],
    ]) {
      expect(await ground.fail("copy", { path, to, recursive: true })).toMatchObject({ code: "INVALID_INPUT" });
    }
    expect(tree()).toEqual(["dir/", "dir/file", "same"]);
  });

  test("needs reading there and writing here, each on its own, before it looks", async () => {
    ground.put("a/file");
    ground.mkdir("b");
    const caps = (from: string, to: string) => ({
      caps: [
        { with: "file://r/a", can: from },
        { with: "file://r/b", can: to },
      ],
    });
    for (const path of ["a/file", "a/none"]) {
      const input = { path, to: "b/x" };
      expect(await ground.fail("copy", input, caps("crud/write", "crud"))).toMatchObject({ code: "CAPABILITY_DENIED" });
      expect(await ground.fail("copy", input, caps("crud", "crud/read"))).toMatchObject({ code: "CAPABILITY_DENIED" });
    }
    expect(await ground.run("copy", { path: "a/file", to: "b/x" }, caps("crud/read", "crud/write"))).toMatchObject({
      copied: true,
    });
  });

  test("leaves nothing behind when something in it cannot be read", async () => {
    ground.put("dir/a", "a");
    ground.put("dir/b", "b");
    chmodSync(at("dir/b"), 0o000);
    ground.mkdir("to");
    chmodSync(at("to"), 0o777);
    await asNobody(ground.dir, async () => {
      expect(await ground.fail("copy", { path: "dir", to: "to/dir", recursive: true })).toMatchObject({
        code: "PERMISSION_DENIED",
      });
    });
    expect(tree("to")).toEqual([]);
    expect(readdirSync(at("to"))).toEqual([]);
  });
});
