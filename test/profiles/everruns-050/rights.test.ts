import { existsSync, lstatSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeEach, describe, expect, test } from "@jest/globals";
import { createProfile } from "../../../src/index.js";
import { png } from "../../ops/rendering/images.js";
import { hashOf, KINDS, useBed050 } from "./bed.js";

const EDIT = { expected_hash: hashOf("x"), edits: [{ old_text: "x", new_text: "y" }] };
const ON_PATHS = [
  ["read_file", {}, "crud/read"],
  ["write_file", { content: "y" }, "crud/write"],
  ["edit_file", EDIT, "crud/write"],
  ["list_directory", {}, "crud/read"],
  ["grep_files", { pattern: "x", after_context: 1 }, "crud/read"],
  ["delete_file", {}, "crud/delete"],
  ["stat_file", {}, "crud/read"],
] as const;
const ON_ALL = [
  ["glob", { pattern: "*" }],
  ["grep", { pattern: "x" }],
] as const;
const CHANGES = [
  ["write_file", { content: "y" }],
  ["edit_file", EDIT],
  ["delete_file", {}],
] as const;

describe.each(KINDS)("a caller on a %s root", (kind) => {
  const bed = useBed050({ kind });
  const { call, fail } = bed;
  const holding = (path: string, ...abilities: string[]) => ({
    ...bed.context,
    caps: abilities.map((can) => ({ with: `file://r/s/${path}`, can })),
  });
  const allBut = (can: string) => ["crud/read", "crud/write", "crud/delete"].filter((one) => one !== can);

  test.each(ON_PATHS)(
    "%s with %j needs %s, and the refusal tells nothing of what is there",
    async (tool, args, can) => {
      await call("write_file", { path: "there", content: "x" });
      for (const path of ["there", "not-there"]) {
        expect(await fail(tool, { path, ...args }, holding("", ...allBut(can)))).toBe(
          `permission denied: requires ${can} on file://r/…/${path}`,
        );
      }
      const path = tool === "list_directory" || tool === "grep_files" ? "" : "there";
      expect(await call(tool, { path, ...args }, holding("", can))).not.toHaveProperty("error");
    },
  );

  test.each(ON_ALL)("%s needs crud/read on the session", async (tool, args) => {
    const text = await fail(tool, args, holding("", ...allBut("crud/read")));
    expect(text).toBe("permission denied: requires crud/read on file://r/…");
  });

  test("read_many_files tells of each file whether it may be read", async () => {
    await call("write_file", { path: "a/f", content: "mine" });
    await call("write_file", { path: "b/f", content: "theirs" });
    const paths = ["b/f", "a/f", "b/none"];
    const denied = (path: string) => ({
      ...{ path: `/workspace/${path}`, error: `permission denied: requires crud/read on file://r/…/${path}` },
    });
    const { results } = Object(await call("read_many_files", { paths }, holding("a/", "crud/read")));
    expect(results).toEqual([denied("b/f"), expect.objectContaining({ content: "1|mine" }), denied("b/none")]);
  });

  test("a part that may not be read is in no search", async () => {
    await call("write_file", { path: "a/f.txt", content: "x mine" });
    await call("write_file", { path: "b/f.txt", content: "x theirs" });
    const context = { ...bed.context, caps: [{ with: "file://r/s/a/", can: "crud/read" }] };
    for (const [tool, args] of ON_ALL) expect(await fail(tool, args, context)).toContain("permission denied");
    expect(JSON.stringify(await call("grep_files", { path: "a", pattern: "x" }, context))).toContain("mine");
    expect(await fail("grep_files", { path: "b", pattern: "x" }, context)).toContain("permission denied");
  });

  test("files of other sessions are out of reach", async () => {
    for (const path of ["beside.txt", "s-2/f.txt"]) {
      await bed.adapter.invoke("file:write", { root: "r", path, content: "x", parents: true }, bed.context);
    }
    const other = createProfile(bed.adapter, { profile: "everruns", root: "r", prefix: "s-2", variant: "0.50" });
    expect(await other.call("glob", { pattern: "*" }, bed.context)).toEqual({
      ...{ paths: ["/workspace/f.txt"], truncated: false },
    });
    for (const path of ["/beside.txt", "/s-2/f.txt", "/workspace/s-2/f.txt"]) {
      expect(await fail("read_file", { path })).toContain("File not found");
    }
    for (const path of ["../beside.txt", "/workspace/../s-2/f.txt"]) {
      expect(await fail("read_file", { path })).toContain("path traversal rejected");
    }
    const { paths } = Object(await call("glob", { pattern: "**" }));
    expect(paths.join()).not.toMatch(/beside|s-2/);
    expect(Object(await call("list_directory")).entries.map(({ name }: { name: string }) => name)).not.toContain("s-2");
    expect(await call("grep_files", { pattern: "x", path_pattern: "s-2" })).toMatchObject({ total_matches: 0 });
    const { results } = Object(await call("read_many_files", { paths: ["/s-2/f.txt", "../s-2/f.txt"] }));
    for (const result of results) expect(Object.keys(result)).toEqual(["path", "error"]);
  });
});

