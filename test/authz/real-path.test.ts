import { existsSync, readdirSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { beforeEach, describe, expect, test } from "@jest/globals";
import type { SurfaceContext } from "../../src/core/ports/adapter.js";
import { type Failure, useGround } from "../ops/ground.js";
import { bob, delegation, venue } from "../ucan/tokens.js";

const GRANT = { with: "file://r/open/", can: "crud" };
const ground = useGround({ publicCaps: [GRANT], operator: venue.did });
const PROOF = delegation({ by: venue, claims: { att: [GRANT], exp: Math.floor(Date.now() / 1000) + 3600 } });

beforeEach(() => {
  ground.put("open/file", "open");
  ground.put("open/dir/file", "open");
  ground.put("closed/file", "closed");
  ground.mkdir("closed/empty");
  symlinkSync("../closed", join(ground.dir, "open/in"));
  symlinkSync("../closed/file", join(ground.dir, "open/to-file"));
  symlinkSync(join(ground.dir, "closed"), join(ground.dir, "open/absolute"));
  symlinkSync("../closed/nothing", join(ground.dir, "open/to-nothing"));
  symlinkSync("dir", join(ground.dir, "open/beside"));
  symlinkSync("../open", join(ground.dir, "closed/back"));
});

const WAYS: readonly [string, SurfaceContext][] = [
  ["a list", { caps: [GRANT] }],
  ["the list of one call", { callCaps: [GRANT] }],
  ["the directories of one call", { caps: [{ with: "file://", can: "crud" }], within: [["r", "open"]] }],
  ["public access", { callerDID: "did:key:z6MkSomebody" }],
  ["a proof by the owner of the root", { callerDID: bob.did, ucans: [PROOF] }],
];

/** Everything that could be done behind a link, each with something there and with nothing there. */
const CALLS: readonly [string, { path: string; [field: string]: unknown }, string][] = [
  ["read", { path: "open/in/file" }, "open/in/nothing"],
  ["read", { path: "open/absolute/file" }, "open/absolute/nothing"],
  ["read", { path: "open/to-file" }, "open/to-nothing"],
  ["list", { path: "open/in" }, "open/to-nothing"],
  ["list", { path: "open/in/empty" }, "open/in/nothing"],
  ["tree", { path: "open/in" }, "open/to-nothing"],
  ["stat", { path: "open/in/file" }, "open/in/nothing"],
  ["stat", { path: "open/to-file" }, "open/to-nothing"],
  ["write", { path: "open/in/file", content: "x" }, "open/in/nothing"],
  ["write", { path: "open/to-file", content: "x" }, "open/to-nothing"],
  ["write", { path: "open/in/new/file", content: "x", parents: true }, "open/in/file/x"],
  ["append", { path: "open/in/file", content: "x" }, "open/in/nothing"],
  ["mkdir", { path: "open/in/empty" }, "open/in/nothing"],
  ["mkdir", { path: "open/in/new/dir", parents: true }, "open/in/file/x"],
  ["delete", { path: "open/in/file" }, "open/in/nothing"],
  ["delete", { path: "open/in/empty", recursive: true }, "open/in/nothing"],
];

const ABILITY: Readonly<Record<string, string>> = {
  write: "crud/write",
  append: "crud/write",
  mkdir: "crud/write",
  delete: "crud/delete",
};

function denial(name: string, path: string): Failure {
  const can = ABILITY[name] ?? "crud/read";
  return {
    code: "CAPABILITY_DENIED",
    message:
      `Capability denied: file:${name} requires ${can} on file://r/${path}. Your capabilities are: crud on file://r/open/. ` +
      "Retrying the same call will not succeed - the denial is structural.",
    data: {
      structural: true,
      retryable: false,
      operation: `file:${name}`,
      required: { with: `file://r/${path}`, can },
      denied_by: ["path_policy"],
      have: [GRANT],
      have_truncated: false,
      reasons: ["not_covered"],
    },
  };
}

describe.each(WAYS)("what a link leads to needs a grant of its own, under %s", (_, context) => {
  test.each(CALLS)("%s %j, whether or not anything is there", async (name, input, nothing) => {
    expect(await ground.fail(name, input, context)).toEqual(denial(name, input.path));
    expect(await ground.fail(name, { ...input, path: nothing }, context)).toEqual(denial(name, nothing));
    expect(ground.get("closed/file").toString()).toBe("closed");
    expect(readdirSync(join(ground.dir, "closed")).sort()).toEqual(["back", "empty", "file"]);
  });

  test("and has it where it lies in what is granted", async () => {
    expect((await ground.run("read", { path: "open/beside/file" }, context)).content).toBe("open");
    expect(await ground.run("write", { path: "open/beside/a/b", content: "", parents: true }, context)).toMatchObject({
      created: true,
    });
    expect(existsSync(join(ground.dir, "open/dir/a/b"))).toBe(true);
  });

  test("but a link itself may be removed, and is listed, by whoever has its directory", async () => {
    const { entries } = await ground.run("list", { path: "open" }, context);
    expect(entries.filter(({ type }) => type === "symlink")).toHaveLength(5);
    expect(await ground.run("delete", { path: "open/in" }, context)).toEqual({ deleted: true, existed: true });
    expect(existsSync(join(ground.dir, "closed/file"))).toBe(true);
  });

  test("and where it leads opens nothing that is asked for without a grant", async () => {
    const failed = await ground.fail("read", { path: "closed/back/file" }, context);
    expect(failed.data["denied_by"]).not.toContain("path_policy");
    expect(failed.code).toBe("CAPABILITY_DENIED");
  });
});

describe("directories made on the way", () => {
  test("need a grant where they really are, and not only where they were asked for", async () => {
    const caps = ["open/in", "closed/new/dir/file"].map((path) => ({ with: `file://r/${path}`, can: "crud" }));
    const write = { path: "open/in/new/dir/file", content: "x", parents: true };
    expect((await ground.fail("write", write, { caps })).data).toMatchObject({
      required: { with: "file://r/open/in/new", can: "crud/write" },
      denied_by: ["path_policy"],
    });
    expect(existsSync(join(ground.dir, "closed/new"))).toBe(false);
    const more = [...caps, { with: "file://r/closed/new", can: "crud/write" }];
    expect(await ground.run("write", write, { caps: more })).toMatchObject({ created: true });
  });
});

describe("a link that leads out of the root", () => {
  test("is an escape for whoever may ask, and a denial for others", async () => {
    symlinkSync(ground.outside, join(ground.dir, "open/out"));
    symlinkSync(ground.outside, join(ground.dir, "closed/out"));
    expect((await ground.fail("stat", { path: "open/out" }, { caps: [GRANT] })).code).toBe("SYMLINK_ESCAPE");
    expect((await ground.fail("stat", { path: "closed/out" }, { caps: [GRANT] })).code).toBe("CAPABILITY_DENIED");
  });
});

describe("the canonical path decides", () => {
  test.each([
    ["open", true],
    ["./open//dir/", true],
    ["/open/x/../dir", true],
    ["closed/../open/dir", true],
    ["open/../closed", false],
    ["openly", false],
    ["Open", false],
    ["", false],
  ])("%j: %p", async (path, granted) => {
    const listed = ground.adapter.invoke("file:list", { root: "r", path }, { caps: [GRANT] }).then(
      () => true,
      (error: unknown) => (error as Failure).code,
    );
    expect(await listed).toBe(granted ? true : "CAPABILITY_DENIED");
  });
});
