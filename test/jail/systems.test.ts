import fs, {
  chmodSync,
  linkSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { afterEach, beforeEach, describe, expect, jest, test } from "@jest/globals";
import { simulateSystem } from "../../src/core/system.js";
import { createFileAdapter, createSandbox, DEFAULT_SHELL, type FileAdapter } from "../../src/index.js";
import { checkStateDir } from "../../src/venue/start/state/state-dir.js";
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

// The rules of Windows, reached on Linux: names, the engine without procfs, folded deny patterns, modes that say nothing. What the system
// itself would do there (its links, its locks, its own folding) was never run.
describe("Windows", () => {
  let folder: string;
  let restore: () => void;
  let adapter: FileAdapter;
  const docs = () => join(folder, "docs");

  beforeEach(async () => {
    folder = mkdtempSync(join(tmpdir(), "venue-files-test-"));
    mkdirSync(docs());
    restore = simulateSystem("win32");
    adapter = await createFileAdapter({
      roots: { docs: { path: docs(), deny: ["secret.txt"] }, drive: { dlfs: "drive" } },
    });
  });
  afterEach(async () => {
    await adapter.close();
    restore();
    rmSync(folder, { recursive: true });
  });

  const call = (operation: string, input: object) =>
    adapter.invoke(
      `file:${operation}`,
      { root: "docs", ...input },
      "root" in input ? { callerDID: "did:web:ada.example" } : {},
    ) as Promise<Record<string, unknown>>;
  const codeOf = (operation: string, input: object) =>
    call(operation, input).then(
      () => "done",
      (error: { code?: string; message?: string }) => `${error.code}: ${error.message}`,
    );

  describe("paths", () => {
    const special = [
      "con",
      "NUL.txt",
      "a/com1",
      "lpt³.log",
      "aux .txt",
      "conin$",
      "file:stream",
      "a/b:$DATA",
      "dot.",
      "space ",
      "sub/x<y/z",
      ...[...'<>|?*"'].map((sign) => `a${sign}b`),
    ];
    test.each(special)("that are special there are reserved for every operation: %s", async (path) => {
      const reserved = expect.stringMatching(/^INVALID_PATH: .*(reserved name|on Windows)/);
      expect(await codeOf("write", { path, content: "x" })).toEqual(reserved);
      for (const operation of ["read", "stat", "list", "delete", "mkdir", "tree"])
        expect([operation, await codeOf(operation, { path })]).toEqual([operation, reserved]);
      expect(await codeOf("move", { path: "a.txt", to: path })).toEqual(reserved);
      expect(await codeOf("write", { root: "drive", path, content: "x" })).toEqual(reserved);
      expect(readdirSync(docs())).toEqual([]);
    });

    test.each([
      ["C:/Windows/win.ini", "PATH_NOT_RELATIVE"],
      ["c:", "PATH_NOT_RELATIVE"],
      ["//server/share/a.txt", "PATH_NOT_RELATIVE"],
      ["\\\\server\\share", "PATH_NOT_RELATIVE"],
      ["a\\..\\..\\b", "PATH_ESCAPES_ROOT"],
      ["\\\\?\\C:\\x", "PATH_NOT_RELATIVE"],
      ["../x", "PATH_ESCAPES_ROOT"],
    ])("that lead elsewhere are refused: %s", async (path, code) => {
      expect(await codeOf("read", { path })).toMatch(new RegExp(`^${code}: `));
    });

    test("that only look special are ordinary", async () => {
      for (const path of ["console.txt", "com10", "nul-and-void", ".config", "a.b.c"])
        expect(await codeOf("write", { path, content: "x" })).toBe("done");
    });
  });

  test("a directory shows names that no path reaches as such", async () => {
    for (const name of ["con", "a:b", "dot.", "plain"]) writeFileSync(join(docs(), name), "x");
    const { entries } = (await call("list", { path: "" })) as { entries: { name: string; unreachable?: true }[] };
    const shown = entries.map(({ name, unreachable }) => [name, unreachable === true]);
    expect(shown.sort()).toEqual([
      ["a:b", true],
      ["con", true],
      ["dot.", true],
      ["plain", false],
    ]);
  });

  test("the real path is checked: links inside are followed, those that leave are not", async () => {
    writeFileSync(join(folder, "outside.txt"), "outside");
    writeFileSync(join(docs(), "a.txt"), "inside");
    symlinkSync("a.txt", join(docs(), "in"));
    symlinkSync("../outside.txt", join(docs(), "out"));
    expect((await call("read", { path: "in" }))["content"]).toBe("inside");
    expect(await codeOf("read", { path: "out" })).toMatch(/^SYMLINK_ESCAPE: /);
    expect(await codeOf("write", { path: "out", content: "x" })).toMatch(/^SYMLINK_ESCAPE: /);
    expect(readFileSync(join(folder, "outside.txt"), "utf8")).toBe("outside");
  });

  test("deny patterns hold for every case of a name", async () => {
    writeFileSync(join(docs(), "SECRET.txt"), "secret");
    expect(await codeOf("read", { path: "SECRET.txt" })).toBe(
      await codeOf("read", { path: "secret.txt" }).then((text) => text.replace("secret.txt", "SECRET.txt")),
    );
    expect(await codeOf("read", { path: "SECRET.txt" })).not.toBe("done");
  });

  test("line ends and a mark at the beginning stay as they are", async () => {
    writeFileSync(join(docs(), "a.txt"), "\ufeffone\r\ntwo\r\nthree\r\n");
    await call("edit", { path: "a.txt", oldText: "two\n", newText: "second\nand more\n" });
    expect(readFileSync(join(docs(), "a.txt"), "utf8")).toBe("\ufeffone\r\nsecond\r\nand more\r\nthree\r\n");
  });

  test("permission bits, which say nothing there, are not judged", () => {
    const state = join(folder, "state");
    mkdirSync(state);
    chmodSync(state, 0o777);
    expect(checkStateDir(state)).toBe(true);
    restore();
    expect(() => checkStateDir(state)).toThrow("others may write in it");
  });

  test("a root that is made again is served again, and nobody is warned of modes", async () => {
    chmodSync(folder, 0o777);
    expect(adapter.warnings).toEqual([]);
    rmSync(docs(), { recursive: true });
    expect(await codeOf("list", { path: "" })).toMatch(/^NOT_FOUND: /);
    mkdirSync(docs());
    writeFileSync(join(docs(), "new.txt"), "again");
    expect((await call("read", { path: "new.txt" }))["content"]).toBe("again");
    expect(await codeOf("write", { path: "new.txt", content: "more" })).toBe("done");
  });

  test("there is no bubblewrap", async () => {
    const sandbox = await createSandbox({ ...DEFAULT_SHELL, driver: "bwrap" });
    expect(await sandbox.probe()).toMatchObject({ available: false, reason: "bubblewrap is for Linux" });
  });
});
