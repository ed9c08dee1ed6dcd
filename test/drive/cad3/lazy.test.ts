import { describe, expect, test } from "@jest/globals";
import { emitCells, encode, hashOf, isEmbedded } from "../../../src/drive/cad3/encoding/cell.js";
import { decode, type Resolve, toMultiCell } from "../../../src/drive/cad3/encoding/multi-cell.js";
import { LazyValue } from "../../../src/drive/cad3/lazy.js";
import { map } from "../../../src/drive/cad3/maps/hash-map.js";
import { CadIndex, index } from "../../../src/drive/cad3/maps/index-map.js";
import { materialize } from "../../../src/drive/cad3/materialize.js";
import { sha3 } from "../../../src/drive/cad3/ref.js";
import { Signed, sign, verify } from "../../../src/drive/cad3/signed.js";
import type { Value } from "../../../src/drive/cad3/value.js";
import { united } from "../united.js";
import { codeOf } from "./code-of.js";
import { pattern, toHex } from "./notation.js";

const SEED = new Uint8Array(32).fill(7);

/** The cells of values, and which of them have been asked for. */
function storeOf(...values: Value[]): { resolve: Resolve; asked: string[]; cells: Map<string, Uint8Array> } {
  const cells = new Map<string, Uint8Array>();
  for (const value of values) emitCells(value, ({ bytes }) => cells.set(toHex(sha3(bytes)), bytes));
  const asked: string[] = [];
  const resolve = (hash: string) => {
    asked.push(hash);
    return cells.get(hash);
  };
  return { resolve, asked, cells };
}

const names = Array.from({ length: 600 }, (_, place): [string, Value] => [
  `file-${place * 7919}.txt`,
  [place, pattern(200)],
]);
const directory = index(names);

const values: readonly [string, Value][] = [
  ["a vector", [pattern(5000), "x".repeat(141), 1]],
  ["a long vector", Array.from({ length: 300 }, (_, place) => place)],
  ["a blob", pattern(100_000)],
  ["a string", "y".repeat(5000)],
  ["a map", map([...Array(40).keys()].map((key): [Value, Value] => [key, "v".repeat(150)]))],
  ["an index", directory],
  ["a signed value", sign(directory, SEED)],
];

describe("a value whose branches are not at hand", () => {
  test.each(values)("can be used as if they were: %s", (_, value) => {
    const lazy = decode(encode(value));
    expect(lazy).toBeInstanceOf(LazyValue);
    expect(encode(lazy)).toEqual(encode(value));
    expect(hashOf(lazy)).toBe(hashOf(value));
    expect(isEmbedded(lazy)).toBe(isEmbedded(value));
    const holders = (part: Value): Value[] => [
      [part],
      index([["a", part]]),
      map([[1, part]]),
      map([[part, 1]]),
      sign(part, SEED),
    ];
    expect(holders(lazy).map(hashOf)).toEqual(holders(value).map(hashOf));
    expect(hashOf(index([["b", 1]]).with("a", lazy))).toBe(
      hashOf(
        index([
          ["b", 1],
          ["a", value],
        ]),
      ),
    );
  });

  test.each(values)("cannot be loaded or written: %s", (_, value) => {
    const lazy = decode(encode(value));
    for (const whole of [lazy, [lazy], index([["a", lazy]]), map([[1, lazy]]), sign(lazy, SEED)]) {
      expect(codeOf(() => materialize(whole))).toBe("MISSING_CELL");
      expect(codeOf(() => toMultiCell(whole))).toBe("MISSING_CELL");
    }
  });

  test.each(values)("is itself once they have turned up: %s", (_, value) => {
    const { cells } = storeOf(value);
    let open = false;
    const lazy = decode(encode(value), (hash) => (open ? cells.get(hash) : undefined));
    open = true;
    expect(toHex(toMultiCell([lazy]))).toBe(toHex(toMultiCell([value])));
    for (const [part, whole] of [
      [lazy, value],
      [
        [lazy, [lazy]],
        [value, [value]],
      ],
      [index([["a", lazy]]), index([["a", value]])],
      [map([[1, lazy]]), map([[1, value]])],
      [sign(lazy, SEED), sign(value, SEED)],
    ] as const) {
      const loaded = materialize(part);
      expect(loaded).not.toBeInstanceOf(LazyValue);
      expect(toHex(toMultiCell(loaded))).toBe(toHex(toMultiCell(whole)));
    }
  });

  test("names the cell that is missing", () => {
    const [hidden] = storeOf(pattern(5000)).cells.keys();
    const lazy = decode(encode([pattern(5000)]));
    expect(() => materialize(lazy)).toThrow(expect.objectContaining({ code: "MISSING_CELL", data: { hash: hidden } }));
  });

  test("is checked when they turn up", () => {
    let found: Uint8Array | undefined;
    const lazy = decode(encode([pattern(5000)]), () => found);
    found = encode(pattern(4000));
    expect(codeOf(() => materialize(lazy))).toBe("BAD_FORMAT");
  });

  test("proves who signed it", () => {
    const signed = sign(directory, SEED);
    const bytes = encode(signed);
    const lazy = decode(bytes);
    expect(lazy instanceof LazyValue && verify(lazy)).toBe(true);
    const forged = decode(bytes.with(50, (bytes[50] ?? 0) ^ 1));
    expect(forged instanceof LazyValue && verify(forged)).toBe(false);
    const other = decode(encode(directory));
    expect(other instanceof LazyValue && verify(other)).toBe(false);
  });
});

