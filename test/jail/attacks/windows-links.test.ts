import fs, { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "@jest/globals";
import type { SurfaceContext } from "../../../src/core/ports/adapter.js";
import { simulateSystem } from "../../../src/core/system.js";
import { createFileAdapter, type FileAdapter } from "../../../src/index.js";
import { below, entryPath, type Pinned } from "../../../src/jail/handles.js";
import { type Arena, CANARY, INSIDE, makeArena } from "../arena.js";

/**
 * What Windows would do: a path may be separated by backslashes, a directory replaces any file that has its new name and never a
 * directory, and no name that has one keeps its trailing dots.
 */
let arena: Arena;
let adapter: FileAdapter;
const undo: (() => void)[] = [];

beforeEach(async () => {
  arena = makeArena();
  undo.push(simulateSystem("win32"), actAsWindows());
  arena.file("secret/key.txt", "a secret");
  arena.file("kept/key.txt", "kept");
  adapter = await createFileAdapter({
    roots: { r: { path: arena.root, deny: ["secret/**"], protect: ["kept/**"], durability: "none" } },
  });
});
afterEach(async () => {
  await adapter.close();
  for (const one of undo.splice(0).reverse()) one();
  arena.remove();
});

function actAsWindows(): () => void {
  const { lstatSync, readdirSync: readdir, openSync, renameSync, rmSync } = fs;
  const { accessSync, linkSync, mkdirSync: mkdir, readlinkSync, rmdirSync, unlinkSync } = fs;
  const real = {
    lstatSync,
    readdirSync: readdir,
    openSync,
    renameSync,
    accessSync,
    linkSync,
    readlinkSync,
    rmdirSync,
    unlinkSync,
  };
  const slashed = (path: unknown): string => String(path).replaceAll("\\", "/");
  const asWindows = Object.fromEntries(
    (["lstatSync", "readdirSync", "openSync", "accessSync", "readlinkSync", "rmdirSync", "unlinkSync"] as const).map(
      (name) => [
        name,
        (path: unknown, ...rest: never[]) => (real[name] as (...all: unknown[]) => unknown)(slashed(path), ...rest),
      ],
    ),
  );
  Object.assign(fs, asWindows, {
    mkdirSync: (path: unknown, options: never) => mkdir(slashed(path), options),
    linkSync: (from: unknown, to: unknown) => linkSync(slashed(from), slashed(to)),
    renameSync(from: unknown, to: unknown) {
      const [old, now] = [from, to].map((path) => lstatSync(slashed(path), { throwIfNoEntry: false }));
      if (now?.isDirectory()) throw Object.assign(new Error("EPERM"), { code: "EPERM", syscall: "rename" });
      if (old?.isDirectory() && now !== undefined) rmSync(slashed(to));
      renameSync(slashed(from), slashed(to));
    },
  });
  return () => Object.assign(fs, real, { mkdirSync: mkdir });
}

const call = (operation: string, input: object, caps?: SurfaceContext["caps"]) =>
  adapter.invoke(`file:${operation}`, { root: "r", ...input }, caps === undefined ? {} : { caps }) as Promise<
    Record<string, unknown>
  >;
const codeOf = (operation: string, input: object): Promise<string> =>
  call(operation, input).then(
    () => "ok",
    (error: { code?: string }) => String(error.code),
  );

describe("a link", () => {
  test.each([
    ["relative", "..\\outside\\canary.txt", "..\\outside"],
    ["relative, by a way inside", "dir\\..\\..\\outside\\canary.txt", ".\\dir\\..\\..\\outside"],
    ["with both slashes", "dir/..\\../outside\\canary.txt", "../outside\\"],
  ])("that leads out is refused: %s", async (_name, file, folder) => {
    arena.link("file", file);
    arena.link("folder", folder);
    const before = arena.outsideNow();
    for (const operation of ["read", "stat", "list", "tree"]) {
      expect([operation, await codeOf(operation, { path: "folder" })]).toEqual([operation, "SYMLINK_ESCAPE"]);
    }
    for (const path of ["file", "folder/canary.txt"]) {
      expect(await codeOf("read", { path })).toBe("SYMLINK_ESCAPE");
      expect(await codeOf("write", { path, content: "x" })).toBe("SYMLINK_ESCAPE");
      expect(await codeOf("append", { path, content: "x" })).toBe("SYMLINK_ESCAPE");
      expect(await codeOf("copy", { path, to: "copied" })).toBe("SYMLINK_ESCAPE");
    }
    expect(await codeOf("delete", { path: "folder/canary.txt" })).toBe("SYMLINK_ESCAPE");
    expect(await codeOf("move", { path: "file.txt", to: "folder/new" })).toBe("SYMLINK_ESCAPE");
    const grep = JSON.stringify(await call("grep", { pattern: "canary", links: "follow" }));
    expect(grep).not.toContain(CANARY);
    const tree = await call("tree", { path: "" });
    expect(JSON.stringify(tree)).not.toContain("vault");
    expect(arena.outsideNow()).toEqual(before);
  });

  test("inside is judged by where it leads, not by its text", async () => {
    arena.link("dir/to-secret", "..\\secret");
    arena.link("dir/to-key", "..\\secret\\key.txt");
    arena.link("dir/to-kept", "..\\kept\\key.txt");
    arena.link("dir/to-stage", "..\\.venue-files\\x");
    arena.link("dir/to-inner", "inner\\deep.txt");
    arena.link("dir/to-file", "..\\file.txt");
    expect(await codeOf("read", { path: "dir/to-secret/key.txt" })).toBe("DENIED_BY_POLICY");
    expect(await codeOf("read", { path: "dir/to-key" })).toBe("DENIED_BY_POLICY");
    expect(await codeOf("write", { path: "dir/to-kept", content: "x" })).toBe("DENIED_BY_POLICY");
    expect(await codeOf("read", { path: "dir/to-stage" })).toBe("INVALID_PATH");
    const caps = [{ with: "file://r/dir/", can: "crud" }];
    expect(await call("read", { path: "dir/to-inner" }, caps)).toMatchObject({ content: INSIDE });
    await expect(call("read", { path: "dir/to-file" }, caps)).rejects.toMatchObject({ code: "CAPABILITY_DENIED" });
    await expect(call("append", { path: "dir/to-file", content: "x" }, caps)).rejects.toMatchObject({
      code: "CAPABILITY_DENIED",
    });
  });

  test("that is absolute or a junction is followed inside, in any case of the root's own path", async () => {
    const text = arena.root.replaceAll("/", "\\");
    arena.link("whole", `\\\\?\\${text}\\dir\\`);
    arena.link("upper", `${text.toUpperCase()}\\dir\\file.txt`);
    arena.link("secret-too", `${text}\\secret`);
    // The root of the simulation has no drive, and so the verbatim form begins in another way.
    expect(await call("read", { path: "upper" })).toMatchObject({ content: INSIDE });
    expect(await call("read", { path: "whole/file.txt" })).toMatchObject({ content: INSIDE });
    expect(await codeOf("read", { path: "secret-too/key.txt" })).toBe("DENIED_BY_POLICY");
  });

  test.each(["con", "dir\\nul.txt", "file.txt:stream", "dir.\\file.txt", "dir \\file.txt", "C:file.txt"])(
    "through a name that no request may have is refused: %s",
    async (target) => {
      arena.link("odd", target);
      const code = await codeOf("read", { path: "odd" });
      expect(["INVALID_PATH", "SYMLINK_ESCAPE"]).toContain(code);
      expect(await codeOf("write", { path: "odd", content: "x" })).toBe(code);
      expect(existsSync(join(arena.root, target.replaceAll("\\", "/")))).toBe(false);
    },
  );
});

describe("a directory", () => {
  test("is moved and copied, and takes no name that something has", async () => {
    expect(await codeOf("move", { path: "dir", to: "moved" })).toBe("ok");
    expect(await codeOf("copy", { path: "moved", to: "copied", recursive: true })).toBe("ok");
    expect(readFileSync(join(arena.root, "copied/inner/deep.txt"), "utf8")).toBe(INSIDE);
    mkdirSync(join(arena.root, "empty"));
    for (const to of ["empty", "file.txt", "copied"]) {
      expect(await codeOf("move", { path: "moved", to })).toBe("ALREADY_EXISTS");
      expect(await codeOf("copy", { path: "moved", to, recursive: true })).toBe("ALREADY_EXISTS");
    }
    expect(readFileSync(join(arena.root, "file.txt"), "utf8")).toBe(INSIDE);
    expect(readdirSync(join(arena.root, "empty"))).toEqual([]);
    expect(readdirSync(arena.root).sort()).toContain("moved");
  });

  test("replaces no file that comes while it is moved", async () => {
    const { renameSync, openSync } = fs;
    let isMade = false;
    fs.openSync = (path, flags, ...rest) => {
      if (!isMade && String(path).endsWith("/moved")) {
        isMade = true;
        writeFileSync(join(arena.root, "moved"), "of somebody else");
      }
      return openSync(path, flags, ...rest);
    };
    try {
      expect(await codeOf("move", { path: "dir", to: "moved" })).toBe("ALREADY_EXISTS");
    } finally {
      Object.assign(fs, { openSync, renameSync });
    }
    expect(readFileSync(join(arena.root, "moved"), "utf8")).toBe("of somebody else");
    expect(readFileSync(join(arena.root, "dir/file.txt"), "utf8")).toBe(INSIDE);
  });
});

describe("a name that Windows would take for a path", () => {
  const directory = { path: "C:\\r" } as Pinned;
  test.each(["..\\x", "a\\..\\..\\x", "a/b", "\\x"])("is never made one: %s", (name) => {
    expect(() => below(directory, name)).toThrow(expect.objectContaining({ code: "EINVAL" }));
    expect(() => entryPath(directory, Buffer.from(name))).toThrow(expect.objectContaining({ code: "EINVAL" }));
  });

  test("is one elsewhere", () => {
    const restore = simulateSystem("linux");
    expect(below(directory, "..\\x")).toBe("C:\\r/..\\x");
    restore();
  });

  test("leaves no drive: a copy of it is refused", async () => {
    const drives = await createFileAdapter({
      roots: { d: { dlfs: "d" }, r: { path: arena.root, owner: "did:web:ada.example", durability: "none" } },
    });
    const context = { callerDID: "did:web:ada.example" };
    const invoke = (operation: string, input: object) => drives.invoke(`file:${operation}`, input as never, context);
    try {
      const restore = simulateSystem("linux");
      await invoke("write", { root: "d", path: "tree/aux", content: CANARY, parents: true });
      restore();
      await expect(
        invoke("copy", { root: "d", path: "tree", toRoot: "r", to: "tree", recursive: true }),
      ).rejects.toMatchObject({ code: "INVALID_PATH" });
    } finally {
      await drives.close();
    }
    expect(readdirSync(arena.root)).not.toContain("tree");
  });
});
