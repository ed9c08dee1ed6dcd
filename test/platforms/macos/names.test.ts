/** @jest-environment ./test/platforms/macos/environment.mjs */
// Names that macOS takes for one: in another case, or composed otherwise.
import "./as-macos.js";
import fs, { existsSync, lstatSync, readFileSync, readlinkSync, renameSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, jest, test } from "@jest/globals";
import { useGround } from "../../ops/ground.js";

const NFC = "Caf\u00e9.md";
const NFD = "Cafe\u0301.md";
const SPELLINGS = [NFC, NFD, NFC.toUpperCase(), NFD.toLowerCase()];

describe("a file that is stored composed otherwise,", () => {
  const ground = useGround({ journal: true });
  const { run, fail } = ground;

  test.each(SPELLINGS)("is one file for every operation, by %j", async (path) => {
    ground.put(NFD, "one\ntwo\n");
    const read = await run("read", { path });
    expect(read).toMatchObject({ content: "one\ntwo\n" });
    const { etag } = read as { etag: string };
    expect(await run("stat", { path })).toMatchObject({ type: "file", size: 8 });
    expect(await run("hash", { path })).toEqual({ ...(await run("hash", { path: NFD })), path });
    await run("edit", { path, oldText: "one", newText: "1", ifMatch: etag });
    expect(await fail("write", { path, content: "x", ifMatch: etag })).toMatchObject({ code: "CONFLICT" });
    await run("append", { path, content: "three\n" });
    await run("patch", { patch: `*** Begin Patch\n*** Update File: ${path}\n@@\n-two\n+2\n*** End Patch\n` });
    expect(ground.names()).toEqual([NFD]);
    expect(ground.get(NFD).toString()).toBe("1\n2\nthree\n");
    expect(await fail("write", { path, content: "x", expected: "nothing" })).toMatchObject({ code: "INVALID_INPUT" });
    await run("copy", { path, to: "copy.md" });
    await run("write", { path, content: "whole\n" });
    expect(ground.names().sort()).toEqual([NFD, "copy.md"].sort());
    await run("delete", { path });
    expect(ground.names()).toEqual(["copy.md"]);
    expect((await run("trash", {})).entries.map((entry) => entry.path)).toEqual([NFD]);
    await run("undo", { last: 1 });
    expect(ground.get(NFD).toString()).toBe("whole\n");
    expect((await run("history", { path: NFD })).entries.length).toBeGreaterThan(4);
  });

  test.each(SPELLINGS)("is not overwritten by a move or a copy to %j", async (to) => {
    ground.put(NFD, "kept");
    ground.put("other.md", "other");
    for (const name of ["move", "copy"])
      expect(await fail(name, { path: "other.md", to })).toMatchObject({ code: "ALREADY_EXISTS" });
    expect(ground.get(NFD).toString()).toBe("kept");
    await run("move", { path: "other.md", to, overwrite: true });
    expect(ground.names()).toHaveLength(1);
    expect(ground.get(to).toString()).toBe("other");
  });

  test.each(["**/Caf\u00e9.md", "**/Cafe\u0301.md", "**/Caf\u00e9*", "Dossi\u00e9s/*", "Dossie\u0301s/**/*.md"])(
    "is found by the glob %j",
    async (pattern) => {
      const path = `Dossie\u0301s/${NFD}`;
      ground.put(path, "needle\n");
      ground.put("Cafes/other.md", "needle\n");
      expect((await run("glob", { pattern })).paths).toEqual([path]);
      const { matches } = await run("grep", { pattern: "needle", glob: pattern });
      expect(matches?.map((match) => match.path)).toEqual([path]);
      expect((await run("glob", { pattern: "**/*.md", exclude: [pattern] })).paths).toEqual(["Cafes/other.md"]);
    },
  );

  test.each(["Dossi\u00e9s", "Dossie\u0301s", "DOSSI\u00c9S"])(
    "is listed in the folder %j as it is stored",
    async (path) => {
      ground.put(`Dossi\u00e9s/${NFD}`, "needle\n");
      expect((await run("list", { path })).entries.map(({ name }) => name)).toEqual([NFD]);
      expect((await run("tree", { path })).tree).toContain(NFD);
      expect((await run("grep", { path, pattern: "needle" })).matches).toHaveLength(1);
      await run("mkdir", { path, parents: true });
      await run("write", { path: `${path}/new/file`, content: "x", parents: true });
      expect(ground.names()).toEqual(["Dossi\u00e9s"]);
    },
  );
});