/** A value of which nothing but the top cell has been read. */
function opened(value: Value): { readonly value: Value; readonly asked: string[] } {
  const { resolve, asked } = storeOf(value);
  let open = false;
  const lazy = decode(encode(value), (hash) => (open ? resolve(hash) : undefined));
  open = true;
  return { value: lazy instanceof LazyValue ? lazy.open() : lazy, asked };
}

function openedIndex(value: CadIndex): { readonly entries: CadIndex; readonly asked: string[] } {
  const { value: entries, asked } = opened(value);
  if (!(entries instanceof CadIndex)) throw new TypeError("Not an index");
  return { entries, asked };
}

describe("a value that has been opened", () => {
  test.each(values)("is equal to the value: %s", (_, value) => {
    const open = opened(value).value;
    expect(hashOf(open)).toBe(hashOf(value));
    expect(toHex(toMultiCell(open))).toBe(toHex(toMultiCell(value)));
  });

  test("has lazy parts", () => {
    const { value, asked } = opened([pattern(5000), "x".repeat(141), "short"]);
    const [blob, text, short] = Array.isArray(value) ? value : [];
    expect([blob, text]).toEqual([expect.any(LazyValue), expect.any(LazyValue)]);
    expect(short).toBe("short");
    expect(blob instanceof LazyValue && blob.open()).toBe(blob);
    expect(asked).toEqual([]);
    expect(text instanceof LazyValue && text.open()).toBe("x".repeat(141));
    expect(asked).toHaveLength(1);
    const signed = opened(sign(directory, SEED)).value;
    expect(signed instanceof Signed && verify(signed)).toBe(true);
    expect(opened([null, false, 0n, "", pattern(5000)]).value).toEqual([null, false, 0n, "", expect.any(LazyValue)]);
  });

  test("is looked up in by a few cells", () => {
    const { entries, asked } = openedIndex(directory);
    expect(entries.size).toBe(600);
    expect(hashOf(entries.get("file-7919.txt") ?? null)).toBe(hashOf([1, pattern(200)]));
    expect(entries.get("file-none.txt")).toBeUndefined();
    expect(asked.length).toBeLessThan(10);
  });

  test("is changed by a few cells, to what the whole would have become", () => {
    const { entries, asked } = openedIndex(directory);
    const change = (start: CadIndex) =>
      start.with("file-0.txt", 1).with("new.txt", 2).without("file-7919.txt").with("file", 3);
    expect(hashOf(change(entries))).toBe(hashOf(change(directory)));
    expect(asked.length).toBeLessThan(20);
    expect(hashOf(materialize(change(entries)))).toBe(hashOf(change(directory)));
  });

  test("is united with another by the cells in which they differ", () => {
    const [mine, theirs] = [directory.with("file-1.txt", 1), directory.with("file-2.txt", 2).without("file-7919.txt")];
    const [own, other] = [openedIndex(mine), openedIndex(theirs)];
    const both = united(own.entries, other.entries, (entry) => entry);
    expect(hashOf(both)).toBe(hashOf(united(mine, theirs, (entry) => entry)));
    expect(own.asked.length + other.asked.length).toBeLessThan(40);
  });

  test("is refused where a subtree does not lie below its place", () => {
    const wide = index(["ab", "bb"].map((key): [string, Value] => [key, "w".repeat(120)]));
    const far = index([["aq", 1]]);
    const ref = Uint8Array.of(0x20, ...Buffer.from(hashOf(wide), "hex"));
    const bytes = Uint8Array.of(0x84, 3, 0, 2, 0, 0xc0, ...ref, ...encode(far));
    const { cells } = storeOf(wide);
    let open = false;
    const lazy = decode(bytes, (hash) => (open ? cells.get(hash) : undefined));
    open = true;
    const entries = lazy instanceof LazyValue ? lazy.open() : lazy;
    expect(entries instanceof CadIndex && entries.get("aq")).toBe(1n);
    expect(codeOf(() => entries instanceof CadIndex && entries.get("ab"))).toBe("BAD_FORMAT");
    expect(codeOf(() => materialize(lazy))).toBe("BAD_FORMAT");
  });

  test("says which cell is missing when it comes to it", () => {
    const lazy = decode(encode(directory));
    const entries = lazy instanceof LazyValue ? lazy.open() : lazy;
    expect(codeOf(() => entries instanceof CadIndex && entries.get("file-7919.txt"))).toBe("MISSING_CELL");
  });
});
