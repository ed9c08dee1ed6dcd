import { describe, expect, test } from "@jest/globals";
import {
  compareNames,
  DELETED_MARK,
  isDriveName,
  MAX_PATH_DEPTH,
  movedName,
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
  test.each(["docs", "my notes", "é".repeat(32), "a".repeat(64), "😀".repeat(16)])("may be %j", (name) => {
    expect(isDriveName(name)).toBe(true);
  });

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
    "a".repeat(65),
    `${"é".repeat(32)}a`,
  ])("is not %j", (name) => {
    expect(isDriveName(name)).toBe(false);
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
    expect(parseNames(deepest)).toHaveLength(64);
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

describe("the name of a node that has lost its slot", () => {
  const hash = "0123456789abcdef".repeat(4);

  test("has eight digits of its hash before its old name", () => {
    expect(movedName("report.txt", hash)).toBe("~01234567~report.txt");
  });

  test.each([
    ["a".repeat(245), 245],
    ["a".repeat(246), 245],
    ["é".repeat(127), 122],
    ["漢".repeat(85), 81],
    [`a${"😀".repeat(63)}`, 1 + 2 * 61],
  ])("is cut to 255 bytes between characters: %s", (name, units) => {
    const moved = movedName(name, hash);
    expect(moved).toBe(`~01234567~${name.slice(0, units)}`);
    expect(nameFault(moved)).toBeUndefined();
  });
});
