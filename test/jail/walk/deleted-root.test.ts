import fs, { chmodSync, chownSync, mkdirSync, renameSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, describe, expect, jest, test } from "@jest/globals";
import { createFileAdapter } from "../../../src/index.js";
import { needs } from "../../needs.js";
import { type Arena, expectClosedSoon, INSIDE, inArena, openDescriptors } from "../arena.js";
import { codeOf, ENGINES, type Files, filesOf, ROOT, withFiles } from "../files.js";

afterEach(() => {
  jest.restoreAllMocks();
});

const HANDLES = ENGINES.filter((engine) => engine !== "real-path check");
const asRoot = needs(process.geteuid?.() === 0, "needs root to give files to others");

const erase = (path: string): void => rmSync(path, { recursive: true });

/** Puts a root with one file where a root was. */
function make(path: string): void {
  mkdirSync(path);
  writeFileSync(join(path, "new.txt"), "new");
}

const isTaken = async (files: Files): Promise<boolean> =>
  (await codeOf(files.invoke("read", { path: "new.txt" }))) === "ok";

/** Runs `work` on a root that has been deleted while it was served. */
const onDeleted = (work: (files: Files, arena: Arena) => Promise<void>, engine = HANDLES[0]): Promise<void> =>
  inArena((arena) =>
    withFiles(
      arena.root,
      async (files) => {
        await files.invoke("write", { path: "file.txt", content: "old" });
        erase(arena.root);
        await work(files, arena);
      },
      engine === undefined ? {} : { engine },
    ),
  );

describe.each(HANDLES)("a root that is deleted while it is served, by %s", (engine) => {
  test("is empty until it is created again, and then served again", () =>
    onDeleted(async (files, { root }) => {
      expect(await files.invoke("list")).toMatchObject({ entries: [], total: 0 });
      expect(await codeOf(files.invoke("read", { path: "file.txt" }))).toBe("NOT_FOUND");
      expect(await codeOf(files.invoke("write", { path: "a/b", content: "", parents: true }))).toBe("NOT_FOUND");
      expect(fs.existsSync(root)).toBe(false);
      make(root);
      expect(await files.invoke("read", { path: "new.txt" })).toMatchObject({ content: "new" });
      expect(await codeOf(files.invoke("read", { path: "file.txt" }))).toBe("NOT_FOUND");
      await files.invoke("write", { path: "a/b", content: "written", parents: true });
      expect(fs.readFileSync(join(root, "a/b"), "utf8")).toBe("written");
      await expectClosedSoon(openDescriptors().filter((path) => !path.endsWith("(deleted)")));
      erase(root);
      make(root);
      expect(await files.invoke("list")).toMatchObject({ entries: [{ name: "new.txt" }], total: 1 });
    }, engine));
});

describe("a root that was created again is found by the first call:", () => {
  test.each<[string, Record<string, unknown>, Record<string, unknown>]>([
    ["list", {}, { total: 1 }],
    ["tree", {}, { entries: 1 }],
    ["glob", { pattern: "*" }, { paths: ["new.txt"] }],
    ["stat", { path: "new.txt" }, { exists: true }],
    ["write", { path: "a/b", content: "x", parents: true }, { created: true }],
    ["append", { path: "new.txt", content: "er" }, { size: 5 }],
    ["delete", { path: "new.txt" }, { existed: true }],
    ["move", { path: "new.txt", to: "other.txt" }, { moved: true }],
    ["copy", { path: "new.txt", to: "other.txt" }, { copied: true }],
  ])("%s", (operation, input, answer) =>
    onDeleted(async (files, { root }) => {
      make(root);
      expect(await files.invoke(operation, input)).toMatchObject(answer);
    }),
  );
});

