import { describe, expect, test } from "@jest/globals";
import { encode, hashOf, isEmbedded } from "../../../src/drive/cad3/encoding/cell.js";
import { decode, fromMultiCell, toMultiCell } from "../../../src/drive/cad3/encoding/multi-cell.js";
import { index } from "../../../src/drive/cad3/maps/index-map.js";
import { materialize } from "../../../src/drive/cad3/materialize.js";
import { keyword, type Value } from "../../../src/drive/cad3/value.js";
import { fromHex, parseValue, parseVectors, pattern, toHex } from "./notation.js";

interface Vector {
  readonly name: string;
  readonly value: unknown;
  readonly length: number;
  readonly embedded: boolean;
  readonly encoding?: string;
  readonly hash: string;
}

const { vectors } = parseVectors<{ readonly vectors: readonly Vector[] }>("cad3");
const { nodes } = parseVectors<{ readonly nodes: readonly Vector[] }>("dlfs-nodes");
const long = parseVectors<{ readonly vectors: readonly (Vector & { readonly multicell?: string })[] }>(
  "index-long",
).vectors;
const all = [...vectors, ...nodes, ...long].map((vector) => [vector.name, vector] as const);

describe("a value of the golden vectors", () => {
  test.each(all)("is encoded as by the reference: %s", (_, vector) => {
    const value = parseValue(vector.value);
    const encoding = encode(value);
    if (vector.encoding !== undefined) expect(toHex(encoding)).toBe(vector.encoding);
    expect(encoding.length).toBe(vector.length);
    expect(hashOf(value)).toBe(vector.hash);
    expect(isEmbedded(value)).toBe(vector.embedded);
  });

  test.each(all)("comes back from its cells: %s", (_, vector) => {
    const bytes = toMultiCell(parseValue(vector.value));
    const back = fromMultiCell(bytes);
    expect(hashOf(back)).toBe(vector.hash);
    expect(hashOf(parseValue(vector.value))).toBe(vector.hash);
    expect(toHex(toMultiCell(back))).toBe(toHex(bytes));
    expect(materialize(back)).toBe(back);
  });

  test.each(all)("is known from its top cell alone: %s", (_, vector) => {
    const encoding = encode(parseValue(vector.value));
    const lazy = decode(encoding);
    expect(encode(lazy)).toEqual(encoding);
    expect(hashOf(lazy)).toBe(vector.hash);
    expect(isEmbedded(lazy)).toBe(vector.embedded);
    expect(hashOf([lazy, 1])).toBe(hashOf([parseValue(vector.value), 1]));
  });
});

const written = long.flatMap(({ multicell, ...vector }) => (multicell === undefined ? [] : [{ ...vector, multicell }]));

test.each(written)("cells that the reference wrote are read: $name", ({ hash, multicell, value }) => {
  const back = fromMultiCell(fromHex(multicell));
  expect(hashOf(back)).toBe(hash);
  expect(hashOf(materialize(back))).toBe(hash);
  expect(toMultiCell(back).length).toBe(multicell.length / 2);
  expect(toMultiCell(parseValue(value)).length).toBe(multicell.length / 2);
});

describe("what comes out of an encoding", () => {
  const forms: readonly [string, string, Value][] = [
    ["nil", "00", null],
    ["a boolean", "b1", true],
    ["an integer, always as a bigint", "120080", 128n],
    ["a negative one", "11ff", -1n],
    ["one of 6 bytes", "16018bcfe56800", 1700000000000n],
    ["one of 7 bytes", "17ff000000000001", -(2n ** 48n) + 1n],
    ["the least one", "188000000000000000", -(2n ** 63n)],
    ["a string", "3002c3a9", "é"],
    ["a string that begins with U+FEFF", "3004efbbbf61", "\ufeffa"],
    ["a blob", "3102cafe", Uint8Array.of(0xca, 0xfe)],
    ["a keyword", "33026673", keyword("fs")],
    ["a vector", "8002110100", [1n, null]],
    ["an index", "84013001611101", index([["a", 1n]])],
  ];
  test.each(forms)("is %s", (_, hex, value) => {
    expect(decode(fromHex(hex))).toEqual(value);
    expect(toHex(encode(value))).toBe(hex);
  });

  test("is the caller's own: neither the input nor another answer changes with it", () => {
    const [blob, lazy] = ["80013104cafebabe", toHex(encode([pattern(200)]))];
    for (const hex of [blob, lazy, "84013001611101", "820111011102", "3104cafebabe"]) {
      const bytes = fromHex(hex);
      const value = decode(bytes);
      bytes.fill(0);
      expect(toHex(encode(value))).toBe(hex);
    }
    const entries = index([["a", 1]]);
    encode(entries).fill(0);
    expect(toHex(encode(entries))).toBe("84013001611101");
  });
});

