import { linkSync, mkdirSync, readdirSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { beforeEach, describe, expect, test } from "@jest/globals";
import { failure, useGround } from "../ops/ground.js";

const ground = useGround({
  root: { protect: ["@git", "locked/**", "links/fixed"], deny: ["@secrets"], hardLinks: true },
  roots: { other: { temp: true, protect: ["@git"] }, free: { temp: true } },
});

beforeEach(() => {
  ground.put(".git/config", "[core]");
  ground.put(".git/hooks/pre-commit", "#!/bin/sh");
  ground.put("locked/a", "a");
  ground.put("dir/file", "f");
  ground.put("dir/sub/.git", "gitdir: elsewhere");
  ground.put("plain/fixed", "by its other name");
  symlinkSync("../.git/config", join(ground.dir, "plain/to-config"));
  symlinkSync(".git", join(ground.dir, "to-git"));
  symlinkSync("plain", join(ground.dir, "links"));
});

const elsewhere = (operation: string, input: object): Promise<unknown> =>
  ground.adapter.invoke(`file:${operation}`, input, {});

const kept = (verb: string, path: string) =>
  failure(
    "DENIED_BY_POLICY",
    `Cannot ${verb} "${path}": protected by policy of root "r" (may be read, not changed). Do not retry`,
    path,
  );

/** Every operation that changes one path, and what it needs beside it. */
const CHANGES: readonly [string, object][] = [
  ["write", { content: "x" }],
  ["write", { content: "x", parents: true }],
  ["append", { content: "x" }],
  ["edit", { edits: [{ oldText: "a", newText: "b" }] }],
  ["mkdir", {}],
  ["mkdir", { parents: true }],
  ["delete", {}],
  ["delete", { recursive: true }],
];

const PATHS = [
  ...[".git", ".git/config", ".git/none", "none/.git", "dir/sub/.git", "dir/sub/.git/none"],
  ...["locked", "locked/a", "locked/none/deeper", "dir/./../.git/config"],
];

describe("what a root protects", () => {
  test.each(PATHS.flatMap((path) => CHANGES.map(([name, more]) => [name, path, more] as const)))(
    "is the same refusal whether it exists: %s of %s, %j",
    async (name, path, more) => {
      const canonical = path === "dir/./../.git/config" ? ".git/config" : path;
      expect(await ground.fail(name, { path, ...more })).toEqual(kept(name, canonical));
    },
  );

  test("may be read, listed and found", async () => {
    expect((await ground.run("read", { path: ".git/config" })).content).toBe("[core]");
    expect((await ground.run("list", { path: ".git" })).entries.map(({ name }) => name)).toEqual(["config", "hooks"]);
    expect((await ground.run("tree", { path: "dir" })).tree).toBe("r/dir/\n\tfile\n\tsub/\n\t\t.git\n");
    expect((await ground.run("stat", { path: "locked/a" })).size).toBe(1);
    expect((await ground.run("grep", { pattern: "a", path: "locked" })).matches).toHaveLength(1);
  });

  test.each(CHANGES)("is not changed through links by %s %j", async (name, more) => {
    const through = ["plain/to-config", "to-git/config", "to-git/none", "to-git/none/deeper"];
    for (const path of name === "delete" ? through.slice(1) : through) {
      expect(await ground.fail(name, { path, ...more })).toEqual(kept(name, path));
    }
    expect(ground.get(".git/config").toString()).toBe("[core]");
  });

  test("lets a link itself be removed that leads to it", async () => {
    await ground.run("delete", { path: "to-git" });
    await ground.run("delete", { path: "plain/to-config" });
    expect(ground.get(".git/config").toString()).toBe("[core]");
  });

  test("is judged by the requested path too", async () => {
    expect(await ground.fail("write", { path: "links/fixed", content: "x" })).toEqual(kept("write", "links/fixed"));
    await ground.run("write", { path: "plain/fixed", content: "x" });
  });

  test("is not changed in place through another hard link, even where the root appends so", async () => {
    linkSync(join(ground.dir, ".git/config"), join(ground.dir, "same"));
    await ground.run("append", { path: "same", content: "evil" });
    await ground.run("write", { path: "same", content: "evil" });
    expect(ground.get(".git/config").toString()).toBe("[core]");
  });

  test.each([
    ["dir", "moved"],
    ["dir/sub", "moved"],
    [".git", "git2"],
    [".git/config", "config"],
    ["locked/a", "a"],
  ])("is not moved away, nor with a directory that holds it: %s", async (path, to) => {
    expect(await ground.fail("move", { path, to })).toEqual(kept("move", path));
    expect(readdirSync(ground.dir)).not.toContain(to);
    expect(await ground.fail("move", { path, toRoot: "free", to })).toEqual(kept("move", path));
    expect(await elsewhere("list", { root: "free", path: "" })).toMatchObject({ total: 0 });
    expect(ground.get("dir/sub/.git").toString()).toBe("gitdir: elsewhere");
  });

  test("is not replaced by a move or a copy, nor filled by one", async () => {
    for (const to of [".git/config", ".git/new", "locked/new", "to-git/new", "none/.git/x"]) {
      const input = { path: "dir/file", to, overwrite: true, parents: true };
      expect(await ground.fail("move", input)).toEqual(kept("move", to));
      expect(await ground.fail("copy", input)).toEqual(kept("copy", to));
    }
    expect(ground.get("dir/file").toString()).toBe("f");
  });

  test.each(["move", "copy"])("does not come to be with a directory: %s", async (name) => {
    ground.put("repo/git/hooks/x", "x");
    expect(await ground.fail(name, { path: "repo/git", to: "repo/.git", recursive: true })).toMatchObject({
      code: name === "copy" ? "DENIED_BY_POLICY" : expect.stringMatching(/DENIED_BY_POLICY|INVALID_INPUT/),
    });
    expect(readdirSync(join(ground.dir, "repo"))).toEqual(["git"]);
  });

  test("is left out where a directory that holds it is copied within roots that protect it, and counted", async () => {
    const copied = await ground.run("copy", { path: "dir", to: "twin", recursive: true });
    expect(copied).toMatchObject({ files: 1, hidden: { policy: 1 } });
    expect(readdirSync(join(ground.dir, "twin/sub"))).toEqual([]);
    await ground.run("copy", { path: "dir", toRoot: "free", to: "twin", recursive: true });
    const whole = await elsewhere("read", { root: "free", path: "twin/sub/.git" });
    expect(whole).toMatchObject({ content: "gitdir: elsewhere" });
  });

  test("is not brought in from a root that does not protect it", async () => {
    await elsewhere("write", { root: "free", path: "repo/.git/config", content: "x", parents: true });
    const failed = await ground.fail("move", { root: "free", path: "repo", toRoot: "other", to: "repo" });
    expect(failed).toMatchObject({ code: "DENIED_BY_POLICY", data: { root: "free", path: "repo" } });
    expect(await elsewhere("list", { root: "other", path: "" })).toMatchObject({ total: 0 });
    expect(await elsewhere("read", { root: "free", path: "repo/.git/config" })).toMatchObject({ content: "x" });
  });

  test.each(["dir", "dir/sub"])("keeps a directory that holds some of it from being removed: %s", async (path) => {
    expect(await ground.fail("delete", { path, recursive: true })).toEqual(kept("delete", path));
    expect(ground.get("dir/sub/.git").toString()).toBe("gitdir: elsewhere");
    expect(ground.get("dir/file").toString()).toBe("f");
  });

  test("is not a directory made on the way", async () => {
    expect(await ground.fail("mkdir", { path: "new/.git/hooks", parents: true })).toEqual(
      kept("mkdir", "new/.git/hooks"),
    );
    expect(ground.names()).not.toContain("new");
  });

  test("lets everything else be changed", async () => {
    ground.put(".gitignore", "dist");
    await ground.run("write", { path: ".gitignore", content: "dist\n" });
    await ground.run("write", { path: "dir/sub/new", content: "x" });
    await ground.run("delete", { path: "plain", recursive: true });
    mkdirSync(join(ground.dir, "git"));
    await ground.run("move", { path: "git", to: "git2" });
  });

  test("comes after the grant, and what is denied is said to be denied", async () => {
    expect(await ground.fail("write", { path: ".git/x", content: "" }, { caps: [] })).toMatchObject({
      code: "CAPABILITY_DENIED",
    });
    expect(await ground.fail("write", { path: ".git/.env", content: "" })).toEqual(
      failure(
        "DENIED_BY_POLICY",
        'Cannot write ".git/.env": denied by policy of root "r" (".env" of "@secrets" in file.roots.r.deny). Do not retry',
        ".git/.env",
      ),
    );
  });
});
