import { existsSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { beforeEach, describe, expect, test } from "@jest/globals";
import { newEntryId } from "../../../src/core/entry-id.js";
import { useGround } from "../ground.js";

/** What a cloned repository can bring along in its `.venue-files`, at the top of a root and below it. */
describe("a repository that brings .venue-files along", () => {
  const ground = useGround({ journal: true });
  const { run } = ground;
  const id = newEntryId(Date.now() - 1000);
  const at = (path: string): string => join(ground.dir, path);
  const bring = (path: string, content: string): void => {
    mkdirSync(dirname(at(path)), { recursive: true });
    writeFileSync(at(path), content);
  };
  const record = (path: string, staged: string) =>
    JSON.stringify({
      format: 1,
      steps: [
        {
          made: [],
          put: { path: [path], after: { type: "file", inode: "1", size: 3, modified: 1 }, staged, before: "before-0" },
        },
        { taken: { path: ["stolen.txt"], what: { type: "file", inode: "1", size: 3, modified: 1 }, kept: "kept-0" } },
      ],
    });

  beforeEach(() => {
    ground.put("victim.txt", "safe");
    for (const top of ["", "vendor/lib/"]) {
      const stage = `${top}.venue-files`;
      const trash = `${stage}/trash/${"0".repeat(32)}-${id}`;
      bring(trash, "planted");
      symlinkSync("/etc/passwd", at(`${stage}/trash/${"1".repeat(32)}-${id}`));
      for (const owner of ["d1-1-1-1-0123456789abcdef", "d4032323-4026531836-999999-1-0123456789abcdef"]) {
        const folder = `${stage}/patch-${owner}`;
        bring(`${folder}/record-0`, record("victim.txt", "after-0"));
        bring(`${folder}/before-0`, "planted");
        bring(`${folder}/kept-0`, "planted");
        symlinkSync("../../../../../../etc", at(`${folder}/after-0`));
      }
      bring(`${stage}/lock`, "d4032323-4026531836-999999-1-0123456789abcdef");
    }
  });

  test("has nothing of it applied, followed or shown", async () => {
    await run("write", { path: "new.txt", content: "one" });
    await run("patch", { patch: "*** Begin Patch\n*** Add File: a.txt\n+a\n*** Add File: b.txt\n+b\n*** End Patch\n" });
    await run("delete", { path: "new.txt" });
    expect(readFileSync(at("victim.txt"), "utf8")).toBe("safe");
    expect(existsSync(at("stolen.txt"))).toBe(false);
    const { entries } = await run("trash", {});
    expect(entries.map(({ path }) => path)).toEqual(["new.txt"]);
    const shown = JSON.stringify([await run("list", {}), await run("history", {}), await run("tree", {})]);
    expect(shown).not.toMatch(/venue-files|planted|passwd|patch-d/);
    for (const version of ["before", "after"]) {
      const read = run("read", { path: "victim.txt", version: `${id}:${version}` });
      await expect(read).rejects.toMatchObject({ code: "INVALID_INPUT" });
    }
    await expect(run("undo", { id })).rejects.toMatchObject({ code: "NOT_FOUND" });
    await run("undo", { last: 1 });
    expect(ground.get("new.txt").toString()).toBe("one");
  });

  test("is not emptied by a purge of what is ours, and a folder with it is not deleted", async () => {
    ground.put("mine.txt", "mine");
    await run("delete", { path: "mine.txt" });
    await run("purge", { all: true });
    expect(readdirSync(at(".venue-files/trash")).sort()).toEqual([
      `${"0".repeat(32)}-${id}`,
      `${"1".repeat(32)}-${id}`,
    ]);
    expect((await run("trash", {})).entries).toEqual([]);
    const deleted = run("delete", { path: "vendor", recursive: true });
    await expect(deleted).rejects.toMatchObject({ code: "DENIED_BY_POLICY" });
    expect(existsSync(at("vendor/lib/.venue-files/trash"))).toBe(true);
    expect(existsSync("/etc/passwd")).toBe(true);
  });
});