describe("a new spelling of a name", () => {
  const ground = useGround({ journal: true });
  const { run, fail } = ground;
  const CASES: [string, string][] = [
    ["a.txt", "A.txt"],
    [NFD, NFC],
    ["dir", "DIR"],
  ];
  const put = (path: string) => (path === "dir" ? ground.put("dir/below.txt", "x") : ground.put(path, "x"));

  test.each(CASES)("is given to %j as %j, and taken back by an undo", async (path, to) => {
    put(path);
    const { ino } = lstatSync(join(ground.dir, path));
    expect(await run("move", { path, to })).toMatchObject({ moved: true });
    expect(ground.names()).toEqual([to]);
    expect(lstatSync(join(ground.dir, to)).ino).toBe(ino);
    await run("undo", { last: 1 });
    expect(ground.names()).toEqual([path]);
    expect(lstatSync(join(ground.dir, path)).ino).toBe(ino);
  });

  test("is undone together with the changes behind it", async () => {
    ground.put("dir/a.txt", "one");
    await run("move", { path: "dir", to: "Dir" });
    await run("write", { path: "Dir/A.TXT", content: "two" });
    await run("move", { path: "dir/a.txt", to: "dir/A.txt" });
    await run("undo", { last: 3 });
    expect(ground.names()).toEqual(["dir"]);
    expect(ground.names("dir")).toEqual(["a.txt"]);
    expect(ground.get("dir/a.txt").toString()).toBe("one");
  });

  test("by somebody else does not keep a change from being undone", async () => {
    ground.put("dir/a.txt", "one");
    await run("write", { path: "dir/a.txt", content: "two" });
    renameSync(join(ground.dir, "dir"), join(ground.dir, "Dir"));
    await run("undo", { last: 1 });
    expect(ground.get("Dir/a.txt").toString()).toBe("one");
  });

  test("goes with the rest when a group fails, and the file stays", async () => {
    for (const name of ["a.txt", "b.txt"]) ground.put(name, "one\n");
    const { renameSync: rename } = fs;
    const spy = jest.spyOn(fs, "renameSync").mockImplementation((from, to) => {
      if (!String(to).endsWith("/c.txt")) return rename(from, to);
      throw Object.assign(new Error("EIO"), { code: "EIO", syscall: "rename" });
    });
    const linked = jest.spyOn(fs, "linkSync").mockImplementation(() => {
      throw Object.assign(new Error("ENOTSUP"), { code: "ENOTSUP", syscall: "link" });
    });
    const moves =
      "*** Update File: a.txt\n*** Move to: A.txt\n@@\n-one\n+two\n*** Update File: b.txt\n*** Move to: c.txt\n";
    const failed = await fail("patch", { patch: `*** Begin Patch\n${moves}*** End Patch\n` });
    expect(failed).toMatchObject({ code: "IO_ERROR" });
    expect(spy).toHaveBeenCalledWith(expect.anything(), expect.stringMatching(/\/A\.txt$/));
    for (const one of [spy, linked]) one.mockRestore();
    expect(ground.names().sort()).toEqual(["a.txt", "b.txt"]);
    expect(ground.get("a.txt").toString()).toBe("one\n");
  });

  test("in one patch is no second file: none of the two changes is lost unseen", async () => {
    ground.put("a.txt", "one\ntwo\n");
    const both = "*** Update File: a.txt\n@@\n-one\n+1\n*** Update File: A.TXT\n@@\n-two\n+2\n";
    const failed = await fail("patch", { patch: `*** Begin Patch\n${both}*** End Patch\n` });
    expect(failed).toMatchObject({ code: "INVALID_INPUT", data: { path: "A.TXT" } });
    expect(failed.message).toContain('"A.TXT" is the same file as "a.txt". Put all its changes under one name');
    expect(ground.get("a.txt").toString()).toBe("one\ntwo\n");
    await run("patch", { patch: `*** Begin Patch\n${both.replace("A.TXT", "a.txt")}*** End Patch\n` });
    expect(ground.get("a.txt").toString()).toBe("1\n2\n");
  });

  test("is given by a patch", async () => {
    ground.put("a.txt", "one\n");
    const patch = "*** Begin Patch\n*** Update File: a.txt\n*** Move to: A.txt\n@@\n-one\n+two\n*** End Patch\n";
    await run("patch", { patch });
    expect(ground.get("A.txt").toString()).toBe("two\n");
    expect(ground.names()).toHaveLength(1);
  });
});

