import fs from "node:fs";
import { join } from "node:path";
import { afterEach, describe, expect, jest, test } from "@jest/globals";
import { NativeSource } from "../../../src/jail/native/calls.js";
import { pool } from "../../../src/jail/pool.js";
import { inArena } from "../../jail/arena.js";
import { withFiles } from "../../jail/files.js";
import { useGround } from "../../ops/ground.js";

afterEach(() => {
  jest.restoreAllMocks();
});

describe("a file that replaces another", () => {
  test("is given owner and mode only where it does not have them already", () =>
    inArena(async ({ root, file }) => {
      file("same", "x");
      file("closed", "x");
      fs.chmodSync(join(root, "same"), 0o644 & ~process.umask());
      // No new file gets this mode: set-id bits are not kept, and the mask of this process takes nothing away from it.
      fs.chmodSync(join(root, "closed"), 0o4600);
      const own = jest.spyOn(fs, "fchownSync");
      const mode = jest.spyOn(fs, "fchmodSync");
      await withFiles(root, async (files) => {
        for (const path of ["same", "closed"]) {
          await files.invoke("write", { path, content: "new" });
          expect([own.mock.calls.length, mode.mock.calls.length]).toEqual([0, 0]);
        }
        const mask = process.umask(0o077);
        try {
          await files.invoke("write", { path: "same", content: "newer" });
        } finally {
          process.umask(mask);
        }
        expect([own.mock.calls.length, mode.mock.calls.length]).toEqual([0, 1]);
      });
      expect(fs.statSync(join(root, "same")).mode & 0o7777).toBe(0o644 & ~process.umask());
      expect(fs.statSync(join(root, "closed")).mode & 0o7777).toBe(0o600);
    }));

  test("leaves a large old one to the thread pool, a few at a time, however quick the writes are", () =>
    inArena(async ({ root, file }) => {
      const content = (index: number): string => `${index}`.padEnd(40_000);
      file("file", content(0));
      const close = pool.close;
      let [all, now, most] = [0, 0, 0];
      jest.spyOn(pool, "close").mockImplementation(async (fd) => {
        all++;
        most = Math.max(most, ++now);
        await close(fd);
        now--;
      });
      const writes = 200;
      await withFiles(root, async (files) => {
        for (let index = 0; index < writes; index++)
          await files.invoke("write", { path: "file", content: content(index) });
      });
      expect(now).toBe(0);
      expect(all).toBeGreaterThan(0);
      expect(most).toBeLessThanOrEqual(32);
      expect(fs.readFileSync(join(root, "file"), "utf8")).toBe(content(writes - 1));
    }));
});

describe("a file whose history is kept", () => {
  const ground = useGround({ journal: true });
  /** Tells apart what has had the same inode number. */
  const fileAt = (path: string): string => {
    const { ino, birthtimeNs } = fs.statSync(join(ground.dir, path), { bigint: true });
    return `${ino} of ${birthtimeNs}`;
  };

  test("leaves nothing to the thread pool where the old one stays by another name", async () => {
    const sizes: number[] = [];
    const close = pool.close;
    const [large, small] = [100_000, 40_000];
    const smallClosed = new Promise<void>((resolve) => {
      jest.spyOn(pool, "close").mockImplementation((fd) => {
        const { size } = fs.fstatSync(fd);
        sizes.push(size);
        if (size === small) resolve();
        return close(fd);
      });
    });
    ground.put("large", "x".repeat(large));
    ground.put("small", "x".repeat(small));
    await ground.run("write", { path: "large", content: "new" });
    await ground.run("write", { path: "small", content: "new" });
    await smallClosed;
    expect(sizes).toEqual([small]);
  });

  test("is a file of its own for each content that stays in the trash", async () => {
    const made = new Set<string>();
    NativeSource.shared.load();
    const contents = ["a", "b", "c", "d", "e"].map((letter) => letter.repeat(65_537));
    for (const content of contents) {
      await ground.run("write", { path: "in the trash", content });
      made.add(fileAt("in the trash"));
    }
    expect(made.size).toBe(contents.length);
    const { entries } = await ground.run("history", { path: "in the trash" });
    const { content } = await ground.run("read", { path: "in the trash", version: `${entries.at(-1)?.id}:after` });
    expect(content).toBe(contents[0]);
  });
});
