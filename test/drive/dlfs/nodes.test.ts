import { describe, expect, test } from "@jest/globals";
import { cellOf, encode, hashOf, isEmbedded } from "../../../src/drive/cad3/encoding/cell.js";
import { decode } from "../../../src/drive/cad3/encoding/multi-cell.js";
import { parseCell } from "../../../src/drive/cad3/encoding/parse-cell.js";
import { LazyValue } from "../../../src/drive/cad3/lazy.js";
import { index } from "../../../src/drive/cad3/maps/index-map.js";
import { keyword } from "../../../src/drive/cad3/scalar.js";
import type { Value } from "../../../src/drive/cad3/value.js";
import { checkNode, type NodeLimits } from "../../../src/drive/dlfs/check-node.js";
import { createDrive, deleteDrive } from "../../../src/drive/dlfs/lifetime.js";
import {
  compareNames,
  DELETED_MARK,
  isDriveName,
  isNewDriveName,
  MAX_PATH_DEPTH,
  nameFault,
  parseNames,
} from "../../../src/drive/dlfs/name.js";
import { dir, directoryOf, file, tombstone, viewOf } from "../../../src/drive/dlfs/node.js";
import { codeOf } from "../cad3/code-of.js";
import { parseValue, parseVectors, toHex } from "../cad3/notation.js";
import { type Expected, isNode, nodeOf } from "./tree-notation.js";

const leaf = file(Buffer.from("x"), 1);
const holding = (node: Value): Value =>
  dir(
    [
      ["ok", tombstone(1)],
      ["d", dir([["n", node]], 1)],
    ],
    1,
  );

/** Directories in each other. */
function nested(depth: number, node: Value = dir([], 1)): Value {
  let root = node;
  for (let names = 0; names < depth; names += 1) root = dir([["d", root]], 1);
  return root;
}

/** Five entries that are those of no other name. */
const entriesOf = (name: string): [string, Value][] =>
  Array.from({ length: 5 }, (_, place) => [`${name}${place}`, tombstone(1)]);

/** Twice as many files with every level. */
function doubled(levels: number, node: Value): Value {
  let root = node;
  for (let level = 0; level < levels; level += 1)
    root = dir(
      [
        ["one", root],
        ["two", root],
      ],
      1,
    );
  return root;
}

describe("the check of a drive", () => {
  test.each<[string, Value]>([
    ["an empty directory", dir([], 0)],
    [
      "files, tombstones and directories",
      holding(
        dir(
          [
            ["f", leaf],
            ["t", tombstone(2)],
          ],
          3,
        ),
      ),
    ],
    ["metadata of any kind", dir([["f", file(Buffer.from("x"), 1, ["any", keyword("kind")])]], 1, "meta")],
    ["the greatest time", dir([["t", tombstone(2n ** 63n - 1n)]], 1)],
    ["a time by a number", [index([]), null, null, 5]],
    ["a deleted drive", deleteDrive(dir([["f", leaf]], 1), { at: 5 })],
    ["a drive that was made again", createDrive(deleteDrive(dir([["f", leaf]], 1), { at: 5 }), { at: 6 })],
    [
      "names of which only 31 bytes agree",
      dir(
        [
          ["x".repeat(31), leaf],
          ["x".repeat(33), leaf],
        ],
        1,
      ),
    ],
    ["a path of 256 names", nested(256)],
  ])("passes %s", (_, root) => {
    expect(checkNode(root)).toBeUndefined();
  });

  test.each<[string, Value]>([
    ["nil", null],
    ["a root that is a file", leaf],
    ["a root that is a tombstone", tombstone(1)],
    ["a vector of 3", [index([]), null, null]],
    ["entries and data", holding([index([]), new Uint8Array(), null, 1n])],
    ["an entry that is no node", holding(7)],
    ["an entry that is nil", holding(null)],
    ["data that is a string", holding([null, "text", null, 1n])],
    ["entries that are a vector", holding([[], null, null, 1n])],
    ["a time that is nil", holding([null, null, null, null])],
    ["a time before 1970", holding(tombstone(-1))],
    ["a time before 1970 of the root", dir([], -1)],
    ["a time of more than 63 bits", holding([null, null, null, 2n ** 63n])],
    ["a name that is a keyword", [index([[keyword("k"), leaf]]), null, null, 1n]],
    ["a name that is a blob", [index([[Buffer.from("b"), leaf]]), null, null, 1n]],
  ])("refuses %s", (_, root) => {
    expect(codeOf(() => checkNode(root))).toBe("BAD_FORMAT");
  });

  test.each(["", ".", "..", "a/b", "/", "a\0", "x".repeat(256)])("refuses the name %j", (name) => {
    expect(codeOf(() => checkNode(dir([[name, leaf]], 1)))).toBe("INVALID_PATH");
    expect(codeOf(() => checkNode(dir([["d", dir([[name, tombstone(1)]], 1)]], 1)))).toBe("INVALID_PATH");
  });

  test("takes the mark of a deleted drive for one only as a tombstone in the root", () => {
    const mark: [string, Value] = [DELETED_MARK, tombstone(1)];
    expect(codeOf(() => checkNode(dir([mark], 1)))).toBeUndefined();
    expect(codeOf(() => checkNode(dir([[DELETED_MARK, leaf]], 1)))).toBe("INVALID_PATH");
    expect(codeOf(() => checkNode(dir([["d", dir([mark], 1)]], 1)))).toBe("INVALID_PATH");
    const shared = dir([mark], 1);
    expect(codeOf(() => checkNode(dir([mark, ["d", shared]], 1)))).toBe("INVALID_PATH");
  });
});

