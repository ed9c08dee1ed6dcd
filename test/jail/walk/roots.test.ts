import { chmodSync, mkdirSync, readFileSync, renameSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "@jest/globals";
import { createFileAdapter } from "../../../src/index.js";
import { CANARY, expectClosedSoon, INSIDE, inArena, openDescriptors } from "../arena.js";
import { outcomeOf, ROOT, withFiles } from "../files.js";

const opening = (path: string): Promise<unknown> => createFileAdapter({ roots: { [ROOT]: path } });

describe("what cannot be a root", () => {
  test.each([
    ["/", "it is the whole file system"],
    ["/proc", "it belongs to the kernel"],
    ["/proc/self", "it belongs to the kernel"],
    ["/sys", "it belongs to the kernel"],
    ["/sys/kernel", "it belongs to the kernel"],
    ["/dev", "it holds device files"],
  ])("%s", async (path, reason) => {
    await expect(opening(path)).rejects.toThrow(`Root 'r' cannot be a root: ${reason}: ${path}`);
  });

  test("a link to one of them", async () => {
    await inArena(async ({ root, link }) => {
      link("link", "/proc/self");
      link("top", "/");
      await expect(opening(join(root, "link"))).rejects.toThrow("it belongs to the kernel");
      await expect(opening(join(root, "top"))).rejects.toThrow("it is the whole file system");
    });
  });

  test("nothing, a file, and a link that dangles", async () => {
    await inArena(async ({ root, link }) => {
      link("link", "missing");
      await expect(opening(join(root, "missing"))).rejects.toThrow("does not exist or cannot be reached");
      await expect(opening(join(root, "link"))).rejects.toThrow("does not exist or cannot be reached");
      await expect(opening(join(root, "file.txt"))).rejects.toThrow("is not a directory");
    });
  });

  test("an invalid root closes the roots opened before it, and the error names every fault", async () => {
    await inArena(async ({ root }) => {
      const before = openDescriptors();
      const roots = { good: root, one: join(root, "missing"), two: "/proc" };
      await expect(createFileAdapter({ roots })).rejects.toThrow(/Root 'one' .*\nRoot 'two' /);
      await expectClosedSoon(before);
    });
  });
});

describe("roots inside each other", () => {
  test("are served with a warning, and keep their writers apart from each other", async () => {
    await inArena(async ({ root }) => {
      const adapter = await createFileAdapter({ roots: { outer: root, inner: join(root, "dir") } });
      try {
        expect(adapter.warnings).toContain("Root 'inner' lies inside root 'outer' and can be reached through it");
        const appends = Array.from({ length: 100 }, (_, n) =>
          n % 2 === 0
            ? adapter.invoke("file:append", { root: "inner", path: "log", content: "i" })
            : adapter.invoke("file:append", { root: "outer", path: "dir/log", content: "o" }),
        );
        await Promise.all(appends);
        expect(readFileSync(join(root, "dir/log"), "utf8")).toHaveLength(100);
      } finally {
        await adapter.close();
      }
    });
  });

  test("a link from the inner root into the outer one leaves the inner one", async () => {
    await inArena(async ({ root, link }) => {
      link("dir/link", "../file.txt");
      const adapter = await createFileAdapter({ roots: { outer: root, inner: join(root, "dir") } });
      try {
        await expect(adapter.invoke("file:read", { root: "inner", path: "link" })).rejects.toMatchObject({
          code: "SYMLINK_ESCAPE",
        });
        await expect(adapter.invoke("file:read", { root: "outer", path: "dir/link" })).resolves.toMatchObject({
          content: INSIDE,
        });
      } finally {
        await adapter.close();
      }
    });
  });
});

describe("a root that is renamed while it is served", () => {
  test("stays the same directory, whatever takes its name", async () => {
    await inArena(async ({ base, root, outside }) => {
      await withFiles(root, async (files) => {
        const moved = join(base, "moved");
        renameSync(root, moved);
        symlinkSync(outside, root);
        expect(await files.invoke("read", { path: "file.txt" })).toMatchObject({ content: INSIDE });
        await files.invoke("write", { path: "new", content: "new", parents: true });
        expect(readFileSync(join(moved, "new"), "utf8")).toBe("new");
        expect((await files.invoke("list"))["total"]).toBe(3);
        expect((await outcomeOf(files.invoke("read", { path: "canary.txt" }))).code).toBe("NOT_FOUND");
        expect(await files.invoke("delete", { path: "dir", recursive: true })).toMatchObject({ deleted: true });
      });
      expect(readFileSync(join(outside, "canary.txt"), "utf8")).toBe(CANARY);
    });
  });

  test("control: by paths, the new directory of that name is served", async () => {
    await inArena(async ({ base, root, outside }) => {
      await withFiles(
        root,
        async (files) => {
          renameSync(root, join(base, "moved"));
          renameSync(outside, root);
          expect(await files.invoke("read", { path: "canary.txt" })).toMatchObject({ content: CANARY });
        },
        { engine: "real-path check" },
      );
    });
  });
});

test("a root given by a link is the directory it leads to, and links that name it so stay inside", async () => {
  await inArena(async ({ base, root }) => {
    symlinkSync(root, join(base, "alias"));
    symlinkSync(join(root, "file.txt"), join(root, "by-real-name"));
    symlinkSync(join(base, "alias/file.txt"), join(root, "by-alias"));
    await withFiles(join(base, "alias"), async (files) => {
      expect(await files.invoke("read", { path: "by-real-name" })).toMatchObject({ content: INSIDE });
      expect((await outcomeOf(files.invoke("read", { path: "by-alias" }))).code).toBe("SYMLINK_ESCAPE");
    });
  });
});

test("a root under a directory that others may write to is served with a warning", async () => {
  await inArena(async ({ base }) => {
    const shared = join(base, "shared");
    mkdirSync(join(shared, "root"), { recursive: true });
    chmodSync(shared, 0o777);
    writeFileSync(join(shared, "root/file"), INSIDE);
    const adapter = await createFileAdapter({ roots: { [ROOT]: join(shared, "root") } });
    expect(adapter.warnings).toEqual([expect.stringContaining("others may write to a directory above")]);
    await adapter.close();
    chmodSync(shared, 0o1777);
    const sticky = await createFileAdapter({ roots: { [ROOT]: join(shared, "root") } });
    expect(sticky.warnings).toEqual([]);
    await sticky.close();
  });
});