describe("what cannot be encoded", () => {
  const circular: Value[] = [];
  circular.push([circular]);
  const wrong: readonly [string, () => unknown, string][] = [
    ["an integer beyond 64 bits", () => encode(2n ** 63n), "RangeError"],
    ["one below", () => encode(-(2n ** 63n) - 1n), "RangeError"],
    ["an unsafe number", () => encode(2 ** 53), "RangeError"],
    ["a fraction", () => encode(0.5), "RangeError"],
    ["NaN", () => encode(Number.NaN), "RangeError"],
    ["half a surrogate pair", () => encode("a\ud800"), "RangeError"],
    ["a keyword without a name", () => keyword(""), "RangeError"],
    ["a keyword of 129 bytes", () => keyword(`${"é".repeat(64)}a`), "RangeError"],
    ["a value that contains itself", () => encode(circular), "RangeError"],
    ["what is no value", () => encode(JSON.parse("{}")), "TypeError"],
    ["a key that is none", () => index(JSON.parse("[[1, 2]]")), "TypeError"],
  ];
  test.each(wrong)("%s", (_, act, name) => {
    expect(act).toThrow(expect.objectContaining({ name }));
  });
});

describe("an integer", () => {
  const edges = [...Array(64).keys()].flatMap((bits) => [2n ** BigInt(bits), -(2n ** BigInt(bits))]);
  const all64 = edges.flatMap((edge) => [edge - 1n, edge, edge + 1n]).filter((n) => BigInt.asIntN(64, n) === n);

  test("comes back from the shortest bytes that hold it", () => {
    for (const value of all64) {
      const encoding = encode(value);
      expect(decode(encoding)).toBe(value);
      const bits = 8 * (encoding.length - 1);
      expect(bits === 0 || BigInt.asIntN(bits - 8, value) !== value).toBe(true);
      if (Number.isSafeInteger(Number(value))) expect(encode(Number(value))).toEqual(encoding);
    }
  });
});

describe("a blob", () => {
  const lengths = [4096, 4097, 65536, 65537, 69632, 2 ** 20, 2 ** 20 + 1, 2 ** 20 + 4097, 2 ** 20 + 65537];
  test.each(lengths)("of %i bytes comes back", (length) => {
    const blob = pattern(length);
    const back = fromMultiCell(toMultiCell([blob, "x"]));
    expect(hashOf(back)).toBe(hashOf([blob, "x"]));
    expect(Array.isArray(back) && Buffer.from(blob).equals(back[0])).toBe(true);
  });

  test("has one hash, whatever buffer it lies in", () => {
    const large = Buffer.concat([Buffer.from("before"), pattern(5000), Buffer.from("after")]);
    expect(hashOf(large.subarray(6, 5006))).toBe(hashOf(pattern(5000)));
  });

  test("that is a string has blobs for parts", () => {
    const text = "é".repeat(40_000);
    expect(fromMultiCell(toMultiCell(text))).toBe(text);
    expect(encode(text)[0]).toBe(0x30);
    expect(toHex(encode(text).subarray(1))).toBe(toHex(encode(new Uint8Array(Buffer.from(text))).subarray(1)));
  });
});

describe("nesting", () => {
  const nested = (depth: number, inner: Value): Value => {
    let value = inner;
    for (let level = 0; level < depth; level += 1) value = [value];
    return value;
  };

  test("may go deeper than the stack", () => {
    const deep = nested(100_000, "x".repeat(200));
    expect(hashOf(deep)).toHaveLength(64);
  });

  test("of a shared value costs no more than the value", () => {
    let value: Value = "x".repeat(200);
    for (let level = 0; level < 200; level += 1) value = Array(16).fill(value);
    const bytes = toMultiCell(value);
    expect(bytes.length).toBeLessThan(200_000);
  });
});
