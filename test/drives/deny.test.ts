import { beforeEach, describe, expect, test } from "@jest/globals";
import { ALICE, useDrives } from "./ground.js";

const ground = useDrives({ mine: { deny: [".env", "private/**"] } });

beforeEach(async () => {
  // By the drive itself, which knows no roots.
  for (const path of ["dir/.env", "private/a", "dir/file"]) {
    await ground.call("dlfs:write", { drive: "notes", path, content: "x", parents: true }, ALICE);
  }
});

describe("a root that is a drive and protects", () => {
  const kept = useDrives({ mine: { protect: ["@git", "locked/**"] } });
  const refusal = (name: string, path: string) => ({
    code: "DENIED_BY_POLICY",
    message: `Cannot ${name} "${path}": protected by policy of root "mine" (may be read, not changed). Do not retry`,
    data: { root: "mine", path },
  });

  test("lets its paths be read and not changed, nor directories that hold them", async () => {
    for (const path of ["dir/.git/config", "locked/a"]) {
      await kept.call("dlfs:write", { drive: "notes", path, content: "x", parents: true }, ALICE);
      expect(await kept.call("file:read", { root: "mine", path }, ALICE)).toMatchObject({ content: "x" });
      for (const [name, more] of [
        ["write", { content: "y" }],
        ["append", { content: "y" }],
        ["delete", {}],
        ["move", { to: "elsewhere" }],
      ] as const) {
        expect(await kept.fail(`file:${name}`, { root: "mine", path, ...more }, ALICE)).toEqual(refusal(name, path));
      }
    }
    expect(await kept.fail("file:delete", { root: "mine", path: "dir", recursive: true }, ALICE)).toEqual(
      refusal("delete", "dir"),
    );
    expect(await kept.fail("file:move", { root: "mine", path: "dir", to: "d" }, ALICE)).toEqual(refusal("move", "dir"));
    const copied = await kept.call("file:copy", { root: "mine", path: "dir", to: "d", recursive: true }, ALICE);
    expect(copied).toMatchObject({ files: 0, hidden: { policy: 1 } });
    const out = { root: "mine", path: "dir", toRoot: "tmp", to: "d" };
    expect(await kept.fail("file:move", out, ALICE)).toEqual(refusal("move", "dir"));
  });

  test("takes in no directory that holds such a path", async () => {
    const input = { root: "tmp", path: "repo/.git/x", content: "x", parents: true };
    await kept.call("file:write", input, ALICE);
    const moved = { root: "tmp", path: "repo", toRoot: "mine", to: "repo" };
    expect(await kept.fail("file:move", moved, ALICE)).toMatchObject({ code: "DENIED_BY_POLICY" });
    expect(await kept.call("file:list", { root: "mine" }, ALICE)).toMatchObject({ total: 0 });
  });
});

describe("a root that is a drive", () => {
  test.each(["dir/.env", "none/.env", "private", "private/none"])("denies %s by its policy", async (path) => {
    for (const [name, more] of [
      ["read", {}],
      ["write", { content: "x", parents: true }],
      ["delete", { recursive: true }],
    ] as const) {
      expect(await ground.fail(`file:${name}`, { root: "mine", path, ...more }, ALICE)).toEqual({
        code: "DENIED_BY_POLICY",
        message: expect.stringMatching(
          new RegExp(
            `^Cannot ${name} "${path}": denied by policy of root "mine" \\("(.env|private/..)" in file.roots.mine.deny`,
          ),
        ),
        data: { root: "mine", path },
      });
    }
  });

  test("leaves it out of lists and trees, and keeps directories that hold some of it", async () => {
    expect(await ground.call("file:list", { root: "mine" }, ALICE)).toMatchObject({
      total: 1,
      entries: [{ name: "dir" }],
    });
    expect(await ground.call("file:tree", { root: "mine" }, ALICE)).toMatchObject({
      tree: "mine/\n\tdir/\n\t\tfile\n",
    });
    const failed = await ground.fail("file:delete", { root: "mine", path: "dir", recursive: true }, ALICE);
    expect(failed).toMatchObject({ code: "DENIED_BY_POLICY", data: { path: "dir" } });
    await ground.call("dlfs:read", { drive: "notes", path: "dir/.env" }, ALICE);
  });
});
