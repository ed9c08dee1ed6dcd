import { describe, expect, test } from "@jest/globals";
import fc from "fast-check";
import { encode, hashOf } from "../../../src/drive/cad3/encoding/cell.js";
import { fromMultiCell, toMultiCell } from "../../../src/drive/cad3/encoding/multi-cell.js";
import { type CadMap, map } from "../../../src/drive/cad3/maps/hash-map.js";
import type { Value } from "../../../src/drive/cad3/value.js";

const number = fc.nat(200);

/** Keys of one map; some are too long to be embedded, some hold others. */
function keyOf(place: number): Value {
  if (place % 7 === 0) return `${place}`.padEnd(150, "k");
  return place % 5 === 0 ? [place, null] : place;
}

const modelHash = (model: ReadonlyMap<number, number>): string => hashOf(map(pairsOf(model)));

const pairsOf = (model: ReadonlyMap<number, number>): [Value, Value][] =>
  [...model].map(([place, value]) => [keyOf(place), value]);

function isLike(all: CadMap, model: ReadonlyMap<number, number>): void {
  expect(all.size).toBe(model.size);
  for (const [place, value] of model) expect(all.get(keyOf(place))).toBe(value);
  const hashes = [...all].map(([key]) => hashOf(key));
  expect(hashes).toEqual([...model.keys()].map((place) => hashOf(keyOf(place))).sort());
}

describe("a map", () => {
  test("holds what was put last, by the order of the hashes of the keys", () => {
    fc.assert(
      fc.property(fc.array(fc.tuple(number, number), { maxLength: 80 }), (pairs) => {
        const model = new Map(pairs);
        const all = map(pairs.map(([place, value]) => [keyOf(place), value]));
        isLike(all, model);
        expect(hashOf(pairs.reduce((some, [place, value]) => some.with(keyOf(place), value), map([])))).toBe(
          hashOf(all),
        );
      }),
    );
  });

  test("has one hash, in whatever order entries came and went", () => {
    const step = fc.tuple(number, number, fc.boolean());
    fc.assert(
      fc.property(fc.array(number, { maxLength: 40 }), fc.array(step, { maxLength: 60 }), (start, steps) => {
        const model = new Map(start.map((place) => [place, 0]));
        let all = map(pairsOf(model));
        for (const [place, value, remove] of steps) {
          const key = remove ? ([...model.keys()][value % Math.max(1, model.size)] ?? place) : place;
          all = remove ? all.without(keyOf(key)) : all.with(keyOf(key), value);
          if (remove) model.delete(key);
          else model.set(key, value);
          if (value % 3 === 0) encode(all);
        }
        isLike(all, model);
        expect(hashOf(all)).toBe(modelHash(model));
      }),
    );
  });

  test("comes back from its cells", () => {
    fc.assert(
      fc.property(fc.uniqueArray(number, { maxLength: 60 }), (keys) => {
        const all = map(keys.map((place) => [keyOf(place), place]));
        expect(hashOf(fromMultiCell(toMultiCell(all)))).toBe(hashOf(all));
      }),
    );
  });

  test("finds a key by its value", () => {
    const all = map([
      [1, "number"],
      [[1, "a"], "vector"],
      [Uint8Array.of(1), "blob"],
    ]);
    expect(all.get(1n)).toBe("number");
    expect(all.get([1n, "a"])).toBe("vector");
    expect(all.get(Uint8Array.of(1))).toBe("blob");
    expect(all.get("1")).toBeUndefined();
  });

  test("stays the same value when what is removed was not there", () => {
    const all = map([...Array(20).keys()].map((key): [Value, Value] => [key, key]));
    expect(all.without(20)).toBe(all);
    expect(all.without(19).without(19).size).toBe(19);
  });

  test("loses a level with the last key that needs it", () => {
    const digitOf = (key: number) => hashOf(key).slice(0, 1);
    const keys = [...Array(1000).keys()];
    const alike = keys.filter((key) => digitOf(key) === "7").slice(0, 20);
    const other = keys.find((key) => digitOf(key) !== "7") ?? 0;
    const all = map(alike.map((key): [Value, Value] => [key, key]));
    expect(all.size).toBe(20);
    expect(hashOf(all.with(other, 0).without(other))).toBe(hashOf(all));
    expect(hashOf(map([...all, [other, 0]]))).toBe(hashOf(all.with(other, 0)));
  });

  test("goes from a leaf to a tree at 16 entries and back", () => {
    const pairs = [...Array(16).keys()].map((key): [Value, Value] => [key, key]);
    const [leaf, tree] = [map(pairs.slice(0, 15)), map(pairs)];
    expect(hashOf(leaf.with(15, 15))).toBe(hashOf(tree));
    expect(hashOf(tree.without(15))).toBe(hashOf(leaf));
  });
});
