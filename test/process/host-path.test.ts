import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "@jest/globals";
import { simulateSystem } from "../../src/core/system.js";
import { isBelow, isInside, isSameFolder, namesBelow, realPath } from "../../src/process/host-path.js";

let base: string;
let restore = () => {};
beforeEach(() => {
  base = realpathSync(mkdtempSync(join(tmpdir(), "venue-files-test-")));
  mkdirSync(join(base, "docs/sub"), { recursive: true });
  mkdirSync(join(base, "docs-old"));
  symlinkSync("docs", join(base, "way-in"));
});
afterEach(() => {
  restore();
  rmSync(base, { recursive: true, force: true });
});

describe("a path lies in a folder", () => {
  test.each([
    ["docs", "docs", []],
    ["docs/sub", "docs", ["sub"]],
    ["docs/not/there", "docs", ["not", "there"]],
    ["docs/..name", "docs", ["..name"]],
    // By what they are, whatever they are called: as with a mount, a short name or a name that folds.
    ["docs/sub", "way-in", ["sub"]],
    ["way-in/new", "docs", ["new"]],
  ])("%s in %s", (path, folder, names) => {
    expect(namesBelow(join(base, path), join(base, folder))).toEqual(names);
    expect(isInside(join(base, path), join(base, folder))).toBe(true);
    expect(isBelow(join(base, path), join(base, folder))).toBe(names.length > 0);
  });

  test.each([
    ["docs-old", "docs"],
    ["docs", "docs/sub"],
    ["DOCS/sub", "docs"],
    ["docs/sub", "not there"],
  ])("%s not in %s", (path, folder) => {
    expect(isInside(join(base, path), join(base, folder))).toBe(false);
  });

  test("in the root of the file system", () => {
    expect(namesBelow("/etc/x", "/")).toEqual(["etc", "x"]);
    expect(isBelow("/", "/")).toBe(false);
  });
});

describe("where names fold, what does not exist yet is judged by spellings that are alike", () => {
  test.each(["win32", "darwin"] as const)("%s", (system) => {
    restore = simulateSystem(system);
    expect(namesBelow(join(base, "NEU/\u00e4/x"), join(base, "neu/A\u0308"))).toEqual(["x"]);
    expect(isInside(join(base, "neuer"), join(base, "NEU"))).toBe(false);
  });

  test("but what exists, by what it is", () => {
    mkdirSync(join(base, "DOCS/sub"), { recursive: true });
    restore = simulateSystem("darwin");
    expect(isInside(join(base, "DOCS/sub"), join(base, "docs"))).toBe(false);
  });
});

test("a real path is that of the closest folder that is there", () => {
  expect(realPath(join(base, "way-in/new/file"))).toBe(join(base, "docs/new/file"));
  expect(isSameFolder(join(base, "way-in"), join(base, "docs"))).toBe(true);
  expect(isSameFolder(join(base, "docs-old"), join(base, "docs"))).toBe(false);
  expect(isSameFolder(join(base, "no"), join(base, "not"))).toBe(false);
});

test.each([
  ["a link to a file that is not there yet", "log", "docs/sub/log", "docs/sub/log"],
  ["a link by a link", "log", "way-in/log", "docs/log"],
  ["a folder that is one", "log/deep/file", "docs/new", "docs/new/deep/file"],
  ["an absolute one", "log", "/not/there", "/not/there"],
  ["one that leads to itself", "log", "log", "log"],
])("a real path follows %s", (_what, path, target, real) => {
  symlinkSync(target, join(base, "log"));
  expect(realPath(join(base, path))).toBe(resolve(base, real));
});
