import { describe, expect, test } from "@jest/globals";
import { encode, hashOf } from "../../../src/drive/cad3/encoding/cell.js";
import { decode } from "../../../src/drive/cad3/encoding/multi-cell.js";
import { type CadMap, map } from "../../../src/drive/cad3/maps/hash-map.js";
import { Signed, sign, verify } from "../../../src/drive/cad3/signed.js";
import type { Value } from "../../../src/drive/cad3/value.js";
import { merge } from "../../../src/drive/dlfs/merge.js";
import { mergeDrives, mergeOwners } from "../../../src/drive/dlfs/merge-owners.js";
import { dir, file, tombstone } from "../../../src/drive/dlfs/node.js";
import { codeOf } from "../cad3/code-of.js";
import { fromHex, parseValue, parseVectors, toHex } from "../cad3/notation.js";

interface OwnerVectors {
  readonly owners: readonly {
    readonly name: string;
    readonly own: unknown;
    readonly other: unknown;
    readonly seeds?: readonly string[];
    readonly hash?: string;
    readonly fails?: string;
  }[];
}

const { owners } = parseVectors<OwnerVectors>("signed");
const publicKeyOf = (seed: Uint8Array): Uint8Array => sign(null, seed).publicKey;
const seedOf = (byte: number): Uint8Array => new Uint8Array(32).fill(byte);
const [SEED, OTHER_SEED] = [seedOf(1), seedOf(2)];
const KEY = publicKeyOf(SEED);

const drive = (name: string, text: string, utime: number): Value =>
  dir([[name, file(Buffer.from(text), utime)]], utime);
const drives = (...entries: [string, Value][]): CadMap => map(entries);
const owned = (value: Value, seed = SEED): CadMap => map([[publicKeyOf(seed), sign(value, seed)]]);

describe("mergeOwners", () => {
  test("has vectors", () => {
    expect(owners.length).toBeGreaterThan(5);
  });

  test.each(owners)("$name", ({ own, other, seeds = [], hash, fails }) => {
    const keys = seeds.map((seed): [string, Uint8Array] => [toHex(publicKeyOf(fromHex(seed))), fromHex(seed)]);
    for (const held of [new Map(keys), Object.fromEntries(keys)]) {
      const act = () => mergeOwners(parseValue(own), parseValue(other), { ties: "own", seeds: held });
      if (fails === undefined) expect(hashOf(act())).toBe(hash);
      else expect(codeOf(act)).toBe(fails);
    }
  });

  const one = owned(drives(["docs", drive("a", "A", 1)]));
  const two = owned(drives(["docs", drive("b", "B", 2)]));
  const seeds = { [toHex(KEY)]: SEED };

  test("signs what differs from both sides, with the key of the owner", () => {
    const merged = mergeOwners(one, two, { seeds }).get(KEY);
    if (!(merged instanceof Signed)) throw new TypeError("not signed");
    expect([toHex(merged.publicKey), verify(merged)]).toEqual([toHex(KEY), true]);
    expect(hashOf(merged.value)).toBe(hashOf(drives(["docs", merge(drive("a", "A", 1), drive("b", "B", 2))])));
  });

  test("never signs with the key of somebody else", () => {
    expect(codeOf(() => mergeOwners(one, two, { seeds: { [toHex(KEY)]: OTHER_SEED } }))).toBe("KEY_REQUIRED");
    expect(codeOf(() => mergeOwners(one, two, { seeds: { [toHex(publicKeyOf(OTHER_SEED))]: OTHER_SEED } }))).toBe(
      "KEY_REQUIRED",
    );
    expect(codeOf(() => mergeOwners(one, two))).toBe("KEY_REQUIRED");
    expect(codeOf(() => mergeOwners(one, two, { seeds: Object.create(seeds) }))).toBe("KEY_REQUIRED");
  });

  test("merges around what it has no key for, which stays as it is", () => {
    const [bob, bobToo] = [
      owned(drives(["b", drive("x", "X", 3)]), OTHER_SEED),
      owned(drives(["b", drive("y", "Y", 4)]), OTHER_SEED),
    ];
    const third = owned(drives(["c", drive("z", "Z", 5)]), seedOf(3));
    const [own, other] = [map([...one, ...bob]), map([...two, ...bobToo, ...third])];
    const merged = mergeOwners(own, other, { seeds });
    expect(hashOf(merged)).toBe(hashOf(map([...mergeOwners(one, two, { seeds }), ...bob, ...third])));
    // Again, and without any key, nothing changes.
    expect(hashOf(mergeOwners(merged, other, { seeds }))).toBe(hashOf(merged));
    expect(hashOf(mergeOwners(bob, map([...bobToo, ...third])))).toBe(hashOf(map([...bob, ...third])));
  });

  test("keeps the signature of the side whose value is the result, without a key", () => {
    const both = mergeOwners(one, two, { seeds });
    for (const [own, other] of [
      [both, one],
      [one, both],
      [both, both],
    ] as const) {
      expect(hashOf(mergeOwners(own, other))).toBe(hashOf(both));
    }
  });

  test("is the same both ways", () => {
    expect(hashOf(mergeOwners(one, two, { seeds }))).toBe(hashOf(mergeOwners(two, one, { seeds })));
  });

  const signed = sign(drives(["docs", drive("a", "A", 1)]), SEED);
  const flipped = new Signed(
    signed.publicKey,
    signed.signature.map((byte, at) => (at === 5 ? byte ^ 1 : byte)),
    signed.value,
  );
  test.each<[string, Value, Value]>([
    ["is signed by another key", KEY, sign(signed.value, OTHER_SEED)],
    ["stands under another key", publicKeyOf(OTHER_SEED), signed],
    ["has a bad signature", KEY, flipped],
    ["has the signature of another value", KEY, new Signed(KEY, signed.signature, drives())],
    ["is not signed", KEY, signed.value],
    ["stands under a string", toHex(KEY), signed],
    ["stands under a longer key", Buffer.concat([KEY, KEY]), signed],
    ["is nil", KEY, null],
  ])("drops an entry that %s, on either side", (_, key, value) => {
    const bad = map([[key, value]]);
    expect(mergeOwners(bad, null).size).toBe(0);
    expect(mergeOwners(null, bad).size).toBe(0);
    expect(hashOf(mergeOwners(bad, one))).toBe(hashOf(one));
    expect(hashOf(mergeOwners(one, bad))).toBe(hashOf(one));
  });

  test("takes nil for no drives at all", () => {
    const none = owned(null);
    expect(hashOf(mergeOwners(none, one))).toBe(hashOf(one));
    expect(hashOf(mergeOwners(one, none))).toBe(hashOf(one));
    expect(hashOf(mergeOwners(none, none))).toBe(hashOf(none));
    expect(mergeOwners(null, null).size).toBe(0);
  });

  test("needs nothing of an entry of one side but its own cell", () => {
    const many = dir(
      Array.from({ length: 99 }, (_, place) => [`f${place}`, tombstone(1)]),
      1,
    );
    const signed = sign(drives(["docs", many]), SEED);
    const lazy = map([[KEY, decode(encode(signed))]]);
    expect(hashOf(mergeOwners(lazy, null))).toBe(hashOf(map([[KEY, signed]])));
    expect(hashOf(mergeOwners(null, lazy))).toBe(hashOf(map([[KEY, signed]])));
    expect(codeOf(() => mergeOwners(lazy, one, { seeds }))).toBe("MISSING_CELL");
  });

  test("needs no content of files", () => {
    const signed = sign(drives(["docs", dir([["big", file(new Uint8Array(9000), 1)]], 1)]), SEED);
    const lazy = map([[KEY, decode(encode(signed))]]);
    const merged = hashOf(mergeOwners(map([[KEY, signed]]), one, { seeds }));
    expect(hashOf(mergeOwners(lazy, one, { seeds }))).toBe(merged);
    expect(hashOf(mergeOwners(one, lazy, { seeds }))).toBe(merged);
  });

  test.each<[string, Value]>([
    ["drives that are no map", "drives"],
    ["a drive that is no node", drives(["docs", "drive"])],
  ])("refuses to merge %s, though they are well signed", (_, value) => {
    expect(codeOf(() => mergeOwners(owned(value), one, { seeds }))).toBe("BAD_FORMAT");
  });
});

