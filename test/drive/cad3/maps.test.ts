import { describe, expect, test } from "@jest/globals";
import fc from "fast-check";
import { emitCells, encode, hashOf } from "../../../src/drive/cad3/encoding/cell.js";
import { decode, fromMultiCell, toMultiCell } from "../../../src/drive/cad3/encoding/multi-cell.js";
import { LazyValue } from "../../../src/drive/cad3/lazy.js";
import { CadMap, map } from "../../../src/drive/cad3/maps/hash-map.js";
import { CadIndex, index } from "../../../src/drive/cad3/maps/index-map.js";
import type { IndexEntry } from "../../../src/drive/cad3/maps/index-node.js";
import { firstEntries, lastEntries } from "../../../src/drive/cad3/maps/index-order.js";
import { materialize } from "../../../src/drive/cad3/materialize.js";
import { sha3 } from "../../../src/drive/cad3/ref.js";
import { Signed, sign } from "../../../src/drive/cad3/signed.js";
import { keyword, type Value } from "../../../src/drive/cad3/value.js";
import { differencesOf } from "../../../src/drive/engine/content/differences.js";
import { runSteps } from "../../../src/drive/steps.js";
import { anyCharacter } from "../../any-character.js";
import { united } from "../united.js";
import { codeOf } from "./code-of.js";
import { toHex } from "./notation.js";

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

type Entries = readonly (readonly [string, string])[];

const LONG = "k".repeat(40);

describe("the differences of two indexes", () => {
  function differences(own: CadIndex, other: CadIndex): string[] {
    const found: string[] = [];
    runSteps(
      differencesOf(own, other, (one, two) => found.push(`${one?.key}=${one?.value} ${two?.key}=${two?.value}`)),
    );
    return found.sort();
  }

  /** By looking at every entry. Keys that share a slot are one. */
  function plainly(own: CadIndex, other: CadIndex): string[] {
    const found: string[] = [];
    const text = (key: unknown, value: unknown): string => `${key}=${value}`;
    for (const [key, value] of own) {
      const there = other.entry(key);
      if (there?.key === key && there.value === value) continue;
      found.push(`${text(key, value)} ${text(there?.key, there?.value)}`);
    }
    for (const [key, value] of other) {
      if (own.entry(key) === undefined) found.push(`undefined=undefined ${text(key, value)}`);
    }
    return found.sort();
  }
  const key = fc.oneof(
    fc.string({ minLength: 1, maxLength: 3, unit: fc.constantFrom("a", "b", "p", "é") }),
    fc.constantFrom(LONG, `${LONG}2`, LONG.slice(0, 31), LONG.slice(0, 32)),
  );
  const entries: fc.Arbitrary<Entries> = fc.array(
    fc.tuple(key, fc.oneof(fc.constantFrom("x", "y"), fc.constant("z".repeat(300)))),
    { maxLength: 30 },
  );

  test("are those that looking at every entry finds", () => {
    fc.assert(
      fc.property(entries, entries, (one, two) => {
        const [own, other] = [index(one), index(two)];
        expect(differences(own, other)).toEqual(plainly(own, other));
      }),
    );
  });

  test("of a large one that was changed in few places are found without looking at the others", () => {
    const own = index(
      Array.from({ length: 20_000 }, (_, place) => [`name ${place}`, `${place}`.padEnd(150, "v")] as const),
    );
    const other = own.with("name 77", "changed").without("name 9999").with("fresh", "new");
    let steps = 0;
    const found: unknown[] = [];
    const work = differencesOf(own, other, (one, two) => found.push([one?.key, two?.key]));
    while (work.next().done !== true) steps += 1;
    expect(found).toHaveLength(3);
    expect(steps).toBeLessThan(60);
  });
});

describe("index maps", () => {
  type Entry = readonly [string, number];

  /** Names that share beginnings, end in each other, are branches, and go beyond the 255 bytes that count. */
  const name = fc
    .array(fc.constantFrom("a", "b", "q", "\u0001", "é", "\uffee", "😀", "0123456789abcdef".repeat(4)), {
      maxLength: 5,
    })
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
});

