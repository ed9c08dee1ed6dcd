import { describe, expect, test } from "@jest/globals";
import { encode, hashOf, isEmbedded } from "../../../src/drive/cad3/encoding/cell.js";
import { decode } from "../../../src/drive/cad3/encoding/multi-cell.js";
import { index } from "../../../src/drive/cad3/maps/index-map.js";
import type { Value } from "../../../src/drive/cad3/value.js";
import { dir, directoryOf, file, tombstone, viewOf } from "../../../src/drive/dlfs/node.js";
import { codeOf } from "../cad3/code-of.js";
import { parseValue, parseVectors, toHex } from "../cad3/notation.js";
import { type Expected, isNode, nodeOf } from "./tree-notation.js";

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