describe("mergeDrives", () => {
  const [a, b] = [drive("a", "A", 1), drive("b", "B", 2)];

  test.each<[string, [string, Value][], [string, Value][], [string, Value][]]>([
    [
      "drives of one side",
      [["x", a]],
      [["y", b]],
      [
        ["x", a],
        ["y", b],
      ],
    ],
    ["both copies of a drive", [["x", a]], [["x", b]], [["x", merge(a, b)]]],
    [
      "a live drive rather than nil",
      [
        ["x", null],
        ["y", b],
      ],
      [
        ["x", a],
        ["y", null],
      ],
      [
        ["x", a],
        ["y", b],
      ],
    ],
    ["nil on both sides", [["x", null]], [["x", null]], [["x", null]]],
    [
      "nil on one side",
      [["x", null]],
      [["y", null]],
      [
        ["x", null],
        ["y", null],
      ],
    ],
  ])("has %s", (_, own, other, result) => {
    expect(hashOf(mergeDrives(map(own), map(other)))).toBe(hashOf(map(result)));
    expect(hashOf(mergeDrives(map(other), map(own)))).toBe(hashOf(map(result)));
  });

  test("passes on how ties are decided", () => {
    const [own, other] = [drive("f", "mine", 1), drive("f", "yours", 1)];
    for (const [one, two] of [
      [own, other],
      [other, own],
    ] as const) {
      const result = mergeDrives(drives(["x", one]), drives(["x", two]), { ties: "own" });
      expect(hashOf(result)).toBe(hashOf(drives(["x", one])));
    }
  });

  test("is the own map itself where nothing is new", () => {
    const own = drives(["x", merge(a, b)], ["y", b], ["gone", tombstone(1)]);
    expect(mergeDrives(own, drives(["x", a], ["y", null]))).toBe(own);
    expect(mergeDrives(own, null)).toBe(own);
  });
});
