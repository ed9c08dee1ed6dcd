import { describe, expect, test } from "@jest/globals";
import {
  compareNames,
  DELETED_MARK,
  isDriveName,
  isNewDriveName,
  MAX_PATH_DEPTH,
  nameFault,
  parseNames,
} from "../../../src/drive/dlfs/name.js";
import { codeOf } from "../cad3/code-of.js";

const BYTES_255 = [`${"a".repeat(253)}é`, `${"é".repeat(127)}a`, "漢".repeat(85), `${"😀".repeat(63)}abc`];

describe("a name of an entry", () => {
  test.each([
    "a",
    "...",
    ".a",
    " ",
    "a\\b",
    "tab\there",
    "\u0001",
    "\ufeffa",
    "é",
    "e\u0301",
    "漢字.md",
    "😀",
    ".venue-files",
    ...BYTES_255,
  ])("may be %j", (name) => {
    expect(nameFault(name)).toBeUndefined();
  });

  test.each([
    ["", "not a name"],
    [".", "not a name"],
    ["..", "not a name"],
    ["a/b", "slash not allowed"],
    ["a\0b", "Nul character not allowed"],
    [DELETED_MARK, "Nul character not allowed"],
    ["\ud800", "not valid Unicode"],
    ["a\udc00b", "not valid Unicode"],
    ["a".repeat(256), "too long"],
    ...BYTES_255.map((name) => [`${name}a`, "too long"]),
  ])("is not %j: %s", (name, fault) => {
    expect(nameFault(name)).toBe(fault);
  });
});

describe("a name of a drive", () => {
  test.each(["docs", "my notes", "é".repeat(64), "a".repeat(128), "😀".repeat(32), "a:b", " a "])(
    "may be %j",
    (name) => {
      expect(isDriveName(name)).toBe(true);
    },
  );

  test.each([
    "",
    ".",
    "..",
    "a/b",
    "a\\b",
    "a\0",
    "a\n",
    "\u001f",
    "\u007f",
    "\u0085",
    "\ud800",
    "a".repeat(129),
    `${"é".repeat(64)}a`,
  ])("is not %j", (name) => {
    expect(isDriveName(name)).toBe(false);
  });

  test.each(["a:b", ":", " a", "a ", "\ta", "a\u3000"])("that is new is not %j, which an old one may be", (name) => {
    expect(isNewDriveName(name)).toBe(false);
  });

  test.each(["my notes", "a", "é".repeat(64)])("that is new may be %j", (name) => {
    expect(isNewDriveName(name)).toBe(true);
  });
});

describe("a path", () => {
  test.each([
    ["", []],
    ["/", []],
    ["///", []],
    ["a", ["a"]],
    ["/a", ["a"]],
    ["//a///b/", ["a", "b"]],
    ["é/漢字/😀", ["é", "漢字", "😀"]],
    ["a/...", ["a", "..."]],
    ["C:/x", ["C:", "x"]],
  ])("%j has the names %j", (path, names) => {
    expect(parseNames(path)).toEqual(names);
  });

  test.each(["..", ".", "a/..", "a/./b", "a/\0", "a/\ud800", `a/${"b".repeat(256)}`, `/${DELETED_MARK}`])(
    "%j is refused",
    (path) => {
      expect(codeOf(() => parseNames(path))).toBe("INVALID_PATH");
    },
  );

  test("has a greatest depth, which a caller may set", () => {
    const deepest = "a/".repeat(MAX_PATH_DEPTH);
    expect(parseNames(deepest)).toHaveLength(256);
    expect(codeOf(() => parseNames(`${deepest}a`))).toBe("INVALID_PATH");
    expect(parseNames("a/b", 2)).toEqual(["a", "b"]);
    expect(codeOf(() => parseNames("a/b/c", 2))).toBe("INVALID_PATH");
  });

  test("that is refused is told on one line", () => {
    expect(() => parseNames("a\n/..")).toThrow("Invalid path 'a\\u{a}/..': not a name");
  });
});

describe("the order of names", () => {
  test("is that of their UTF-8 bytes, not of their UTF-16 units", () => {
    const names = ["\u{1f600}", "\uffff", "a", "B", "é", "aa", "\ud7ff"];
    const bytes = (name: string): string => Buffer.from(name).toString("hex");
    const expected = [...names].sort((a, b) => (bytes(a) < bytes(b) ? -1 : 1));
    expect([...names].sort(compareNames)).toEqual(expected);
    expect([...names].sort()).not.toEqual(expected);
    expect(compareNames("a", "a")).toBe(0);
  });
});
