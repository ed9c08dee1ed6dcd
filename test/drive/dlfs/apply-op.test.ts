import { describe, expect, test } from "@jest/globals";
import { encode, hashOf } from "../../../src/drive/cad3/encoding/cell.js";
import type { Value } from "../../../src/drive/cad3/value.js";
import { applyOp, type TreeChange } from "../../../src/drive/dlfs/apply-op.js";
import { contentOf, dir, directoryOf, file, tombstone, viewOf } from "../../../src/drive/dlfs/node.js";
import { codeOf } from "../cad3/code-of.js";
import { parseVectors } from "../cad3/notation.js";
import { bytesOf, type Expected } from "./tree-notation.js";

interface Step {
  readonly op: TreeChange["op"];
  readonly path: string;
  readonly data?: unknown;
  readonly at: number;
  readonly fails?: string;
}

interface OperationVectors {
  readonly operations: readonly { readonly name: string; readonly ops: readonly Step[]; readonly root: Expected }[];
}

const { operations } = parseVectors<OperationVectors>("dlfs-nodes");
const bytes = (text: string): Uint8Array => new Uint8Array(Buffer.from(text));

function take(root: Value, { op, path, data, at, fails }: Step): Value {
  const change = { op, path, at, data: data === undefined ? undefined : bytesOf(data) };
  if (fails === undefined) return applyOp(root, change);
  expect(codeOf(() => applyOp(root, change))).toBe(fails);
  return root;
}

/** What is at a path: kind, time and content. */
function look(root: Value, path: string): unknown {
  let node = root;
  for (const name of path.split("/").filter((part) => part !== "")) {
    node = directoryOf(node).entries.get(name) ?? null;
    if (node === null) return undefined;
  }
  const view = viewOf(node);
  return [Number(view.utime), view.kind === "file" ? Buffer.from(contentOf(view)).toString() : view.kind];
}

const LONG = "x".repeat(32);

describe("operations of the reference", () => {
  test("are there to be compared with", () => {
    expect(operations.length).toBeGreaterThan(10);
  });

  test.each(operations)("$name: end in the same tree", ({ ops, root }) => {
    const result = ops.reduce(take, dir([], 0));
    expect({ hash: hashOf(result), length: encode(result).length }).toEqual({ hash: root.hash, length: root.length });
  });
});

