import fs, { mkdirSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { afterEach, expect, jest, test } from "@jest/globals";
import { createFileAdapter } from "../../src/index.js";
import { type Arena, inArena } from "./arena.js";
import { codeOf, type Files, filesOf, ROOT } from "./files.js";

afterEach(() => {
  jest.restoreAllMocks();
});

/** Lets opens and looks answer to other spellings of a name, as a file system does that folds case. */
function foldEverywhere(): void {
  const readdir = fs.readdirSync;
  const stored = (path: unknown): unknown => {
    if (typeof path !== "string" || fs.existsSync(path)) return path;
    try {
      const name = readdir(dirname(path)).find((one) => one.toLowerCase() === basename(path).toLowerCase());
      return name === undefined ? path : join(dirname(path), name);
    } catch {
      return path;
    }
  };
  for (const call of ["openSync", "lstatSync"] as const) {
    const real = fs[call] as (path: unknown, ...more: unknown[]) => unknown;
    const spy = jest.spyOn(fs, call) as unknown as { mockImplementation(work: typeof real): void };
    spy.mockImplementation((path, ...more) => real(stored(path), ...more));
  }
}

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

test("an empty root that may be written to is asked by the staging directory", async () => {
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

test("one that may only be read is asked by what comes into it, once", async () => {
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
