// Names as Windows sees them, by the library: what one name is for us must be one for the system.
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { createFileAdapter, type FileAdapter, FileAdapterError } from "../../../src/index.js";

let folder: string;
let files: FileAdapter;
const docs = () => join(folder, "docs");
const caps = [{ with: "file://docs/open/", can: "crud" }];

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "venue-files-test-"));
  for (const name of ["docs", "docs/open", "docs/shut", "docs/Guarded"]) mkdirSync(join(folder, name));
  writeFileSync(join(docs(), "secret of some length.txt"), "secret");
  for (const name of ["open/a.txt", "shut/a.txt", "Guarded/a.txt"]) writeFileSync(join(docs(), name), "inside");
  files = await createFileAdapter({
    roots: { docs: { path: docs(), deny: ["secret*"], protect: ["Guarded/**"], journal: "off" } },
  });
});
afterAll(async () => {
  await files.close();
  rmSync(folder, { recursive: true });
});

const call = (operation: string, input: object, context = {}) =>
  files.invoke(`file:${operation}`, { root: "docs", ...input }, context) as Promise<Record<string, unknown>>;

async function codeOf(operation: string, input: object, context = {}): Promise<string> {
  try {
    await call(operation, input, context);
    return "OK";
  } catch (error) {
    if (!(error instanceof FileAdapterError)) throw error;
    return error.code;
  }
}

describe("names of devices, of streams, and those that Windows cuts, are refused by every operation", () => {
  const names = [
    ...["con", "NUL", "nul.txt", "aux .txt", "COM1", "lpt9.log", "com¹", "CONIN$", "conout$", "open/prn"],
    ...["a.txt:stream", "open/a.txt::$DATA", "open::$INDEX_ALLOCATION/a.txt", "dot.", "space ", "open/..."],
    ...["a<b", "a>b", "a|b", "a?b", "a*b", 'a"b'],
  ];
  test.each(names)("%s", async (path) => {
    const before = readdirSync(docs(), { recursive: true });
    for (const operation of ["read", "stat", "list", "tree", "hash", "delete", "mkdir"])
      expect([operation, await codeOf(operation, { path })]).toEqual([operation, "INVALID_PATH"]);
    expect(await codeOf("write", { path, content: "x" })).toBe("INVALID_PATH");
    expect(await codeOf("append", { path, content: "x" })).toBe("INVALID_PATH");
    for (const operation of ["move", "copy"])
      expect(await codeOf(operation, { path: "open/a.txt", to: path })).toBe("INVALID_PATH");
    expect(readdirSync(docs(), { recursive: true })).toEqual(before);
  });
});

test("what is refused leaves no directory behind", async () => {
  expect(await codeOf("write", { path: "fresh/x<y/z", content: "x", parents: true })).toBe("INVALID_PATH");
  expect(readdirSync(docs())).not.toContain("fresh");
});

describe("paths that lead elsewhere are refused", () => {
  test.each([
    ...["C:/windows/win.ini", "c:win.ini", "C:", "//server/share/a.txt", "\\\\server\\share\\a.txt"],
    ...["\\\\?\\C:\\windows\\win.ini", "\\\\.\\PhysicalDrive0", "\\??\\C:\\x", "..\\outside", "open\\..\\..\\outside"],
    ...["../outside", "open/../../outside"],
  ])("%s", async (path) => {
    for (const operation of ["read", "list", "delete"]) {
      const code = await codeOf(operation, { path });
      expect(["INVALID_PATH", "PATH_NOT_RELATIVE", "PATH_ESCAPES_ROOT"]).toContain(code);
    }
    expect(["INVALID_PATH", "PATH_NOT_RELATIVE", "PATH_ESCAPES_ROOT"]).toContain(
      await codeOf("write", { path, content: "x" }),
    );
  });
});

test("a path that begins with a separator is one of the root", async () => {
  for (const path of ["/windows/win.ini", "\\windows\\win.ini"])
    expect(await codeOf("read", { path })).toBe("NOT_FOUND");
});

test("a path of more than 260 characters is like any other", async () => {
  const long = `${"a-long-name-of-a-folder/".repeat(14)}file.txt`;
  expect(docs().length + long.length).toBeGreaterThan(300);
  expect(await codeOf("write", { path: long, content: "far down", parents: true })).toBe("OK");
  expect(await call("read", { path: long })).toMatchObject({ content: "far down" });
  expect(await codeOf("edit", { path: long, oldText: "far", newText: "deep" })).toBe("OK");
  expect(await codeOf("move", { path: long, to: long.replace("file", "other") })).toBe("OK");
  expect(await codeOf("delete", { path: "a-long-name-of-a-folder", recursive: true })).toBe("OK");
  expect(readdirSync(docs())).not.toContain("a-long-name-of-a-folder");
});