describe.each(["host", "temp"] as const)("on a read-only %s root", (kind) => {
  const bed = useBed050({ kind, root: { readOnly: true }, binding: { prefix: "" } });

  test("everything is read, and nothing changed", async () => {
    if (kind === "host") bed.put("f", "x");
    for (const [tool, args] of CHANGES) {
      expect(await bed.fail(tool, { path: "f", ...args })).toBe("Cannot modify readonly file: /workspace/f");
    }
    expect(await bed.call("glob", { pattern: "*" })).toMatchObject({ truncated: false });
    const listed = Object(await bed.call("list_directory"));
    expect(listed.entries).toEqual(
      kind === "host"
        ? [{ name: "f", path: "/workspace/f", is_directory: false, size_bytes: 1, is_readonly: true }]
        : [],
    );
    if (kind === "host") expect(await bed.call("read_file", { path: "f" })).toMatchObject({ content: "1|x" });
  });
});

describe("files of the host application", () => {
  const bed = useBed050();
  const { call, fail } = bed;

  test("are not changed by any tool, nor are stale edits of them made", async () => {
    await bed.profile.seed?.([{ path: "docs/guide", content: "x", readonly: true }]);
    const refused = "Cannot modify readonly file: /workspace/docs/guide";
    for (const [tool, args] of CHANGES) expect(await fail(tool, { path: "docs/guide", ...args })).toBe(refused);
    expect(await fail("edit_file", { path: "docs/guide", ...EDIT, expected_hash: "sha256:0" })).toBe(refused);
    const entries = [{ name: "guide", is_readonly: true }];
    expect(await call("list_directory", { path: "docs" })).toMatchObject({ entries });
    expect(await call("read_file", { path: "docs/guide" })).toMatchObject({ content: "1|x" });
  });
});

describe("links", () => {
  const bed = useBed050();
  const { call, fail } = bed;

  beforeEach(() => {
    bed.put("real/f.txt", "x\n");
    writeFileSync(join(bed.outside, "secret.txt"), "x\n");
    writeFileSync(join(bed.outside, "p.png"), png([1, 1]));
    for (const [target, name] of [
      ["real", "inside"],
      ["real/f.txt", "file.txt"],
      [bed.outside, "out"],
      [join(bed.outside, "secret.txt"), "secret.txt"],
      ["nowhere", "dangling.txt"],
    ] as const) {
      if (lstatSync(join(bed.dir, name), { throwIfNoEntry: false }) === undefined)
        symlinkSync(target, join(bed.dir, name));
    }
  });

  test.each([
    "inside/f.txt",
    "file.txt",
    "out",
    "out/secret.txt",
    "out/p.png",
    "out/new",
    "secret.txt",
    "dangling.txt",
  ])("no tool goes through %s", async (path) => {
    const refused = `path traversal rejected: /workspace/${path} goes through a symlink`;
    for (const [tool, args] of ON_PATHS) expect(await fail(tool, { path, ...args })).toBe(refused);
    expect(await call("read_many_files", { paths: [path, "real/f.txt"] })).toMatchObject({
      results: [{ path: `/workspace/${path}`, error: refused }, { content: "1|x" }],
    });
    expect(readFileSync(join(bed.outside, "secret.txt"), "utf8")).toBe("x\n");
    expect(existsSync(join(bed.outside, "new"))).toBe(false);
  });

  test("are in no list and no search", async () => {
    expect(await call("list_directory")).toMatchObject({ entries: [{ name: "real" }], total_count: 1 });
    for (const pattern of ["**", "*.txt", "out/*", "inside/*"]) {
      const { paths } = Object(await call("glob", { pattern }));
      expect(paths.filter((path: string) => path !== "/workspace/real/f.txt")).toEqual([]);
    }
    for (const tool of ["grep", "grep_files"]) {
      expect(await call(tool, { pattern: "x" })).toMatchObject({
        matches: [{ path: "/workspace/real/f.txt" }],
        total_matches: 1,
      });
    }
  });
});
