import fs, { linkSync, mkdirSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import { afterEach, describe, expect, jest, test } from "@jest/globals";
import { createFileAdapter } from "../../src/index.js";
import { type Arena, inArena } from "./arena.js";
import { codeOf, type Files, filesOf, ROOT } from "./files.js";
import { foldEverywhere } from "./fold-everywhere.js";

afterEach(() => {
  jest.restoreAllMocks();
});

/** Runs `work` on an empty root in which `.env` is denied. */
const onEmpty = (readOnly: boolean, work: (files: Files, arena: Arena) => Promise<void>): Promise<void> =>
  inArena(async (arena) => {
    rmSync(arena.root, { recursive: true });
    mkdirSync(arena.root);
    const adapter = await createFileAdapter({ roots: { [ROOT]: { path: arena.root, deny: [".env"], readOnly } } });
    try {
      await work(filesOf(adapter), arena);
    } finally {
      await adapter.close();
    }
  });

test("a writable empty root is tested with the staging directory", async () => {
  foldEverywhere();
  await onEmpty(false, async (files, { root }) => {
    expect(readdirSync(root)).toEqual([]);
    expect(await codeOf(files.invoke("write", { path: ".ENV", content: "" }))).toBe("DENIED_BY_POLICY");
    await files.invoke("write", { path: "Name", content: "text" });
    const aside = await files.invoke("move", { path: "nAME", to: "name" });
    expect(aside).toMatchObject({ moved: true });
    expect(readdirSync(root).filter((name) => name !== ".venue-files")).toEqual(["name"]);
  });
});

test("a read-only empty root is tested once, when it gets an entry", async () => {
  foldEverywhere();
  await onEmpty(true, async (files, { root }) => {
    expect(await codeOf(files.invoke("read", { path: "1" }))).toBe("NOT_FOUND");
    writeFileSync(join(root, "1"), "");
    expect(await codeOf(files.invoke("read", { path: "1" }))).toBe("ok");
    writeFileSync(join(root, ".env"), "secret");
    expect(await codeOf(files.invoke("read", { path: ".ENV" }))).toBe("DENIED_BY_POLICY");
    const looks = jest.spyOn(fs, "opendirSync");
    for (let call = 0; call < 3; call++) await files.invoke("read", { path: "1" });
    expect(looks).not.toHaveBeenCalled();
  });
});

test("control: where case is told apart, patterns are compared exactly, in an empty root too", () =>
  onEmpty(false, async (files, { root }) => {
    expect(await codeOf(files.invoke("write", { path: ".env", content: "" }))).toBe("DENIED_BY_POLICY");
    expect(await codeOf(files.invoke("write", { path: ".ENV", content: "" }))).toBe("ok");
    expect(readdirSync(root)).toContain(".ENV");
  }));

describe("a single directory that folds, below a root that does not,", () => {
  /** `folded/` folds and has `.env`, `Name` and `key.PEM`; `plain/` does not. */
  const onMixed = (work: (files: Files, arena: Arena) => Promise<void>): Promise<void> =>
    inArena(async (arena) => {
      rmSync(arena.root, { recursive: true });
      for (const name of ["folded", "folded/empty", "plain"]) mkdirSync(join(arena.root, name), { recursive: true });
      for (const name of ["folded/.env", "folded/key.PEM", "folded/Name", "plain/other.PEM", "plain/.env"])
        writeFileSync(join(arena.root, name), name);
      foldEverywhere((directory) => basename(directory) === "folded" || basename(directory) === "empty");
      const deny = [".env", "*.pem", "folded/empty/secret"];
      const adapter = await createFileAdapter({ roots: { [ROOT]: { path: arena.root, deny } } });
      try {
        await work(filesOf(adapter), arena);
      } finally {
        await adapter.close();
      }
    });

  test.each(["folded/.ENV", "folded/.Env", "folded/KEY.pem", "folded/key.PEM"])("denies %s", (path) =>
    onMixed(async (files) => {
      expect(await codeOf(files.invoke("read", { path }))).toBe("DENIED_BY_POLICY");
    }),
  );

  test.each([
    ["beside what is there", "folded/new.PEM"],
    ["where nothing is yet", "folded/empty/SECRET"],
    ["in a folder that is made for it", "folded/empty/below/.ENV"],
  ])("denies a new file %s", (_, path) =>
    onMixed(async (files, { root }) => {
      const parents = await codeOf(files.invoke("write", { path, content: "x", parents: true }));
      expect(parents).toBe("DENIED_BY_POLICY");
      expect(readdirSync(join(root, "folded/empty"))).toEqual([]);
    }),
  );

  test("denies what a link leads to by another spelling", () =>
    onMixed(async (files, { root }) => {
      symlinkSync("folded/.ENV", join(root, "link"));
      expect(await codeOf(files.invoke("read", { path: "link" }))).toBe("DENIED_BY_POLICY");
    }));

  test("hides what is denied there from lists and trees", () =>
    onMixed(async (files) => {
      const { entries } = await files.invoke("list", { path: "folded" });
      expect((entries as { name: string }[]).map(({ name }) => name)).toEqual(["empty", "Name"]);
      const found = await files.invoke("glob", { pattern: "**/*.{pem,PEM}" });
      expect(found).toMatchObject({ paths: [] });
    }));

  test("does not affect other directories before it is found", () =>
    onMixed(async (files, { root }) => {
      expect(await codeOf(files.invoke("read", { path: "plain/other.PEM" }))).toBe("ok");
      expect(await codeOf(files.invoke("write", { path: "plain/.ENV", content: "x" }))).toBe("ok");
      // Two names of one file prove nothing.
      linkSync(join(root, "plain/.env"), join(root, "plain/.Env"));
      expect(await codeOf(files.invoke("read", { path: "plain/.Env" }))).toBe("ok");
      expect(await codeOf(files.invoke("read", { path: "plain/.env" }))).toBe("DENIED_BY_POLICY");
    }));

  test("keeps the file when only the case of its name changes", () =>
    onMixed(async (files, { root }) => {
      expect(await files.invoke("move", { path: "folded/Name", to: "folded/nAME" })).toMatchObject({ moved: true });
      expect(readdirSync(join(root, "folded")).sort()).toEqual([".env", "empty", "key.PEM", "nAME"]);
      expect(readFileSync(join(root, "folded/nAME"), "utf8")).toBe("folded/Name");
      // Elsewhere these are two files.
      expect(await files.invoke("move", { path: "plain/other.PEM", to: "plain/OTHER.PEM" })).toMatchObject({
        moved: true,
      });
      expect(readdirSync(join(root, "plain")).sort()).toEqual([".env", "OTHER.PEM"]);
    }));

  test("gives writers of one entry one lock, however they spell it", () =>
    onMixed(async (files, { root }) => {
      const names = ["folded/log", "folded/LOG", "folded/Log", "folded/lOG"];
      await Promise.all(names.map((path) => files.invoke("append", { path, content: `${path}\n` })));
      const [log, ...others] = readdirSync(join(root, "folded")).filter((name) => name.toLowerCase() === "log");
      expect(others).toEqual([]);
      const lines = readFileSync(join(root, "folded", log ?? ""), "utf8")
        .trim()
        .split("\n");
      expect(lines.sort()).toEqual([...names].sort());
    }));
});
