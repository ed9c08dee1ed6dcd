import fs from "node:fs";
import { join } from "node:path";
import { afterEach, describe, expect, jest, test } from "@jest/globals";
import { type Arena, expectClosedSoon, inArena, openDescriptors } from "./arena.js";
import { type Files, openFiles } from "./files.js";

afterEach(() => {
  jest.restoreAllMocks();
});

const CODES = ["EMFILE", "ENFILE"] as const;

/** Lets a system call fail on every path with one of the names, as where nothing more can be opened. */
function exhaust(code: string, call: "openSync" | "readdirSync", isMeant: (path: string) => boolean): void {
  const real = fs[call] as (path: unknown, ...more: unknown[]) => unknown;
  const spy = jest.spyOn(fs, call) as unknown as { mockImplementation(work: typeof real): void };
  spy.mockImplementation((path, ...more) => {
    if (isMeant(String(path))) throw Object.assign(new Error(code), { code, syscall: "open" });
    return real(path, ...more);
  });
}

/** Runs `work` on a root with directories `a`, `full` and `z`, a file in each of them. */
const onRoot = (work: (files: Files, arena: Arena) => Promise<void>): Promise<void> =>
  inArena(async (arena) => {
    for (const path of ["a/one", "full/two", "z/three"]) arena.file(path, "text");
    const files = await openFiles(arena.root);
    const before = openDescriptors();
    try {
      await work(files, arena);
    } finally {
      jest.restoreAllMocks();
      await expectClosedSoon(before);
      await files.close();
    }
  });

describe.each(CODES)("where the system says %s", (code) => {
  const told = { complete: false, reason: "error", hidden: { unreadable: 1 } };

  test("enumerations say that they are not complete, and how many folders are missing", () =>
    onRoot(async (files) => {
      exhaust(code, "openSync", (path) => path.endsWith("/full"));
      const glob = await files.invoke("glob", { pattern: "{a,full,z}/*" });
      expect(glob).toMatchObject({ paths: ["a/one", "z/three"], countIsComplete: false, ...told });
      expect(glob).not.toHaveProperty("nextCursor");
      expect(glob["hint"]).toBe("Some parts could not be opened. Call again later, or on a deeper path");
      const grep = await files.invoke("grep", { pattern: "^text$" });
      expect(grep).toMatchObject({ totalMatches: 2, countIsComplete: false, ...told });
      expect(await files.invoke("tree", {})).toMatchObject(told);
      expect(await files.invoke("du", {})).toMatchObject(told);
      jest.restoreAllMocks();
      expect(await files.invoke("glob", { pattern: "{a,full,z}/*" })).toMatchObject({
        totalMatches: 3,
        complete: true,
      });
    }));

  test("a folder that was entered and cannot be read counts too", () =>
    onRoot(async (files, { root }) => {
      const { ino } = fs.statSync(join(root, "full"));
      exhaust(code, "readdirSync", (path) => /\/fd\/\d+$/.test(path) && fs.statSync(path).ino === ino);
      for (const operation of ["tree", "du"]) expect(await files.invoke(operation)).toMatchObject(told);
      expect(await files.invoke("glob", { pattern: "**" })).toMatchObject(told);
    }));

  test("a file that cannot be opened is reported", () =>
    onRoot(async (files) => {
      exhaust(code, "openSync", (path) => path.endsWith("/two"));
      expect(await files.invoke("grep", { pattern: "^text$" })).toMatchObject({ totalMatches: 2, ...told });
    }));

  test("operations that cannot report it fail with IO_ERROR", () =>
    onRoot(async (files) => {
      exhaust(code, "readdirSync", (path) => /\/fd\/\d+$/.test(path));
      for (const operation of ["list", "tree", "du"]) {
        await expect(files.invoke(operation)).rejects.toMatchObject({ code: "IO_ERROR" });
      }
      await expect(files.invoke("glob", { pattern: "**" })).rejects.toMatchObject({ code: "IO_ERROR" });
    }));
});

test("descriptors closed by others in the meantime suffice", () =>
  onRoot(async (files) => {
    let failures = 3;
    exhaust("EMFILE", "openSync", (path) => path.endsWith("/full") && failures-- > 0);
    expect(await files.invoke("glob", { pattern: "full/*" })).toMatchObject({ paths: ["full/two"], complete: true });
    expect(failures).toBe(-1);
  }));