describe("not accepted in place of a deleted root", () => {
  test("a link to a directory, at its path or above it", () =>
    onDeleted(async (files, { base, root, outside }) => {
      writeFileSync(join(outside, "new.txt"), "new");
      symlinkSync(outside, root);
      expect(await isTaken(files)).toBe(false);
      fs.unlinkSync(root);
      renameSync(base, `${base}-moved`);
      try {
        make(join(`${base}-moved`, "root"));
        symlinkSync(`${base}-moved`, base);
        expect(await isTaken(files)).toBe(false);
        fs.unlinkSync(base);
      } finally {
        renameSync(`${base}-moved`, base);
      }
      expect(await isTaken(files)).toBe(true);
    }));

  test("a file", () =>
    onDeleted(async (files, { root }) => {
      writeFileSync(root, "");
      expect(await codeOf(files.invoke("read", { path: "new.txt" }))).toBe("NOT_FOUND");
      expect(await files.invoke("list")).toMatchObject({ total: 0 });
    }));

  test("anything below a directory that other users may write to", () =>
    onDeleted(async (files, { base, root }) => {
      make(root);
      chmodSync(base, 0o777);
      expect(await isTaken(files)).toBe(false);
      chmodSync(base, 0o755);
      expect(await isTaken(files)).toBe(true);
    }));

  asRoot("a directory of somebody else in one like /tmp", () =>
    onDeleted(async (files, { base, root }) => {
      make(root);
      chmodSync(base, 0o1777);
      chownSync(root, 12_345, 12_345);
      expect(await isTaken(files)).toBe(false);
      chownSync(root, 0, 0);
      expect(await isTaken(files)).toBe(true);
    }),
  );

  test("a directory at the path of a root that was only renamed", () =>
    inArena(({ base, root }) =>
      withFiles(root, async (files) => {
        renameSync(root, join(base, "moved"));
        make(root);
        expect(await isTaken(files)).toBe(false);
        expect(await files.invoke("read", { path: "file.txt" })).toMatchObject({ content: INSIDE });
        erase(join(base, "moved"));
        expect(await isTaken(files)).toBe(true);
      }),
    ));
});

test("one of many concurrent calls opens the new directory", () =>
  onDeleted(async (files, { root }) => {
    make(root);
    const opened = jest.spyOn(fs, "openSync");
    const calls = Array.from({ length: 20 }, (_, n) =>
      n % 2 === 0 ? files.invoke("list") : files.invoke("write", { path: `f${n}`, content: "x" }),
    );
    await Promise.all(calls);
    expect(opened.mock.calls.filter(([path]) => path === root)).toHaveLength(1);
    expect(await files.invoke("list")).toMatchObject({ total: 11 });
  }, "handle walk in the thread pool"));

test("a write that began before the root was deleted ends with an error, not in the new one", () =>
  inArena(({ root }) =>
    withFiles(root, async (files) => {
      const rename = fs.renameSync;
      jest.spyOn(fs, "renameSync").mockImplementationOnce((from, to) => {
        erase(root);
        make(root);
        rename(from, to);
      });
      expect(await codeOf(files.invoke("write", { path: "late", content: "x" }))).toBe("NOT_FOUND");
      expect(await isTaken(files)).toBe(true);
      expect(await codeOf(files.invoke("read", { path: "late" }))).toBe("NOT_FOUND");
    }),
  ));

test("its quota is counted again", () =>
  inArena(async ({ root }) => {
    const adapter = await createFileAdapter({ roots: { [ROOT]: { path: root, quota: { bytes: 1000 } } } });
    const files = filesOf(adapter);
    const before = openDescriptors();
    try {
      await files.invoke("write", { path: "large", content: "x".repeat(900) });
      expect(await codeOf(files.invoke("write", { path: "more", content: "x".repeat(900) }))).toBe("QUOTA_EXCEEDED");
      erase(root);
      make(root);
      expect(await codeOf(files.invoke("write", { path: "more", content: "x".repeat(900) }))).toBe("ok");
      expect(await codeOf(files.invoke("write", { path: "much", content: "x".repeat(98) }))).toBe("QUOTA_EXCEEDED");
      // The staging directory stays open for a while.
      const now = openDescriptors().filter((path) => path !== `${root}/.venue-files`);
      expect(now).toHaveLength(before.length);
    } finally {
      await adapter.close();
    }
  }));
