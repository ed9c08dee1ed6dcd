// Windows answers EPERM where a directory is flushed: nothing asks it to.
import fs from "node:fs";
import { afterEach, beforeEach, describe, expect, jest, test } from "@jest/globals";
import { simulateSystem } from "../../src/core/system.js";
import { isUnflushable, syncDirectory } from "../../src/database/durable-files.js";
import { pool } from "../../src/jail/pool.js";
import { useGround } from "../ops/ground.js";

const ground = useGround({ journal: true, root: { durability: "flush" } });
const { run } = ground;
let restore: () => void;

beforeEach(() => {
  const fsync = pool.fsync;
  jest.spyOn(pool, "fsync").mockImplementation(async (fd) => {
    if (fs.fstatSync(fd).isDirectory())
      throw Object.assign(new Error("not permitted"), { code: "EPERM", syscall: "fsync" });
    await fsync(fd);
  });
  // The rename of Windows has a directory replace a file.
  const { renameSync } = fs;
  jest.spyOn(fs, "renameSync").mockImplementation((from, to) => {
    const found = fs.lstatSync(to, { throwIfNoEntry: false });
    if (found?.isFile() === true && fs.lstatSync(from).isDirectory()) fs.unlinkSync(to);
    renameSync(from, to);
  });
  restore = simulateSystem("win32");
});
afterEach(() => {
  restore();
  jest.restoreAllMocks();
});

describe("on Windows", () => {
  test("every change of a root is made and answered", async () => {
    await run("write", { path: "new/a.txt", content: "one\n", parents: true });
    await run("edit", { path: "new/a.txt", oldText: "one", newText: "two" });
    await run("append", { path: "new/a.txt", content: "three\n" });
    await run("append", { path: "new/b.txt", content: "four\n" });
    await run("mkdir", { path: "made/deep", parents: true });
    await run("copy", { path: "new", to: "copy", recursive: true });
    await run("move", { path: "copy/a.txt", to: "made/moved.txt" });
    await run("delete", { path: "copy", recursive: true });
    await run("patch", { patch: "*** Begin Patch\n*** Add File: p/1\n+x\n*** Add File: p/2\n+y\n*** End Patch\n" });
    await run("undo", { last: 1 });
    expect(ground.names()).toEqual(["made", "new"]);
    expect(ground.get("made/moved.txt").toString()).toBe("two\nthree\n");
  });

  test("a directory of the state is not even opened", async () => {
    await expect(syncDirectory("/nowhere")).resolves.toBeUndefined();
    restore();
    await expect(syncDirectory("/nowhere")).rejects.toMatchObject({ code: "ENOENT" });
  });
});

test("elsewhere an error of the disk is one", () => {
  expect(["EINVAL", "ENOTSUP", "EACCES", "EIO", "EPERM", undefined].map(isUnflushable)).toEqual([
    ...[true, true, true],
    ...[false, false, false],
  ]);
});