describe("a link", () => {
  const ground = useGround({ journal: true });
  const { run, fail } = ground;

  test.each(["target.txt", "../outside/secret", "nowhere", "dir"])(
    "to %s is moved, copied and brought back itself",
    async (to) => {
      ground.put("target.txt", "target");
      ground.put("dir/x", "x");
      ground.put("../outside/secret", "secret");
      symlinkSync(to, join(ground.dir, "link"));
      await run("move", { path: "link", to: "Moved" });
      expect(readlinkSync(join(ground.dir, "Moved"))).toBe(to);
      await run("move", { path: "moved", to: "MOVED" });
      await run("undo", { last: 2 });
      expect(readlinkSync(join(ground.dir, "link"))).toBe(to);
      await run("delete", { path: "LINK" });
      await run("undo", { last: 1 });
      expect(readlinkSync(join(ground.dir, "link"))).toBe(to);
      await run("write", { path: "over", content: "over" });
      expect(await fail("move", { path: "link", to: "OVER" })).toMatchObject({ code: "ALREADY_EXISTS" });
      await run("copy", { path: "link", to: "Copy", recursive: true }).catch(() => undefined);
      const { ino } = lstatSync(join(ground.outside, "secret"));
      expect(ground.names().every((name) => lstatSync(join(ground.dir, name)).ino !== ino)).toBe(true);
      expect(readFileSync(join(ground.outside, "secret"), "utf8")).toBe("secret");
    },
  );

  test("whose text has another spelling is followed, and judged by the name that is stored", async () => {
    ground.put("Folder/File.txt", "found");
    symlinkSync("FOLDER/file.TXT", join(ground.dir, "in"));
    symlinkSync(join(ground.dir, "folder"), join(ground.dir, "absolute"));
    symlinkSync(`../OUTSIDE`, join(ground.dir, "out"));
    ground.put("../outside/secret", "secret");
    expect(await run("read", { path: "IN" })).toMatchObject({ content: "found" });
    expect(await run("read", { path: "Absolute/File.TXT" })).toMatchObject({ content: "found" });
    expect(await fail("read", { path: "out/secret" })).toMatchObject({ code: "SYMLINK_ESCAPE" });
    expect(await fail("write", { path: "out/new", content: "x" })).toMatchObject({ code: "SYMLINK_ESCAPE" });
    expect(existsSync(join(ground.outside, "new"))).toBe(false);
  });
});

describe("patterns of the operator", () => {
  const ground = useGround({ root: { deny: ["secrets", "Cl\u00e9.pem"], protect: ["locked/**", "AGENTS.md"] } });
  const { run, fail } = ground;

  test.each(["SECRETS/a", "Secrets", "s\u0065crets/a", "Cle\u0301.pem", "CL\u00c9.PEM", "cle\u0301.PEM"])(
    "deny %j",
    async (path) => {
      ground.put("Secrets/a", "x");
      ground.put("Cle\u0301.pem", "x");
      for (const name of ["read", "stat", "list", "delete", "tree"])
        expect([name, (await fail(name, { path })).code]).toEqual([name, "DENIED_BY_POLICY"]);
      expect(await fail("grep", { path, pattern: "x" })).toMatchObject({ code: "DENIED_BY_POLICY" });
      expect(await fail("write", { path, content: "x", parents: true })).toMatchObject({ code: "DENIED_BY_POLICY" });
      expect((await run("glob", { pattern: "**" })).paths).toEqual([]);
      ground.put("plain", "x");
      for (const name of ["move", "copy"])
        expect(await fail(name, { path: "plain", to: path, overwrite: true })).toMatchObject({
          code: "DENIED_BY_POLICY",
        });
    },
  );

  test.each(["Locked/a", "LOCKED/new", "agents.md", "Agents.MD"])("protect %j", async (path) => {
    ground.put("Locked/a", "x");
    ground.put("Agents.md", "x");
    const refused = { code: "DENIED_BY_POLICY" };
    for (const name of ["write", "append"]) expect(await fail(name, { path, content: "y" })).toMatchObject(refused);
    for (const name of ["delete", "mkdir"]) expect(await fail(name, { path })).toMatchObject(refused);
    expect(await fail("edit", { path, oldText: "x", newText: "y" })).toMatchObject(refused);
    expect(await fail("move", { path: "Locked/a", to: path.toUpperCase() })).toMatchObject(refused);
  });
});
