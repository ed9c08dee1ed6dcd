import { existsSync, lstatSync, readFileSync, symlinkSync, unlinkSync, writeFileSync } from "node:fs";
import { rename, symlink } from "node:fs/promises";
import { join } from "node:path";
import { beforeEach, describe, expect, test } from "@jest/globals";
import { hashOf, useBed } from "./bed.js";

describe.each([undefined, "session-1"])("links in a session with the prefix %s", (prefix) => {
  const bed = useBed({ binding: prefix === undefined ? {} : { prefix } });
  const { call, fail } = bed;
  const link = (target: string, name: string) => {
    if (!existsSync(join(bed.dir, name))) symlinkSync(target, join(bed.dir, name));
  };

  beforeEach(() => {
    bed.put("real/f", "x\n");
    writeFileSync(join(bed.outside, "secret"), "x\n");
    const names = ["inside", "file", "out", "secret", "dangling"];
    for (const name of names)
      if (lstatSync(join(bed.dir, name), { throwIfNoEntry: false })) unlinkSync(join(bed.dir, name));
    link("real", "inside");
    link("real/f", "file");
    link(bed.outside, "out");
    link(join(bed.outside, "secret"), "secret");
    link("nowhere", "dangling");
  });

  test.each(["inside", "inside/f", "inside/new", "file", "out", "out/secret", "out/new", "secret", "dangling"])(
    "no tool goes through %s",
    async (path) => {
      const edit = { expected_hash: hashOf("x\n"), old_text: "x", new_text: "y" };
      for (const answer of [
        await fail("read_file", { path }),
        await fail("write_file", { path, content: "new" }),
        await fail("edit_file", { path, ...edit }),
        await fail("list_directory", { path }),
        await fail("grep_files", { path, pattern: "x" }),
        await fail("stat_file", { path }),
        await fail("delete_file", { path }),
        await fail("delete_file", { path, recursive: true }),
      ]) {
        expect(answer).toBe(`path traversal rejected: /workspace/${path} goes through a symlink`);
      }
      expect(bed.get("real/f")).toBe("x\n");
      expect(readFileSync(join(bed.outside, "secret"), "utf8")).toBe("x\n");
      expect(existsSync(join(bed.outside, "new"))).toBe(false);
      expect(existsSync(join(bed.dir, "real/new"))).toBe(false);
    },
  );

  test("links are in no list and no search", async () => {
    expect(await call("list_directory")).toMatchObject({ entries: [{ name: "real" }], count: 1 });
    expect(await call("grep_files", { pattern: "x" })).toMatchObject({ matches: [{ path: "/workspace/real/f" }] });
  });

  test("a directory of links is deleted with them, and what they lead to stays", async () => {
    bed.put("links/f", "");
    link("../real/f", "links/file");
    link(bed.outside, "links/out");
    expect(await call("delete_file", { path: "links", recursive: true })).toMatchObject({ deleted: true });
    expect(bed.get("real/f")).toBe("x\n");
    expect(existsSync(join(bed.outside, "secret"))).toBe(true);
  });

  test("a link that takes turns with a directory lets nothing out", async () => {
    bed.put("turn/secret", "mine\n");
    bed.put("turn/mine", "");
    await symlink(bed.outside, join(bed.dir, "turn-link"));
    const [turn, directory, other] = ["turn", "turn-directory", "turn-link"].map((name) => join(bed.dir, name));
    let isOver = false;
    const swap = async () => {
      while (!isOver) {
        await rename(`${turn}`, `${directory}`);
        await rename(`${other}`, `${turn}`);
        await rename(`${turn}`, `${other}`);
        await rename(`${directory}`, `${turn}`);
      }
    };
    const swapping = swap();
    for (let round = 0; round < 150; round++) {
      const read = await call("read_file", { path: "turn/secret" });
      expect(read["content"] ?? "mine\n").toBe("mine\n");
      const listed = await call("list_directory", { path: "turn" });
      expect(JSON.stringify(listed["entries"] ?? "mine")).toContain("mine");
    }
    isOver = true;
    await swapping;
  });
});

describe("a session whose directory is a link", () => {
  const bed = useBed({ binding: { prefix: "session" } });

  test("is refused whole", async () => {
    symlinkSync(bed.outside, bed.dir);
    expect(await bed.fail("list_directory")).toContain("symlink");
    expect(await bed.fail("write_file", { path: "f", content: "x" })).toContain("symlink");
    expect(existsSync(join(bed.outside, "f"))).toBe(false);
  });
});
