import { mkdirSync, readdirSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { beforeEach, describe, expect, test } from "@jest/globals";
import { failure, useGround } from "../ops/ground.js";

const ground = useGround({
  root: { deny: [".env", "private/**", "links/hidden"] },
  roots: { fixed: { temp: true, readOnly: true, deny: ["x"] } },
});

beforeEach(() => {
  ground.put(".env", "KEY=1");
  ground.put("private/a", "a");
  ground.put("dir/.env", "KEY=2");
  ground.put("dir/file", "f");
  ground.put("dir/sub/.env/deep", "d");
  ground.put("plain/file", "f");
  symlinkSync("../dir/.env", join(ground.dir, "plain/to-env"));
  symlinkSync("private", join(ground.dir, "to-private"));
  symlinkSync("plain", join(ground.dir, "links"));
  ground.put("plain/hidden", "only by its other name");
});

/** The caller here may know the pattern, and is told where it is the path itself that is denied. */
const denied = (verb: string, path: string) => {
  const plain = path.replace(/[.*/]/g, "\\$&");
  const by = String.raw`(?: \("(?:\.env|private/\*\*|links/hidden)" in file\.roots\.r\.deny\))?`;
  const message = new RegExp(`^Cannot ${verb} "${plain}": denied by policy of root "r"${by}\\. Do not retry$`);
  return failure("DENIED_BY_POLICY", expect.stringMatching(message) as never, path);
};

/** Every operation on one path, and what it needs beside it. */
const CALLS: readonly [string, object][] = [
  ["read", {}],
  ["stat", {}],
  ["list", {}],
  ["tree", {}],
  ["write", { content: "x" }],
  ["write", { content: "x", parents: true }],
  ["append", { content: "x" }],
  ["mkdir", {}],
  ["mkdir", { parents: true }],
  ["delete", {}],
  ["delete", { recursive: true }],
];

const PATHS = [
  ".env",
  "none/.env",
  "dir/.env",
  "private",
  "private/a",
  "private/none",
  "dir/./../.env",
  "dir/sub/.env/x",
];

describe("what the policy of a root denies", () => {
  test.each([
    [".env", '".env"'],
    ["private/none/deep", '"private/**"'],
    ["to-private", '"private/**"'],
    ["plain/to-env", '".env"'],
  ])("%s: whoever decides for the root is told the pattern and its key, nobody else", async (path, pattern) => {
    const by = (await ground.fail("read", { path })).message;
    expect(by).toBe(
      `Cannot read "${path}": denied by policy of root "r" (${pattern} in file.roots.r.deny). Do not retry`,
    );
    const caps = [{ with: "file://r/", can: "crud" }];
    const other = (await ground.fail("read", { path }, { caps })).message;
    expect(other).toBe(`Cannot read "${path}": denied by policy of root "r". Do not retry`);
  });

  test.each(PATHS.flatMap((path) => CALLS.map(([name, more]) => [name, path, more] as const)))(
    "is the same answer whether it exists: %s of %s, %j",
    async (name, path, more) => {
      const canonical = path === "dir/./../.env" ? ".env" : path;
      expect(await ground.fail(name, { path, ...more })).toEqual(denied(name, canonical));
    },
  );

  test.each(CALLS)("is not reached through links by %s %j", async (name, more) => {
    if (name === "delete") return;
    for (const path of ["plain/to-env", "to-private", "to-private/a", "to-private/none", "to-private/none/deeper"]) {
      expect(await ground.fail(name, { path, ...more })).toEqual(denied(name, path));
    }
  });

  test("is judged by the requested path too, where another name of the same file is allowed", async () => {
    expect(await ground.fail("read", { path: "links/hidden" })).toEqual(denied("read", "links/hidden"));
    expect((await ground.run("read", { path: "plain/hidden" })).content).toBe("only by its other name");
    expect((await ground.run("list", { path: "links" })).entries.map(({ name }) => name)).toEqual(["file", "to-env"]);
    expect((await ground.run("list", { path: "plain" })).total).toBe(3);
  });

  test("lets a link itself be removed whose target is denied", async () => {
    expect(await ground.run("delete", { path: "to-private" })).toEqual({ deleted: true, existed: true });
    expect(ground.names("private")).toEqual(["a"]);
  });

  test("is left out of lists, their totals and pages", async () => {
    const all = await ground.run("list", { path: "" });
    expect(all.entries.map(({ name }) => name)).toEqual(["dir", "links", "plain", "to-private"]);
    expect(all.total).toBe(4);
    const page = await ground.run("list", { path: "", offset: 1, limit: 2 });
    expect(page.entries.map(({ name }) => name)).toEqual(["links", "plain"]);
    expect(page).toMatchObject({ total: 4, truncated: true });
  });

  test("is left out of trees, with all below", async () => {
    const { tree } = await ground.run("tree", { path: "dir" });
    expect(tree).toBe("r/dir/\n\tfile\n\tsub/\n");
  });

  test("is not a directory made on the way", async () => {
    expect(await ground.fail("mkdir", { path: "new/.env/deep", parents: true })).toEqual(
      denied("mkdir", "new/.env/deep"),
    );
    symlinkSync("plain", join(ground.dir, "via"));
    expect(ground.names()).not.toContain("new");
  });

  test.each(["dir", "dir/sub"])("keeps a directory that holds some of it from being removed: %s", async (path) => {
    expect(await ground.fail("delete", { path, recursive: true })).toEqual(denied("delete", path));
    expect(ground.get("dir/.env").toString()).toBe("KEY=2");
    expect(ground.get("dir/sub/.env/deep").toString()).toBe("d");
    expect(ground.get("dir/file").toString()).toBe("f");
  });

  test("lets a directory be removed that holds nothing of it", async () => {
    expect(await ground.run("delete", { path: "plain", recursive: true })).toMatchObject({ deleted: true });
    expect(readdirSync(ground.dir)).not.toContain("plain");
  });

  test("comes after the grant and after a read-only root", async () => {
    const none = { caps: [] };
    expect(await ground.fail("read", { path: ".env" }, none)).toMatchObject({ code: "CAPABILITY_DENIED" });
    expect(await ground.fail("write", { root: "fixed", path: "x", content: "" })).toMatchObject({
      code: "READ_ONLY_ROOT",
    });
    expect(await ground.fail("read", { root: "fixed", path: "x" })).toMatchObject({ code: "DENIED_BY_POLICY" });
  });

  test("is not told by a link whose end is denied, whether that is there", async () => {
    symlinkSync("private/none", join(ground.dir, "dangling"));
    symlinkSync("private/a/none", join(ground.dir, "through-file"));
    symlinkSync("private/../../outside", join(ground.dir, "out"));
    for (const path of ["dangling", "through-file"]) {
      expect(await ground.fail("read", { path })).toEqual(denied("read", path));
    }
    mkdirSync(join(ground.dir, "private/dir"));
    expect(await ground.fail("read", { path: "out" })).toMatchObject({ code: "SYMLINK_ESCAPE" });
  });
});