describe("the limits of a drive from elsewhere", () => {
  const ten = dir(
    Array.from({ length: 10 }, (_, place) => [`f${place}`, file(new Uint8Array(100), 5)]),
    5,
  );

  test.each<[string, Value, Partial<NodeLimits>, string]>([
    ["names in a path", nested(3), { maxPathDepth: 2 }, "LIMIT"],
    ["names in a path by default", nested(257), {}, "LIMIT"],
    ["names in a path to a file", nested(3, leaf), { maxPathDepth: 2 }, "LIMIT"],
    ["entries in a directory", ten, { maxEntries: 9 }, "LIMIT"],
    [
      "entries in all",
      dir(
        [
          ["a", ten],
          ["b", tombstone(1)],
        ],
        1,
      ),
      { maxImportEntries: 11 },
      "LIMIT",
    ],
    [
      "entries that are there twice",
      dir(
        [
          ["a", ten],
          ["b", ten],
        ],
        1,
      ),
      { maxImportEntries: 21 },
      "LIMIT",
    ],
    ["bytes of one file", ten, { maxFileBytes: 99 }, "TOO_LARGE"],
    ["bytes of all files", ten, { maxImportLogicalBytes: 999 }, "LIMIT"],
    [
      "bytes that are there twice",
      dir(
        [
          ["a", ten],
          ["b", ten],
        ],
        1,
      ),
      { maxImportLogicalBytes: 1999 },
      "LIMIT",
    ],
    ["the latest time", ten, { latestUtime: 4 }, "FUTURE_TIME"],
    ["the latest time, for a tombstone", holding(tombstone(6)), { latestUtime: 5n }, "FUTURE_TIME"],
    ["the latest time, for the root", dir([], 6), { latestUtime: 5n }, "FUTURE_TIME"],
  ])("hold for %s", (_, root, limits, code) => {
    expect(codeOf(() => checkNode(root, limits))).toBe(code);
  });

  test.each<[string, Value, Partial<NodeLimits>]>([
    ["names in a path", nested(3), { maxPathDepth: 3 }],
    ["names in a path to a file", nested(3, leaf), { maxPathDepth: 3 }],
    ["entries in a directory", ten, { maxEntries: 10 }],
    [
      "entries in all",
      dir(
        [
          ["a", ten],
          ["b", tombstone(1)],
        ],
        1,
      ),
      { maxImportEntries: 12 },
    ],
    [
      "entries that are there twice",
      dir(
        [
          ["a", ten],
          ["b", ten],
        ],
        1,
      ),
      { maxImportEntries: 22 },
    ],
    ["bytes of one file", ten, { maxFileBytes: 100 }],
    [
      "bytes of all files",
      dir(
        [
          ["a", ten],
          ["b", ten],
        ],
        1,
      ),
      { maxImportLogicalBytes: 2000 },
    ],
    ["the latest time", ten, { latestUtime: 5 }],
  ])("may be reached: %s", (_, root, limits) => {
    expect(checkNode(root, limits)).toBeUndefined();
  });

  test("hold for what takes few cells and stands for very much", () => {
    expect(codeOf(() => checkNode(doubled(60, leaf)))).toBe("LIMIT");
    const limits = { maxImportEntries: 2 ** 62 };
    expect(codeOf(() => checkNode(doubled(60, file(new Uint8Array(2), 1)), limits))).toBe("LIMIT");
    expect(checkNode(doubled(60, tombstone(1)), limits)).toBeUndefined();
  });

  test("are looked at while counting, not at the end", () => {
    const load = (): never => {
      throw new Error("Counted too long");
    };
    const { bytes, ref } = cellOf(ten);
    const last = dir([["f", new LazyValue(ref, parseCell(bytes), { load, open: load, whole: load })]], 1);
    const root = dir(
      [...["a", "b", "c"].map((name): [string, Value] => [name, dir(entriesOf(name), 1)]), ["d", last]],
      1,
    );
    expect(codeOf(() => checkNode(root, { maxImportEntries: 10 }))).toBe("LIMIT");
  });

  test("hold for a size that is only claimed", () => {
    const claimed = (size: string, tag = "31"): Value =>
      decode(Buffer.from(`${tag}${size}${`20${"ab".repeat(32)}`.repeat(2)}`, "hex"));
    const root = (data: Value): Value => dir([["f", [null, data, null, 1n]]], 1);
    expect(checkNode(root(claimed("c000")))).toBeUndefined();
    expect(codeOf(() => checkNode(root(claimed("c000")), { maxFileBytes: 8191 }))).toBe("TOO_LARGE");
    expect(codeOf(() => checkNode(root(claimed("c000", "30"))))).toBe("BAD_FORMAT");
  });

  test("are no reason to load the content of a file", () => {
    const data = new Uint8Array(9000);
    const { bytes, ref } = cellOf(data);
    const load = (): never => {
      throw new Error("The content is loaded");
    };
    const lazy = new LazyValue(ref, parseCell(bytes), { load, open: load, whole: load });
    expect(checkNode(dir([["f", [null, lazy, null, 1n]]], 1))).toBeUndefined();
  });

  test("have no stack in their way", () => {
    const limits = { maxPathDepth: 5000 };
    expect(checkNode(nested(5000), limits)).toBeUndefined();
    expect(codeOf(() => checkNode(nested(5001), limits))).toBe("LIMIT");
  });
});