describe("a change", () => {
  const start = [
    { op: "mkdir", path: "d", at: 10 },
    { op: "write", path: "d/f", data: { text: "one" }, at: 20 },
    { op: "mkdir", path: "d/sub", at: 25 },
    { op: "create", path: "g", data: { text: "G" }, at: 30 },
    { op: "write", path: "gone", data: { text: "x" }, at: 31 },
    { op: "delete", path: "gone", at: 32 },
    { op: "create", path: `${LONG}1`, data: { text: "long" }, at: 33 },
  ] as const satisfies readonly Step[];
  const root = start.reduce<Value>(take, dir([], 0));

  test.each<[TreeChange["op"], string, string]>([
    ["mkdir", "d", "EXISTS"],
    ["mkdir", "g", "EXISTS"],
    ["create", "g", "EXISTS"],
    ["create", "d", "EXISTS"],
    ["write", "d", "IS_A_DIRECTORY"],
    ["append", "d", "IS_A_DIRECTORY"],
    ["delete", "d", "NOT_EMPTY"],
    ["delete", "none", "NOT_FOUND"],
    ["delete", "gone", "NOT_FOUND"],
    ["delete", `${LONG}2`, "NOT_FOUND"],
    ["delete", LONG, "NOT_FOUND"],
    ["write", "none/f", "NOT_FOUND"],
    ["write", "gone/f", "NOT_FOUND"],
    ["write", `${LONG}2/f`, "NOT_FOUND"],
    ["write", "g/f", "NOT_A_DIRECTORY"],
    ["delete", "g/f", "NOT_A_DIRECTORY"],
    ["mkdir", `${LONG}1/f`, "NOT_A_DIRECTORY"],
    ["delete", "", "INVALID_PATH"],
    ["delete", "/", "INVALID_PATH"],
    ["mkdir", "/", "EXISTS"],
    ["create", "", "EXISTS"],
    ["write", "//", "IS_A_DIRECTORY"],
    ["append", "", "IS_A_DIRECTORY"],
    ["write", "none/..", "INVALID_PATH"],
    ["write", "g/..", "INVALID_PATH"],
    ["write", "\u0000drive-deleted", "INVALID_PATH"],
    ["write", "a/".repeat(257), "INVALID_PATH"],
  ])("%s of %j fails with %s and changes nothing", (op, path, code) => {
    const before = hashOf(root);
    expect(codeOf(() => applyOp(root, { op, path, data: bytes("new"), at: 100 }))).toBe(code);
    expect(hashOf(root)).toBe(before);
  });

  test("of a name that is no longer than the one with its first 32 bytes has a slot of its own", () => {
    const after = applyOp(root, { op: "write", path: "x".repeat(31), data: bytes("31"), at: 100 });
    expect([look(after, "x".repeat(31)), look(after, `${LONG}1`)]).toEqual([
      [100, "31"],
      [33, "long"],
    ]);
  });

  test("of a name that shares 32 bytes with others leaves those alone, also where they are deleted", () => {
    const gone = applyOp(root, { op: "delete", path: `${LONG}1`, at: 100 });
    const after = applyOp(gone, { op: "append", path: `${LONG}2`, data: bytes("two"), at: 50 });
    const all = applyOp(after, { op: "mkdir", path: LONG, at: 50 });
    expect([look(all, `${LONG}1`), look(all, `${LONG}2`), look(all, LONG)]).toEqual([
      [100, "tombstone"],
      [100, "two"],
      [100, "directory"],
    ]);
  });

  test.each([
    ["a later clock", 500, 500],
    ["a clock that stands still", 20, 33],
    ["a clock that goes back", -5, 33],
    ["a clock of bigint", 500n, 500],
  ])("stamps the node and all above it: %s", (_, at, stamp) => {
    const after = applyOp(root, { op: "write", path: "d/f", data: bytes("two"), at });
    expect([look(after, "d/f"), look(after, "d"), look(after, ""), look(after, "d/sub"), look(after, "g")]).toEqual([
      [stamp, "two"],
      [stamp, "directory"],
      [stamp, "directory"],
      [25, "directory"],
      [30, "G"],
    ]);
  });

  test("is later than what it replaces, though that is later than all directories", () => {
    const skewed = dir(
      [
        ["f", file(bytes("x"), 900)],
        ["t", tombstone(800)],
      ],
      5,
    );
    expect(look(applyOp(skewed, { op: "write", path: "f", data: bytes("x"), at: 7 }), "f")).toEqual([901, "x"]);
    expect(look(applyOp(skewed, { op: "delete", path: "f", at: 7 }), "f")).toEqual([901, "tombstone"]);
    expect(look(applyOp(skewed, { op: "mkdir", path: "t", at: 7 }), "t")).toEqual([801, "directory"]);
  });

  test("leaves the tree it started from as it was", () => {
    const before = hashOf(root);
    applyOp(root, { op: "append", path: "d/f", data: bytes("two"), at: 100 });
    applyOp(root, { op: "delete", path: "g", at: 100 });
    expect([hashOf(root), look(root, "d/f")]).toEqual([before, [20, "one"]]);
  });

  test("appends to what is there, or makes it", () => {
    const once = applyOp(root, { op: "append", path: "d/f", data: bytes("+two"), at: 100 });
    expect(look(once, "d/f")).toEqual([100, "one+two"]);
    expect(look(applyOp(root, { op: "append", path: "new", data: bytes("n"), at: 100 }), "new")).toEqual([100, "n"]);
    expect(look(applyOp(root, { op: "append", path: "gone", data: bytes("n"), at: 100 }), "gone")).toEqual([100, "n"]);
    expect(look(applyOp(root, { op: "append", path: "d/f", at: 100 }), "d/f")).toEqual([100, "one"]);
  });

  test("without data makes an empty file", () => {
    expect(look(applyOp(root, { op: "create", path: "empty", at: 100 }), "empty")).toEqual([100, ""]);
  });

  test("deletes a directory in which there are only tombstones, and them with it", () => {
    const emptied = [
      { op: "delete", path: "d/f", at: 100 },
      { op: "delete", path: "d/sub", at: 101 },
      { op: "delete", path: "d", at: 102 },
    ] as const;
    const after = emptied.reduce<Value>(take, root);
    expect([look(after, "d"), look(after, "")]).toEqual([
      [102, "tombstone"],
      [102, "directory"],
    ]);
  });

  test("drops metadata of the directories that it stamps", () => {
    const marked = dir([["d", dir([["s", dir([], 1, "inner")]], 1, "middle")]], 1, "top");
    const after = applyOp(marked, { op: "mkdir", path: "d/n", at: 5 });
    const plain = dir([["d", dir([["s", dir([], 1, "inner")]], 1)]], 1);
    expect(hashOf(after)).toBe(hashOf(applyOp(plain, { op: "mkdir", path: "d/n", at: 5 })));
  });

  test("is refused where no later stamp is left", () => {
    const last = dir([["f", file(bytes("x"), 2n ** 63n - 1n)]], 5);
    expect(codeOf(() => applyOp(last, { op: "write", path: "f", at: 9 }))).toBe("FUTURE_TIME");
    expect(look(applyOp(last, { op: "write", path: "g", at: 9 }), "g")).toEqual([9, ""]);
  });

  test("of what is no tree is refused", () => {
    expect(codeOf(() => applyOp(tombstone(1), { op: "mkdir", path: "a", at: 1 }))).toBe("BAD_FORMAT");
    expect(codeOf(() => applyOp(null, { op: "mkdir", path: "a", at: 1 }))).toBe("BAD_FORMAT");
    expect(() => applyOp(root, { op: "mkdir", path: "new", at: 1.5 })).toThrow(RangeError);
  });
});

