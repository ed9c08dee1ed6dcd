// What others do to content in the trash is seen: it is not given back as what was deleted or replaced.

import {
  appendFileSync,
  linkSync,
  mkdirSync,
  readdirSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { describe, expect, test } from "@jest/globals";
import { useGround } from "../ground.js";

const LARGE = "x".repeat(70_000);
const ground = useGround({ journal: true });
const { run, fail } = ground;
/** The one item of the trash. */
const item = (): string => {
  const trash = join(ground.dir, ".venue-files", "trash");
  return join(trash, readdirSync(trash)[0] ?? "");
};
const newest = async () => (await run("history", { limit: 1 })).entries[0];

describe("something else in the place of a deleted entry", () => {
  const deleteOne = async (path: string): Promise<string> => (await run("delete", { path, recursive: true })).id ?? "";

  test.each<[string, string, (at: string) => void]>([
    ["a file by a link", "f", (at) => symlinkSync("/etc/passwd", at)],
    ["a file by a folder", "f", (at) => mkdirSync(at)],
    ["a folder by a link", "d", (at) => symlinkSync("/etc", at)],
    ["a folder by a file", "d", (at) => writeFileSync(at, "x")],
  ])("is no success: %s", async (_, path, put) => {
    ground.put("f", "content");
    ground.put("d/f", "content");
    const id = await deleteOne(path);
    const at = item();
    rmSync(at, { recursive: true });
    put(at);
    expect(await newest()).toMatchObject({ id, undoable: false, reason: "altered" });
    expect(await fail("undo", { id })).toMatchObject({ code: "NOT_SUPPORTED", data: { reason: "altered" } });
    expect(ground.names()).toEqual([path === "f" ? "d" : "f"]);
  });

  test("is no success: a file by another file", async () => {
    ground.put("f", "content");
    const id = await deleteOne("f");
    // Both are there at once, so that they have two inode numbers.
    writeFileSync(join(ground.outside, "other"), "content");
    renameSync(join(ground.outside, "other"), item());
    expect(await newest()).toMatchObject({ id, undoable: false, reason: "altered" });
    expect(await fail("undo", { id })).toMatchObject({ code: "NOT_SUPPORTED", data: { reason: "altered" } });
  });

  test("nothing there any more is told as well", async () => {
    ground.put("f", "content");
    const id = await deleteOne("f");
    rmSync(item());
    expect(await newest()).toMatchObject({ id, undoable: false, reason: "pruned" });
    expect(await fail("undo", { id })).toMatchObject({ code: "NOT_SUPPORTED", data: { reason: "pruned" } });
  });

  test("what a program has written to the file since, or another name of it, comes back", async () => {
    ground.put("f", "content");
    linkSync(join(ground.dir, "f"), join(ground.outside, "f"));
    const id = await deleteOne("f");
    appendFileSync(item(), " and more");
    rmSync(join(ground.outside, "f"));
    expect(await newest()).toMatchObject({ id, undoable: true });
    await run("undo", { id });
    expect(ground.get("f").toString()).toBe("content and more");
    const { entries } = await run("history", { limit: 2 });
    expect(entries[1]).toMatchObject({ id, undoable: true });
  });
});

test("a before-image that was altered shows in its entry, and is not given back", async () => {
  ground.put("f", LARGE);
  await run("write", { path: "f", content: "new" });
  expect(await newest()).toMatchObject({ undoable: true });
  writeFileSync(item(), "forged");
  const entry = await newest();
  expect(entry).toMatchObject({ undoable: false, reason: "altered" });
  expect(await fail("undo", { id: entry?.id })).toMatchObject({ data: { reason: "altered" } });
  expect(ground.get("f").toString()).toBe("new");
});

test("the entry of a deleted tree says how many files it had", async () => {
  for (const path of ["t/a", "t/b/c", "t/b/d"]) ground.put(path, "x");
  mkdirSync(join(ground.dir, "t/empty"));
  await run("delete", { path: "t", recursive: true });
  for (let left = 100; left > 0 && (await newest())?.files === undefined; left--) await pause(20);
  expect(await newest()).toMatchObject({ kind: "directory", files: 3 });
  await run("undo", { last: 1 });
  expect(ground.names("t/b")).toEqual(["c", "d"]);
});
