import { describe, expect, test } from "@jest/globals";
import fc from "fast-check";
import { encode, hashOf } from "../../../src/drive/cad3/encoding/cell.js";
import { fromMultiCell, toMultiCell } from "../../../src/drive/cad3/encoding/multi-cell.js";
import { type CadIndex, index } from "../../../src/drive/cad3/maps/index-map.js";
import type { IndexEntry } from "../../../src/drive/cad3/maps/index-node.js";
import { keyword, type Value } from "../../../src/drive/cad3/value.js";
import { united } from "../united.js";

type Entry = readonly [string, number];

/** Names that share beginnings, end in each other, are branches, and go beyond the 255 bytes that count. */
const name = fc
  .array(fc.constantFrom("a", "b", "q", "\u0001", "é", "\uffee", "😀", "0123456789abcdef".repeat(4)), { maxLength: 5 })
  .map((parts) => parts.join(""));
const entry: fc.Arbitrary<Entry> = fc.tuple(name, fc.nat(9));

const slotOf = (key: string): string => Buffer.from(key).subarray(0, 255).toString("latin1");

/** What an index is to hold: by slot, the later one in place of the earlier one. */
function modelOf(entries: readonly Entry[]): Entry[] {
  const bySlot = new Map(entries.map((one) => [slotOf(one[0]), one]));
  return [...bySlot].sort(([one], [other]) => (one < other ? -1 : 1)).map(([, held]) => held);
}

const put = (entries: readonly Entry[], start: CadIndex = index([])): CadIndex =>
  entries.reduce((all, [key, value]) => all.with(key, value), start);

const listOf = (all: CadIndex) => [...all].map(([key, value]) => [key, Number(value)]);

describe("an index", () => {
  test("holds for each slot what was put last, in the order of bytes", () => {
    fc.assert(
      fc.property(fc.array(entry, { maxLength: 60 }), (entries) => {
        const all = index(entries);
        const model = modelOf(entries);
        expect(listOf(all)).toEqual(model);
        expect(all.size).toBe(model.length);
        for (const [key, value] of model) expect(all.get(key)).toBe(value);
        expect(hashOf(put(entries))).toBe(hashOf(all));
        expect(listOf(put(entries))).toEqual(model);
      }),
    );
  });

  test("has one hash, in whatever order entries came and went", () => {
    const step = fc.record({ at: fc.nat(), entry, remove: fc.boolean() });
    fc.assert(
      fc.property(
        fc.array(entry, { maxLength: 40 }),
        fc.array(step, { maxLength: 60 }),
        fc.gen(),
        (entries, steps, gen) => {
          let all = put(modelOf(entries).sort(() => gen(fc.integer) - gen(fc.integer)));
          let model = modelOf(entries);
          for (const { at, entry: added, remove } of steps) {
            const key = remove && model.length > 0 ? (model[at % model.length]?.[0] ?? "") : added[0];
            all = remove ? all.without(key) : all.with(...added);
            model = model.filter((held) => slotOf(held[0]) !== slotOf(key));
            if (!remove) model = modelOf([...model, added]);
            // Encoded on the way, so that what is remembered is put to the test.
            if (at % 3 === 0) encode(all);
          }
          expect(listOf(all)).toEqual(model);
          expect(hashOf(all)).toBe(hashOf(index(model)));
        },
      ),
    );
  });

  test("comes back from its cells", () => {
    fc.assert(
      fc.property(fc.array(entry, { maxLength: 60 }), (entries) => {
        const all = index(entries);
        const back = fromMultiCell(toMultiCell(all));
        expect(back).toEqual(index(entries.map(([key, value]) => [key, BigInt(value)])));
        expect(hashOf(back)).toBe(hashOf(all));
      }),
    );
  });

  test("finds keys by all their bytes, but holds them by the first 255", () => {
    const long = "x".repeat(255);
    const all = index([[`${long}1`, 1]]);
    expect(all.get(`${long}2`)).toBeUndefined();
    expect(all.get(long)).toBeUndefined();
    expect(all.get(long.slice(1))).toBeUndefined();
    expect(all.with(`${long}2`, 2).size).toBe(1);
    expect(all.with(`${long}2`, 2).get(`${long}1`)).toBeUndefined();
    expect(all.without(`${long}2`).size).toBe(0);
    expect(all.with("x".repeat(254), 2).size).toBe(2);
  });

  test("takes strings, blobs and keywords for keys, which are not the same", () => {
    const blob = Uint8Array.of(0x61);
    const keys = ["a", blob, keyword("a")];
    for (const key of keys) {
      const all = index([[key, 1]]);
      expect(keys.map((other) => all.get(other))).toEqual(keys.map((other) => (other === key ? 1 : undefined)));
    }
    expect(index([[blob, 1]]).get(Uint8Array.of(0x61))).toBe(1);
  });

  test("stays the same value when what is removed was not there", () => {
    const all = index([["a", 1]]);
    for (const key of ["", "b", "aa", "\u0060"]) expect(all.without(key)).toBe(all);
    expect(index([]).without("a").size).toBe(0);
  });

  test("is not changed by what is made of it", () => {
    const all = index([
      ["a", 1],
      ["b", 2],
    ]);
    const before = hashOf(all);
    const [more, fewer] = [all.with("ab", 3), all.without("a")];
    expect([more.size, fewer.size, all.size]).toEqual([3, 1, 2]);
    expect(hashOf(all)).toBe(before);
  });
});

describe("two indexes united", () => {
  const pick = (own: IndexEntry, other: IndexEntry): IndexEntry =>
    Number(own.value) >= Number(other.value) ? own : other;

  /** Slot by slot. */
  function modelUnion(own: readonly Entry[], other: readonly Entry[]): Entry[] {
    const bySlot = new Map(own.map((one) => [slotOf(one[0]), one]));
    for (const one of other) {
      const held = bySlot.get(slotOf(one[0]));
      if (held === undefined || one[1] > held[1]) bySlot.set(slotOf(one[0]), one);
    }
    return modelOf([...bySlot.values()]);
  }

  test("hold the entries of both", () => {
    const entries = fc.array(entry, { maxLength: 40 });
    fc.assert(
      fc.property(entries, entries, entries, (common, mine, theirs) => {
        const base = index(common);
        const [own, other] = [put(mine, base), put(theirs, base)];
        const both = united(own, other, pick);
        const model = modelUnion(modelOf([...common, ...mine]), modelOf([...common, ...theirs]));
        expect(listOf(both)).toEqual(model);
        expect(both.size).toBe(model.length);
        expect(hashOf(both)).toBe(hashOf(index(model)));
      }),
    );
  });

  test("are looked at only where they differ", () => {
    const base = index(Array.from({ length: 3000 }, (_, place): [string, Value] => [`name-${place}`, place]));
    const asked: string[] = [];
    const both = united(base.with("name-1", 10), base.with("name-1", 20).with("name-2999", 30), (own, other) => {
      asked.push(`${own.key} ${other.key}`);
      return other;
    });
    expect(asked).toEqual(["name-1 name-1", "name-2999 name-2999"]);
    expect(both.get("name-1")).toBe(20);
    expect(united(base, base.without("name-7"), pick)).toBe(base);
  });
});
