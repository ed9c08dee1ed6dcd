import { linkSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "@jest/globals";
import { assembleAdapter, type FileAdapter } from "../../../src/adapter/adapter.js";
import { parseFileConfig } from "../../../src/config/load.js";
import { inArena } from "../../jail/arena.js";
import { failureOf } from "../../ops/ground.js";

/** Runs with a root `r` that has a quota; what is in it beforehand is put there by `before`. */
async function withQuota(
  quota: object,
  work: (files: FileAdapter, dir: string) => Promise<void>,
  before: (dir: string) => void = () => {},
): Promise<void> {
  await inArena(async ({ root }) => {
    for (const name of ["file", "dir", "empty"]) rmSync(join(root, name), { recursive: true, force: true });
    const dir = join(root, "own");
    const { mkdirSync } = await import("node:fs");
    mkdirSync(dir);
    before(dir);
    const roots = { r: { path: dir, quota, durability: "none" }, free: { temp: true } } as const;
    const files = await assembleAdapter(parseFileConfig({ roots }, { baseDir: "/" }), { discloseHostPaths: false });
    try {
      await work(files, dir);
    } finally {
      await files.close();
    }
  });
}

const write = (files: FileAdapter, path: string, bytes: number) =>
  files.invoke("file:write", { root: "r", path, content: "x".repeat(bytes), parents: true });
const quotaOf = async (files: FileAdapter) =>
  (await files.invoke("file:roots", {})).roots.find(({ name }) => name === "r")?.quota;

describe("a quota of bytes", () => {
  test("refuses what would exceed it before anything is written, and says how much there is", async () => {
    await withQuota({ bytes: 100 }, async (files) => {
      await write(files, "a", 60);
      expect(await failureOf(write(files, "b/c", 41))).toEqual({
        code: "QUOTA_EXCEEDED",
        message: "Quota of root 'r' exceeded: 60 of 100 bytes used, 41 more requested",
        data: { root: "r", path: "b/c", used: 60, limit: 100, requested: 41, unit: "bytes" },
      });
      await write(files, "b", 40);
      expect(await quotaOf(files)).toEqual({ bytes: 100, usedBytes: 100, usedFiles: 2 });
    });
  });

  test("counts an overwrite by its difference, and what an append adds", async () => {
    await withQuota({ bytes: 100 }, async (files) => {
      await write(files, "a", 100);
      await write(files, "a", 100);
      expect(await failureOf(write(files, "a", 101))).toMatchObject({ data: { requested: 1 } });
      await write(files, "a", 10);
      const append = (path: string, bytes: number) =>
        files.invoke("file:append", { root: "r", path, content: "x".repeat(bytes) });
      await append("a", 80);
      expect(await failureOf(append("a", 11))).toMatchObject({ code: "QUOTA_EXCEEDED", data: { used: 90 } });
      expect(await failureOf(append("new", 11))).toMatchObject({ code: "QUOTA_EXCEEDED" });
      await append("new", 10);
      expect(await quotaOf(files)).toMatchObject({ usedBytes: 100, usedFiles: 2 });
    });
  });

  test("gives back what is deleted, alone, in a directory and by a move over it", async () => {
    await withQuota({ bytes: 100 }, async (files) => {
      for (const path of ["a", "d/b", "d/e/c", "x"]) await write(files, path, 20);
      await files.invoke("file:delete", { root: "r", path: "a" });
      expect(await quotaOf(files)).toMatchObject({ usedBytes: 60, usedFiles: 3 });
      await files.invoke("file:move", { root: "r", path: "x", to: "d/b", overwrite: true });
      expect(await quotaOf(files)).toMatchObject({ usedBytes: 40, usedFiles: 2 });
      await files.invoke("file:delete", { root: "r", path: "d", recursive: true });
      expect(await quotaOf(files)).toMatchObject({ usedBytes: 0, usedFiles: 0 });
      await write(files, "a", 100);
      await files.invoke("file:delete", { root: "r", path: "a" });
      expect(await quotaOf(files)).toMatchObject({ usedBytes: 0 });
    });
  });

  test("holds for copies, of which nothing stays when they would exceed it", async () => {
    await withQuota({ bytes: 100, files: 4 }, async (files) => {
      await write(files, "d/a", 30);
      await write(files, "d/b", 30);
      const copy = (path: string, to: string, more = {}) =>
        files.invoke("file:copy", { root: "r", path, to, recursive: true, ...more });
      expect(await failureOf(copy("d", "e"))).toMatchObject({ code: "QUOTA_EXCEEDED", data: { path: "e" } });
      expect(await quotaOf(files)).toMatchObject({ usedBytes: 60, usedFiles: 2 });
      await copy("d/a", "c");
      await copy("d/b", "c", { overwrite: true });
      expect(await quotaOf(files)).toMatchObject({ usedBytes: 90, usedFiles: 3 });
      expect(await failureOf(copy("d/b", "f"))).toMatchObject({ code: "QUOTA_EXCEEDED" });
      await files.invoke("file:move", { root: "r", path: "d", to: "d", toRoot: "free" });
      expect(await quotaOf(files)).toMatchObject({ usedBytes: 30, usedFiles: 1 });
      await files.invoke("file:move", { root: "free", path: "d", to: "back", toRoot: "r" });
      expect(await quotaOf(files)).toMatchObject({ usedBytes: 90, usedFiles: 3 });
      expect((await files.invoke("file:list", { root: "r" })).entries.map(({ name }) => name)).toEqual(["back", "c"]);
    });
  });

  test("cannot be passed by many at once, nor lose anything by those that fail", async () => {
    await withQuota({ bytes: 1000 }, async (files) => {
      for (let round = 0; round < 5; round++) {
        const calls = Array.from({ length: 40 }, (_, index) => write(files, `f${round}-${index}`, 100));
        const ends = await Promise.allSettled(calls);
        expect(ends.filter(({ status }) => status === "fulfilled")).toHaveLength(10);
        expect(await quotaOf(files)).toMatchObject({ usedBytes: 1000, usedFiles: 10 });
        const { entries } = await files.invoke("file:list", { root: "r" });
        for (const { name } of entries) await files.invoke("file:delete", { root: "r", path: name });
        expect(await quotaOf(files)).toMatchObject({ usedBytes: 0, usedFiles: 0 });
      }
    });
  });

  test("counts what was there, a file with several names once, and changes wait for that", async () => {
    const before = (dir: string) => {
      writeFileSync(join(dir, "a"), "x".repeat(50));
      linkSync(join(dir, "a"), join(dir, "b"));
      for (let index = 0; index < 500; index++) writeFileSync(join(dir, `f${index}`), "");
    };
    await withQuota(
      { bytes: 60 },
      async (files) => {
        expect(await failureOf(write(files, "new", 11))).toMatchObject({ data: { used: 50, requested: 11 } });
        expect(await quotaOf(files)).toEqual({ bytes: 60, usedBytes: 50, usedFiles: 501 });
        await files.invoke("file:delete", { root: "r", path: "a" });
        expect(await quotaOf(files)).toMatchObject({ usedBytes: 50, usedFiles: 501 });
        await files.invoke("file:delete", { root: "r", path: "b" });
        expect(await quotaOf(files)).toMatchObject({ usedBytes: 0, usedFiles: 500 });
      },
      before,
    );
  });

  test("lets go of what is over it already, and of nothing else", async () => {
    await withQuota(
      { bytes: 10 },
      async (files) => {
        expect(await failureOf(write(files, "b", 1))).toMatchObject({ code: "QUOTA_EXCEEDED" });
        await write(files, "a", 20);
        await files.invoke("file:delete", { root: "r", path: "a" });
        await write(files, "b", 10);
      },
      (dir) => writeFileSync(join(dir, "a"), "x".repeat(50)),
    );
  });
});

describe("a quota of files", () => {
  test("counts neither directories nor links", async () => {
    await withQuota({ files: 2 }, async (files) => {
      await files.invoke("file:mkdir", { root: "r", path: "a/b/c", parents: true });
      await write(files, "a/x", 0);
      await write(files, "a/y", 0);
      expect(await failureOf(write(files, "z", 0))).toMatchObject({
        message: "Quota of root 'r' exceeded: 2 of 2 files used, 1 more requested",
        data: { unit: "files" },
      });
      await write(files, "a/x", 5);
      expect(await quotaOf(files)).toEqual({ files: 2, usedBytes: 5, usedFiles: 2 });
    });
  });
});

test("temp roots may hold 1 GiB unless told otherwise, host roots whatever there is room for", async () => {
  const { roots } = parseFileConfig(
    { roots: { t: { temp: true }, u: { temp: true, quota: {} }, h: "/" } },
    { baseDir: "/" },
  );
  expect([roots["t"], roots["u"], roots["h"]].map((root) => (root?.kind === "dlfs" ? root : root?.quota))).toEqual([
    { bytes: 1_073_741_824 },
    {},
    undefined,
  ]);
});