interface NodeVectors {
  readonly nodes: readonly (Expected & { readonly name: string; readonly value: unknown })[];
}

const { nodes } = parseVectors<NodeVectors>("dlfs-nodes");

describe("a node of the reference", () => {
  test("is there to be compared with", () => {
    expect(nodes.length).toBeGreaterThan(10);
  });

  test.each(nodes)("$name: encodes to the same bytes", ({ value, encoding, hash, length, embedded }) => {
    const node = isNode(value) ? nodeOf(value) : parseValue(value);
    const bytes = encode(node);
    expect({ hash: hashOf(node), length: bytes.length, embedded: isEmbedded(node) }).toEqual({
      hash,
      length,
      embedded,
    });
    if (encoding !== undefined) expect(toHex(bytes)).toBe(encoding);
  });
});

describe("the smallest root", () => {
  test("is an empty directory at time 0", () => {
    expect(toHex(encode(dir([], 0)))).toBe("80048400000010");
  });
});

describe("dir", () => {
  test("takes names as they are, and of two for one slot the later", () => {
    const [one, two] = [`${"x".repeat(255)}1`, `${"x".repeat(255)}2`];
    const { entries } = directoryOf(
      dir(
        ["..", "a/b", one, two].map((name) => [name, tombstone(1)]),
        3,
      ),
    );
    expect([...entries].map(([name]) => name)).toEqual(["..", "a/b", two]);
  });

  test("orders names by their UTF-8 bytes", () => {
    const { entries } = directoryOf(
      dir(
        ["\u{1f600}", "\uffff", "b", "B"].map((name) => [name, tombstone(1)]),
        1,
      ),
    );
    expect([...entries].map(([name]) => name)).toEqual(["B", "b", "\uffff", "\u{1f600}"]);
  });
});

describe("the time of a node", () => {
  test.each([0, 1n, 1_700_000_000_000, 2n ** 63n - 1n])("may be %s", (utime) => {
    for (const node of [dir([], utime), file(new Uint8Array(), utime), tombstone(utime)]) {
      expect(viewOf(node).utime).toBe(BigInt(utime));
      expect(viewOf(decode(encode(node))).utime).toBe(BigInt(utime));
    }
  });

  test.each([1.5, Number.NaN, Number.POSITIVE_INFINITY])("is no %s", (utime) => {
    expect(() => tombstone(utime)).toThrow(RangeError);
    expect(() => file(new Uint8Array(), utime)).toThrow(RangeError);
    expect(() => dir([], utime)).toThrow(RangeError);
  });
});

describe("what a node is", () => {
  test.each([
    ["a directory", dir([], 1), "directory"],
    ["a file", file(new Uint8Array(), 1), "file"],
    ["a tombstone", tombstone(1), "tombstone"],
    ["one made by hand with a number for its time", [null, null, null, 1], "tombstone"],
    ["one with metadata", [index([]), null, "meta", 1n], "directory"],
  ] as const)("%s", (_, node, kind) => {
    expect(viewOf(node).kind).toBe(kind);
  });

  test.each<[string, Value]>([
    ["nil", null],
    ["a string", "node"],
    ["an empty vector", []],
    ["a vector of 3", [null, null, null]],
    ["a vector of 5", [null, null, null, 1n, null]],
    ["one with entries and data", [index([]), new Uint8Array(), null, 1n]],
    ["one with entries that are a vector", [[], null, null, 1n]],
    ["one with data that is a string", [null, "data", null, 1n]],
    ["one without a time", [null, null, null, null]],
    ["one whose time is a string", [null, null, null, "1"]],
  ])("is not told of %s", (_, node) => {
    expect(codeOf(() => viewOf(node))).toBe("BAD_FORMAT");
  });

  test("a root is no file and no tombstone", () => {
    expect(codeOf(() => directoryOf(file(new Uint8Array(), 1)))).toBe("BAD_FORMAT");
    expect(codeOf(() => directoryOf(tombstone(1)))).toBe("BAD_FORMAT");
  });
});

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