describe("the order of an index", () => {
  const key = fc.oneof(
    fc.string({ unit: fc.constantFrom("a", "b", "c", "é"), maxLength: 6 }),
    fc.nat(2000).map((number) => String(number).padStart(4, "0")),
  );
  const compare = (one: string, other: string): number => Buffer.compare(Buffer.from(one), Buffer.from(other));

  test("entries from either end, and from any key on, are those of the sorted keys", () => {
    fc.assert(
      fc.property(
        fc.uniqueArray(key, { maxLength: 80 }),
        fc.option(key, { nil: undefined }),
        fc.nat(90),
        (keys, from, limit) => {
          const all = index(keys.map((name) => [name, 1n]));
          const sorted = keys.toSorted(compare);
          const up = sorted.filter((name) => from === undefined || compare(name, from) >= 0);
          const down = sorted.filter((name) => from === undefined || compare(name, from) <= 0).reverse();
          expect(firstEntries(all, limit, from).map((entry) => entry.key)).toEqual(up.slice(0, limit));
          expect(lastEntries(all, limit, from).map((entry) => entry.key)).toEqual(down.slice(0, limit));
        },
      ),
      { numRuns: 500 },
    );
  });
});

describe("changed encodings", () => {
  const REFUSALS = ["BAD_FORMAT", "UNSUPPORTED_CELL", "MISSING_CELL", "LIMIT"];
  const MAX_BYTES = 1 << 20;

  const bytes = fc.oneof(
    fc.uint8Array({ maxLength: 200 }),
    fc.integer({ min: 4000, max: 5000 }).map((length) => new Uint8Array(length).fill(7)),
  );
  const text = fc.oneof(
    fc.string({ unit: anyCharacter, maxLength: 60 }),
    fc.integer({ min: 130, max: 150 }).map((length) => "t".repeat(length)),
  );
  const name = fc.string({ unit: fc.constantFrom("a", "b", "é", "0123456789abcdef".repeat(4)), maxLength: 4 });

  const { value } = fc.letrec<{ value: Value }>((tie) => {
    const part = tie("value");
    return {
      value: fc.oneof(
        { maxDepth: 4, withCrossShrink: true },
        fc.oneof(
          fc.constantFrom(null, true, false),
          fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }),
          bytes,
          text,
        ),
        fc.oneof(fc.array(part, { maxLength: 20 }), fc.array(fc.constant(1n), { maxLength: 300 })),
        fc.array(fc.tuple(part, part), { maxLength: 20 }).map(map),
        fc.array(fc.tuple(name, part), { maxLength: 20 }).map(index),
        fc.oneof(
          part.map((inner) => sign(inner, new Uint8Array(32))),
          fc.constant(keyword("key")),
        ),
      ),
    };
  });

  /** A change to bytes: some flipped, cut off, added, or exchanged. */
  const change: fc.Arbitrary<(bytes: Uint8Array) => Uint8Array> = fc.oneof(
    fc.tuple(fc.nat(), fc.integer({ min: 1, max: 255 })).map(([at, bits]) => (input: Uint8Array) => {
      const place = at % input.length;
      return input.with(place, (input[place] ?? 0) ^ bits);
    }),
    fc.nat().map((at) => (input: Uint8Array) => input.slice(0, at % input.length)),
    fc.tuple(fc.nat(), fc.uint8Array({ minLength: 1, maxLength: 40 })).map(([at, more]) => (input: Uint8Array) => {
      const place = at % (input.length + 1);
      return Uint8Array.of(...input.subarray(0, place), ...more, ...input.subarray(place));
    }),
    fc.tuple(fc.nat(), fc.nat(), fc.integer({ min: 1, max: 40 })).map(([from, to, length]) => (input: Uint8Array) => {
      const copy = input.slice();
      copy.set(
        input.subarray(from % input.length).subarray(0, Math.min(length, input.length - (to % input.length))),
        to % input.length,
      );
      return copy;
    }),
  );
  const changes = fc.array(change, { minLength: 1, maxLength: 3 });
  const changed = (input: Uint8Array, steps: readonly ((bytes: Uint8Array) => Uint8Array)[]): Uint8Array =>
    steps.reduce((some, step) => (some.length === 0 ? some : step(some)), input);

  /** The value made anew from its entries, so that nothing is remembered of how it was written. */
  function rebuilt(some: Value): Value {
    if (some instanceof CadIndex) return index([...some].map(([key, part]) => [key, rebuilt(part)]));
    if (some instanceof CadMap) return map([...some].map(([key, part]) => [rebuilt(key), rebuilt(part)]));
    if (some instanceof Signed) return new Signed(some.publicKey, some.signature, rebuilt(some.value));
    return Array.isArray(some) ? some.map(rebuilt) : some;
  }

  /** What comes of a reading: refused by one of the codes, or something of which the same bytes come again. */
  function isHandled(read: () => Value, check: (result: Value) => void): void {
    const before = process.memoryUsage().arrayBuffers;
    let result: Value = null;
    const code = codeOf(() => {
      result = read();
    });
    expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(64 * MAX_BYTES);
    if (code === undefined) check(result);
    else expect(REFUSALS).toContain(code);
  }

  describe("any value", () => {
    test("comes back from its cells", () => {
      fc.assert(
        fc.property(value, (some) => {
          const written = toMultiCell(some);
          const back = fromMultiCell(written);
          expect(toHex(toMultiCell(back))).toBe(toHex(written));
          expect(toHex(encode(back))).toBe(toHex(encode(some)));
          expect(hashOf(rebuilt(back))).toBe(hashOf(some));
        }),
        { numRuns: 50 },
      );
    });

    test("is the same with and without its branches at hand", () => {
      fc.assert(
        fc.property(value, fc.nat(4), (some, hidden) => {
          const cells = new Map<string, Uint8Array>();
          emitCells(some, ({ bytes: cell }) => cells.set(toHex(sha3(cell)), cell));
          let missing = true;
          const isHidden = (hash: string) => missing && Number.parseInt(hash.slice(0, 1), 16) % 4 < hidden;
          const back = decode(encode(some), (hash) => (isHidden(hash) ? undefined : cells.get(hash)));
          expect(toHex(encode(back))).toBe(toHex(encode(some)));
          expect(hashOf([back])).toBe(hashOf([some]));
          missing = false;
          const opened = back instanceof LazyValue ? back.open() : back;
          expect(hashOf(opened)).toBe(hashOf(some));
          expect(hashOf(rebuilt(materialize(opened)))).toBe(hashOf(some));
        }),
        { numRuns: 50 },
      );
    });
  });

  describe("bytes that were changed", () => {
    test("are refused or are the encoding of another value", () => {
      fc.assert(
        fc.property(value, changes, (some, steps) => {
          const input = changed(encode(some), steps);
          isHandled(
            () => decode(input),
            (result) => expect(toHex(encode(rebuilt(result)))).toBe(toHex(input)),
          );
        }),
        { numRuns: 350 },
      );
    });

    test("in a multi-cell, too", () => {
      fc.assert(
        fc.property(value, changes, (some, steps) => {
          const input = changed(toMultiCell(some), steps);
          isHandled(
            () => fromMultiCell(input),
            (result) => {
              expect(toHex(input).startsWith(toHex(encode(rebuilt(result))))).toBe(true);
              expect(hashOf(fromMultiCell(toMultiCell(result)))).toBe(hashOf(result));
            },
          );
        }),
        { numRuns: 250 },
      );
    });

    test("in a cell that is then held by its new hash", () => {
      fc.assert(
        fc.property(value, fc.nat(), changes, (some, which, steps) => {
          const cells: Uint8Array[] = [];
          const { bytes: top } = emitCells(some, ({ bytes: cell }) => cells.push(cell));
          if (cells.length === 0) return;
          const old = cells[which % cells.length] ?? top;
          const wrong = changed(old, steps);
          const [oldHash, newHash] = [sha3(old), sha3(wrong)];
          const known = new Map(cells.map((cell) => [toHex(sha3(cell)), cell]));
          known.set(toHex(newHash), wrong);
          // All that hold the old cell are made to hold the new one, up to the top.
          const input = renamed({ top, cells, known }, oldHash, newHash);
          isHandled(
            () => decode(input, (hash) => known.get(hash)),
            (result) => expect(toHex(encode(rebuilt(result)))).toBe(toHex(input)),
          );
        }),
        { numRuns: 250 },
      );
    });

    test("so are bytes at random", () => {
      fc.assert(
        fc.property(fc.uint8Array({ maxLength: 300 }), (input) => {
          isHandled(
            () => decode(input),
            (result) => expect(toHex(encode(rebuilt(result)))).toBe(toHex(input)),
          );
        }),
        { numRuns: 1000 },
      );
    });
  });

  interface Tree {
    readonly top: Uint8Array;
    readonly cells: readonly Uint8Array[];
    readonly known: Map<string, Uint8Array>;
  }

  /** The top with one hash in place of another, in all cells above it. */
  function renamed({ top, cells, known }: Tree, from: Uint8Array, to: Uint8Array): Uint8Array {
    const next: (readonly [Uint8Array, Uint8Array])[] = [[from, to]];
    let result = top;
    for (let pair = next.pop(); pair !== undefined; pair = next.pop()) {
      for (const cell of [...cells, result]) {
        const copy = Buffer.from(cell);
        const at = copy.indexOf(pair[0]);
        if (at < 0) continue;
        copy.set(pair[1], at);
        if (cell === result) result = new Uint8Array(copy);
        if (known.has(toHex(sha3(copy)))) continue;
        known.set(toHex(sha3(copy)), new Uint8Array(copy));
        next.push([sha3(cell), sha3(copy)]);
      }
    }
    return result;
  }
});
