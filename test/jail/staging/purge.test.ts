import { existsSync, mkdirSync, readdirSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, jest, test } from "@jest/globals";
import { isPending, runIo } from "../../../src/core/io.js";
import { ProcHandles, release } from "../../../src/jail/handles.js";
import { purge } from "../../../src/jail/staging/purge.js";
import { Sys } from "../../../src/jail/sys.js";
import { MAX_HELD } from "../../../src/jail/walk/descent.js";
import { inArena, openDescriptors } from "../arena.js";

const LEVELS = 300;

test("a deep tree whose directories cannot be moved up is emptied in place with a few handles", () =>
  inArena(async ({ root }) => {
    const levels = Array.from({ length: LEVELS }, (_, level) => join(root, ...Array(level + 1).fill("d")));
    for (const level of levels) {
      mkdirSync(join(level, "side"), { recursive: true });
      writeFileSync(join(level, "side", "file"), "x");
    }
    const sys = new Sys(false);
    // As overlayfs answers for a directory of a lower layer.
    const rename = jest.spyOn(sys, "rename").mockImplementation(() => {
      throw Object.assign(new Error("EXDEV"), { code: "EXDEV", syscall: "rename" });
    });
    const handles = new ProcHandles(sys);
    const directory = handles.openRoot(root);
    const before = openDescriptors().length;
    let most = before;
    const progress = (): void => {
      most = Math.max(most, openDescriptors().length);
    };
    try {
      const place = { directory, freeName: () => "free" };
      expect(await runIo(purge({ handles, sys, progress }, place, "d"))).toEqual([]);
      expect(openDescriptors().length).toBe(before);
    } finally {
      release(directory);
    }
    expect(rename).toHaveBeenCalled();
    expect(existsSync(join(root, "d"))).toBe(false);
    // Besides: the directory that is purged, and one just entered.
    expect(most - before).toBeLessThanOrEqual(MAX_HELD + 2);
    expect(most - before).toBeGreaterThan(0);
  }));

test("the file system may take its time to free a file: other calls are served meanwhile", () =>
  inArena(async ({ root, outside }) => {
    const stage = join(root, "stage");
    mkdirSync(stage);
    writeFileSync(join(stage, "file"), "x");
    symlinkSync(outside, join(stage, "link"));
    const outsideBefore = readdirSync(outside);
    const sys = new Sys(false);
    const handles = new ProcHandles(sys);
    const directory = handles.openRoot(stage);
    try {
      for (const name of ["file", "link", "missing"]) {
        const work = runIo(purge({ handles, sys }, { directory, freeName: () => "free" }, name));
        expect(isPending(work)).toBe(true);
        expect(await work).toEqual([]);
      }
    } finally {
      release(directory);
    }
    expect(readdirSync(stage)).toEqual([]);
    expect(readdirSync(outside)).toEqual(outsideBefore);
  }));
