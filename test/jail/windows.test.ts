// The rules of Windows, reached on Linux: names, the engine without procfs, folded deny patterns, modes that say nothing. What the system
// itself would do there (its links, its locks, its own folding) was never run.
import {
  chmodSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "@jest/globals";
import { simulateSystem } from "../../src/core/system.js";
import { createFileAdapter, createSandbox, DEFAULT_SHELL, type FileAdapter } from "../../src/index.js";
import { checkStateDir } from "../../src/venue/start/state/state-dir.js";

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