describe("the limits of a tree", () => {
  const root = dir(
    [
      ["f", file(bytes("12345"), 1)],
      ["t", tombstone(1)],
    ],
    1,
  );

  test("hold for the bytes of a file, old and new", () => {
    const limits = { maxFileBytes: 8 };
    const change = { path: "f", at: 2, limits } as const;
    expect(look(applyOp(root, { ...change, op: "append", data: bytes("678") }), "f")).toEqual([2, "12345678"]);
    expect(codeOf(() => applyOp(root, { ...change, op: "append", data: bytes("6789") }))).toBe("TOO_LARGE");
    expect(codeOf(() => applyOp(root, { ...change, op: "write", data: bytes("123456789") }))).toBe("TOO_LARGE");
    expect(codeOf(() => applyOp(root, { ...change, op: "create", path: "g", data: bytes("123456789") }))).toBe(
      "TOO_LARGE",
    );
  });

  test("hold for the entries of a directory, which may still be changed", () => {
    const limits = { maxEntries: 2 };
    expect(codeOf(() => applyOp(root, { op: "mkdir", path: "new", at: 2, limits }))).toBe("LIMIT");
    expect(look(applyOp(root, { op: "mkdir", path: "t", at: 2, limits }), "t")).toEqual([2, "directory"]);
    expect(look(applyOp(root, { op: "delete", path: "f", at: 2, limits }), "f")).toEqual([2, "tombstone"]);
  });

  test("hold for the depth of a path", () => {
    expect(codeOf(() => applyOp(root, { op: "mkdir", path: "a/b", at: 2, limits: { maxPathDepth: 1 } }))).toBe(
      "INVALID_PATH",
    );
  });
});