describe("a short name of 8.3 is judged as the name that it stands for", () => {
  /** As the system has made it. */
  function shortName(path: string): string {
    const koffi = createRequire(import.meta.url)("koffi") as typeof import("koffi");
    const get = koffi.load("kernel32.dll").func("uint32 __stdcall GetShortPathNameW(str16, _Out_ uint16 *, uint32)");
    const text = new Uint16Array(300);
    const length = Number(get(path, text, text.length));
    return (
      String.fromCharCode(...text.subarray(0, length))
        .split("\\")
        .at(-1) ?? ""
    );
  }

  test("by deny", async () => {
    const short = shortName(join(docs(), "secret of some length.txt"));
    expect(short).toMatch(/~/);
    expect(readFileSync(join(docs(), short), "utf8")).toBe("secret");
    for (const operation of ["read", "stat", "hash", "delete"])
      expect([operation, await codeOf(operation, { path: short })]).not.toContain("OK");
    expect(await codeOf("write", { path: short, content: "x" })).not.toBe("OK");
    expect(await codeOf("move", { path: short, to: "taken.txt" })).not.toBe("OK");
    expect(readFileSync(join(docs(), short), "utf8")).toBe("secret");
  });
});

describe("case", () => {
  test.each(["SECRET of some length.txt", "Secret OF SOME LENGTH.TXT"])("is folded for deny: %s", async (path) => {
    for (const operation of ["read", "stat", "delete"])
      expect([operation, await codeOf(operation, { path })]).toEqual([operation, "DENIED_BY_POLICY"]);
    expect(await codeOf("write", { path, content: "x" })).toBe("DENIED_BY_POLICY");
    expect(await codeOf("move", { path: "open/a.txt", to: path })).toBe("DENIED_BY_POLICY");
  });

  test.each(["Guarded/a.txt", "guarded/a.txt", "GUARDED/A.TXT"])("is folded for protect: %s", async (path) => {
    expect(await codeOf("read", { path })).toBe("OK");
    expect(await codeOf("write", { path, content: "x" })).not.toBe("OK");
    expect(await codeOf("delete", { path })).not.toBe("OK");
    expect(readFileSync(join(docs(), "Guarded/a.txt"), "utf8")).toBe("inside");
  });

  test("opens nothing that a capability does not name", async () => {
    expect(await codeOf("read", { path: "open/a.txt" }, { caps })).toBe("OK");
    for (const path of ["shut/a.txt", "SHUT/a.txt", "Shut/A.TXT", "open/../shut/a.txt"])
      expect([path, await codeOf("read", { path }, { caps })]).toEqual([path, "CAPABILITY_DENIED"]);
    const shut = [{ with: "file://docs/SHUT/", can: "crud" }];
    for (const path of ["open/a.txt", "OPEN/a.txt"])
      expect([path, await codeOf("read", { path }, { caps: shut })]).toEqual([path, "CAPABILITY_DENIED"]);
  });

  test.each([".venue-files/x", ".VENUE-FILES/x", ".Venue-Files-1", "open/.VENUE-FILES/x"])(
    "is folded for names of our own: %s",
    async (path) => {
      expect(await codeOf("write", { path, content: "x", parents: true })).toBe("INVALID_PATH");
      expect(await codeOf("read", { path })).toBe("INVALID_PATH");
    },
  );

  test("of a name is kept", async () => {
    expect(await codeOf("write", { path: "Readme.TXT", content: "x" })).toBe("OK");
    expect(await codeOf("write", { path: "README.txt", content: "y" })).toBe("OK");
    expect(readdirSync(docs()).filter((name) => /readme/i.test(name))).toEqual(["Readme.TXT"]);
    expect(await call("read", { path: "readme.txt" })).toMatchObject({ content: "y" });
  });

  test("of a name is changed by a move", async () => {
    expect(await codeOf("write", { path: "Upper", content: "x" })).toBe("OK");
    expect(await codeOf("move", { path: "Upper", to: "upper" })).toBe("OK");
    expect(readdirSync(docs()).filter((name) => /upper/i.test(name))).toEqual(["upper"]);
  });
});

test("a directory is moved and copied, onto nothing that is there", async () => {
  expect(await codeOf("write", { path: "tree/sub/x.txt", content: "x", parents: true })).toBe("OK");
  expect(await codeOf("move", { path: "tree", to: "moved" })).toBe("OK");
  expect(await codeOf("copy", { path: "moved", to: "again", recursive: true })).toBe("OK");
  expect(await codeOf("move", { path: "moved", to: "again" })).not.toBe("OK");
  for (const path of ["moved/sub/x.txt", "again/sub/x.txt"])
    expect(await call("read", { path })).toMatchObject({ content: "x" });
});
