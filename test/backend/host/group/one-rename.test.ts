import fs, { chmodSync, readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { afterEach, describe, expect, jest, test } from "@jest/globals";
import { pool } from "../../../../src/jail/pool.js";
import { useGround } from "../../../ops/ground.js";

const ground = useGround({ journal: true, root: { durability: "flush" } });
const { run } = ground;

afterEach(() => {
  jest.restoreAllMocks();
});

/** How often something is flushed to the disk. */
async function flushes(work: () => Promise<unknown>): Promise<number> {
  const fsync = jest.spyOn(pool, "fsync");
  await work();
  const count = fsync.mock.calls.length;
  fsync.mockRestore();
  return count;
}

describe("a group of one file that is replaced", () => {
  test("is flushed as often as a write: no record is needed to undo it after a crash", async () => {
    ground.put("a.txt", "one\n");
    const edit = await flushes(() => run("edit", { path: "a.txt", oldText: "one", newText: "two" }));
    const undo = await flushes(() => run("undo", { last: 1 }));
    expect(edit).toBeGreaterThan(0);
    expect(undo).toBe(edit);
    expect(ground.get("a.txt").toString()).toBe("one\n");
  });

  test("of more files or with new folders is recorded first", async () => {
    for (const name of ["a.txt", "b.txt"]) ground.put(name, "one\n");
    const patch = (...paths: string[]): string =>
      ["*** Begin Patch", ...paths.flatMap((path) => [`*** Add File: ${path}`, "+x"]), "*** End Patch", ""].join("\n");
    const one = await flushes(() => run("patch", { patch: patch("new.txt") }));
    expect(await flushes(() => run("patch", { patch: patch("c.txt", "d.txt") }))).toBeGreaterThan(one + 1);
    expect(await flushes(() => run("patch", { patch: patch("deep/new.txt") }))).toBeGreaterThan(one + 1);
  });

  test("leaves nothing behind where it fails", async () => {
    ground.put("a.txt", "one\n");
    await run("edit", { path: "a.txt", oldText: "one", newText: "two" });
    const fsync = jest.spyOn(pool, "fsync");
    fsync.mockImplementationOnce(fsync.getMockImplementation() ?? (() => Promise.resolve()));
    fsync.mockImplementationOnce(() =>
      Promise.reject(Object.assign(new Error("io"), { code: "EIO", syscall: "fsync" })),
    );
    await expect(run("undo", { last: 1 })).rejects.toMatchObject({ code: "IO_ERROR" });
    fsync.mockRestore();
    expect(ground.get("a.txt").toString()).toBe("two\n");
    await run("undo", { last: 1 });
    expect(ground.get("a.txt").toString()).toBe("one\n");
    const left = (): string[] =>
      readdirSync(join(ground.dir, ".venue-files")).filter((name) => name.startsWith("patch-"));
    // Folders are removed after the answer.
    while (left().length > 0) await new Promise((resolve) => setImmediate(resolve));
  });
});

describe("a group of one file that is replaced, without flushes", () => {
  const quick = useGround({ journal: true, root: { durability: "none" } });

  test("is one write: it makes no folder and leaves nothing behind, and the permissions come back", async () => {
    quick.put("a.txt", "one\n");
    chmodSync(join(quick.dir, "a.txt"), 0o640);
    const { mtimeMs } = statSync(join(quick.dir, "a.txt"));
    await quick.run("edit", { path: "a.txt", oldText: "one", newText: "two" });
    const mkdir = jest.spyOn(fs, "mkdirSync");
    await quick.run("undo", { last: 1 });
    expect(mkdir).not.toHaveBeenCalled();
    expect(quick.get("a.txt").toString()).toBe("one\n");
    const stat = statSync(join(quick.dir, "a.txt"));
    expect([stat.mode & 0o777, Math.floor(stat.mtimeMs)]).toEqual([0o640, Math.floor(mtimeMs)]);
  });
});
