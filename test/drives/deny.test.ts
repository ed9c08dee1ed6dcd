import { beforeEach, describe, expect, test } from "@jest/globals";
import { ALICE, useDrives } from "./ground.js";

const ground = useDrives({ mine: { deny: [".env", "private/**"] } });

beforeEach(async () => {
  // By the drive itself, which knows no roots.
  for (const path of ["dir/.env", "private/a", "dir/file"]) {
    await ground.call("dlfs:write", { drive: "notes", path, content: "x", parents: true }, ALICE);
  }
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
        message: `Cannot ${name} "${path}": denied by policy of root "mine". Do not retry`,
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
