import { describe, expect, test } from "@jest/globals";
import { emitCells, encode, hashOf } from "../../../src/drive/cad3/encoding/cell.js";
import { decode, fromMultiCell, toMultiCell } from "../../../src/drive/cad3/encoding/multi-cell.js";
import { map } from "../../../src/drive/cad3/maps/hash-map.js";
import { index } from "../../../src/drive/cad3/maps/index-map.js";
import { refOf, sha3 } from "../../../src/drive/cad3/ref.js";
import type { Value } from "../../../src/drive/cad3/value.js";
import { codeOf } from "./code-of.js";
import { fromHex, parseVectors, pattern, toHex } from "./notation.js";

interface Refused {
  readonly name: string;
  readonly bytes: string;
  readonly multi?: boolean;
}

const { invalid, unsupported } = parseVectors<Record<"invalid" | "unsupported", readonly Refused[]>>("cad3-invalid");

const { invalid: long } = parseVectors<Record<"invalid", readonly Refused[]>>("index-long");

const read = ({ bytes, multi }: Refused): Value => (multi ? fromMultiCell(fromHex(bytes)) : decode(fromHex(bytes)));

describe("bytes that are no value", () => {
  test.each([...invalid, ...long].map((refused) => [refused.name, refused] as const))("%s", (name, refused) => {
    const code = name === "big integer 19" ? "UNSUPPORTED_CELL" : "BAD_FORMAT";
    const missing = name === "multi-cell with another cell in place of the wanted one";
    expect(codeOf(() => read(refused))).toBe(missing ? "MISSING_CELL" : code);
  });

  const absent = `20${"11".repeat(32)}`;
  const own: readonly [string, string][] = [
    ["nothing", ""],
    ["a reference", `20${"00".repeat(32)}`],
    ["a keyword of 129 bytes", `3381${"61".repeat(129)}`],
    ["a keyword that is no UTF-8", "3302c328"],
    ["a string with half a surrogate pair", "3003eda080"],
    ["a string with an overlong form", "3002c080"],
    ["a string cut within a character", "3002e282"],
    ["a blob that claims more than there is", "31ffffffffffff7f00"],
    ["a vector that claims more than there is", "80ffffffffffff7f00"],
    ["a map that claims more than there is", "82ffffffffffff7f0000"],
    ["an index that claims more than there is", "84ffffffffffff7f00"],
    ["vectors in vectors without end", "8001".repeat(8000)],
    ["an index with an unknown mark", "84028100060003840130016111018401300162110200"],
    ["an index at depth 510", `840200837e00c0${absent.repeat(2)}`],
    ["a map at shift 64", `8210400003${absent.repeat(2)}`],
    ["a tree whose own key goes on", "840280300261611101020040840130026162110200".slice(0, -2)],
    [
      "a tree whose own key is a branch, at a depth of shorter keys",
      `840280${absent}1101020040840130026162110200`.slice(0, -2),
    ],
    ["a map with one key twice", "820230016111013001611102"],
    ["a signed value without a value", `90${"00".repeat(96)}`],
    ["a blob with a short part apart", `31a001${`20${"11".repeat(32)}`.repeat(2)}`],
  ];
  test.each(own)("%s", (_, hex) => {
    expect(codeOf(() => decode(fromHex(hex)))).toBe("BAD_FORMAT");
  });

  test("one digit away from bytes that are", () => {
    expect(encode(decode(fromHex("8402803001611101020040840130026162110200".slice(0, -2))))).toEqual(
      encode(
        index([
          ["a", 1],
          ["ab", 2],
        ]),
      ),
    );
  });

  test("too many of them to be looked at", () => {
    expect(codeOf(() => decode(new Uint8Array(20_000)))).toBe("BAD_FORMAT");
    expect(codeOf(() => decode(fromHex("31ffffffffffffff7f")))).toBe("LIMIT");
  });
});

describe("values outside the drive subset", () => {
  test.each(unsupported.map((refused) => [refused.name, refused] as const))("%s", (_, refused) => {
    expect(codeOf(() => read(refused))).toBe("UNSUPPORTED_CELL");
    expect(codeOf(() => decode(fromHex(`8001${refused.bytes}`)))).toBe("UNSUPPORTED_CELL");
  });

  test("are told by their tag from those of no value at all", () => {
    const known = (tag: number) => codeOf(() => decode(Uint8Array.of(tag))) === "UNSUPPORTED_CELL";
    const tags = Array.from({ length: 256 }, (_, tag) => tag).filter(known);
    const range = (first: number, last: number) =>
      Array.from({ length: last - first + 1 }, (_, place) => first + place);
    const single = [0x19, 0x1d, 0x32, ...range(0x3c, 0x3f), 0x81, 0x83, 0x88, 0x91, ...range(0xa0, 0xaf)];
    expect(tags).toEqual([...single, ...range(0xb2, 0xbf), ...range(0xc0, 0xef)]);
  });
});

/** Finds the cells of some values. */
function cellsOf(...values: Value[]): (hash: string) => Uint8Array | undefined {
  const cells = new Map<string, Uint8Array>();
  for (const value of values) emitCells(value, ({ bytes }) => cells.set(toHex(sha3(bytes)), bytes));
  return (hash) => cells.get(hash);
}

describe("a branch", () => {
  const long = (letter: string): string => letter.repeat(200);
  const refTo = (value: Value): string => `20${hashOf(value)}`;
  const holder = encode([long("a")]);

  test("is read when it is at hand", () => {
    expect(decode(holder, cellsOf(long("a")))).toEqual([long("a")]);
  });

  test("with another hash is refused", () => {
    expect(codeOf(() => decode(holder, () => encode(long("b"))))).toBe("BAD_FORMAT");
  });

  test("so short that it would be embedded is refused", () => {
    const bytes = fromHex(`8001${refTo("short")}`);
    expect(codeOf(() => decode(bytes, () => encode("short")))).toBe("BAD_FORMAT");
  });

  test("that is no value is refused", () => {
    const wrong = Uint8Array.of(...encode(long("a")), 0);
    const bytes = fromHex(`8001${refTo(wrong)}`);
    expect(codeOf(() => decode(bytes, () => wrong))).toBe("BAD_FORMAT");
  });

  const [blob, fifteen] = [pattern(4096), Array(15).fill(long("v"))];
  const misplaced: readonly [string, string, readonly Value[]][] = [
    ["a string in a blob", `31a001${refTo(long("s"))}310150`, [long("s")]],
    ["a blob of another length", `31a001${refTo(pattern(4095))}310150`, [pattern(4095)]],
    ["a prefix with another count", `801100${refTo(fifteen)}`, [fifteen]],
    ["a prefix that is no vector", `801100${refTo(blob)}`, [blob]],
    ["a part of a map that is none", `821000c000${refTo(blob)}${refTo(fifteen)}`, [blob, fifteen]],
    ["a part of an index that is none", `8402000000c0${refTo(blob)}${refTo(fifteen)}`, [blob, fifteen]],
    ["a key that is a vector", `8401${refTo(fifteen)}00`, [fifteen]],
  ];
  test.each(misplaced)("does not fit: %s", (_, hex, values) => {
    expect(codeOf(() => decode(fromHex(hex), cellsOf(...values)))).toBe("BAD_FORMAT");
  });
});

describe("a tree of branches", () => {
  const entries = Array.from({ length: 400 }, (_, place): [string, number] => [`name-${(place + 1) * 7919}`, place]);
  const trees: readonly (readonly [string, Value, number])[] = [
    ["index", index(entries), 5],
    ["map", map(entries), 3],
  ];
  const changed = (bytes: Uint8Array, change: (copy: Uint8Array) => void): Uint8Array => {
    const copy = bytes.slice();
    change(copy);
    return copy;
  };

  test.each(trees)("is read, but not with its parts exchanged: %s", (_, tree, fanAt) => {
    const bytes = encode(tree);
    const at = bytes.indexOf(0x20, fanAt);
    const [first, second] = [bytes.slice(at, at + 33), bytes.slice(at + 33, at + 66)];
    expect(second[0]).toBe(0x20);
    expect(hashOf(decode(bytes, cellsOf(tree)))).toBe(hashOf(tree));
    const exchanged = changed(bytes, (copy) => {
      copy.set(second, at);
      copy.set(first, at + 33);
    });
    expect(codeOf(() => decode(exchanged, cellsOf(tree)))).toBe("BAD_FORMAT");
    const doubled = changed(bytes, (copy) => copy.set(first, at + 33));
    expect(codeOf(() => decode(doubled, cellsOf(tree)))).toBe("BAD_FORMAT");
  });

  test.each(trees)("is not read with another count, depth or mask: %s", (_, tree, fanAt) => {
    const bytes = encode(tree);
    const at = bytes.indexOf(0x20, fanAt);
    // The last byte of the count, the depth, and the two of the mask.
    for (const place of [2, at - 3, at - 2, at - 1]) {
      const other = changed(bytes, (copy) => copy.fill((copy[place] ?? 0) ^ 1, place, place + 1));
      expect(codeOf(() => decode(other, cellsOf(tree)))).toBe("BAD_FORMAT");
    }
  });
});

/** A tree cell of these parts, right or wrong. */
const fan = (tag: number, count: number, depth: number, parts: ReadonlyMap<number, Value>): Uint8Array => {
  const mask = [...parts.keys()].reduce((bits, digit) => bits | (1 << digit), 0);
  const head = tag === 0x84 ? [tag, count, 0] : [tag, count];
  const refs = [...parts.values()].map((part) => refOf(encode(part)));
  return new Uint8Array(Buffer.concat([Uint8Array.of(...head, depth, mask >> 8, mask & 255), ...refs]));
};

describe("a subtree with a key that belongs elsewhere", () => {
  test("is refused in an index", () => {
    const [six, seven] = [
      index([
        ["ab", 1],
        ["ac", 2],
      ]),
      index([["aq", 3]]),
    ];
    const right = index([...six, ...seven]);
    expect(
      fan(
        0x84,
        3,
        2,
        new Map([
          [6, six],
          [7, seven],
        ]),
      ),
    ).toEqual(encode(right));
    const six2 = index([
      ["ab", 1],
      ["bb", 2],
    ]);
    expect(
      codeOf(() =>
        decode(
          fan(
            0x84,
            3,
            2,
            new Map([
              [6, six2],
              [7, seven],
            ]),
          ),
        ),
      ),
    ).toBe("BAD_FORMAT");
  });

  test("is refused in a map", () => {
    const keys = Array.from({ length: 20 }, (_, place): Value => place);
    const digit = (key: Value): number => Number.parseInt(hashOf(key).slice(0, 1), 16);
    const groups = (digitOf: (key: Value) => number): ReadonlyMap<number, Value> => {
      const digits = [...new Set(keys.map(digitOf))].sort((one, other) => one - other);
      return new Map(digits.map((of) => [of, map(keys.filter((key) => digitOf(key) === of).map((key) => [key, key]))]));
    };
    const all = map(keys.map((key) => [key, key]));
    expect(fan(0x82, 20, 0, groups(digit))).toEqual(encode(all));
    const [first = 0, second = 0] = [...new Set(keys.map(digit))].sort((one, other) => one - other);
    const wrong = fan(
      0x82,
      20,
      0,
      groups((key) => (digit(key) === second ? first : digit(key))),
    );
    expect(codeOf(() => decode(wrong, cellsOf(...groups(digit).values())))).toBe("BAD_FORMAT");
  });
});

describe("a subtree of the other kind", () => {
  const byDigit = (parts: readonly [number, Value][]): ReadonlyMap<number, Value> =>
    new Map([...parts].sort(([one], [other]) => one - other));
  const leaves = Array.from({ length: 20 }, (_, place): [number, Value] => [
    Number.parseInt(hashOf(place).slice(0, 1), 16),
    map([[place, place]]),
  ]);

  test("is refused in an index", () => {
    const parts = byDigit([...new Map(leaves)].slice(0, 2));
    expect(codeOf(() => decode(fan(0x84, 2, 0, parts)))).toBe("BAD_FORMAT");
  });

  test("is refused in a map", () => {
    const names = (letter: string): Value => index([..."01234567"].map((end): [string, Value] => [letter + end, null]));
    const parts = byDigit([
      [6, names("a")],
      [7, names("q")],
    ]);
    const cells = cellsOf(...parts.values());
    expect(codeOf(() => decode(fan(0x82, 16, 0, parts), cells))).toBe("BAD_FORMAT");
    expect(hashOf(decode(fan(0x84, 16, 0, parts), cells))).toHaveLength(64);
  });
});

describe("branches in branches", () => {
  const nested = (depth: number): Value => {
    let value: Value = "x".repeat(141);
    for (let level = 1; level < depth; level += 1) value = ["y".repeat(120), "z".repeat(120), value];
    return [value];
  };
  const bytesOf = (depth: number): Uint8Array => toMultiCell(nested(depth));

  test("are read 512 deep and no deeper", () => {
    expect(hashOf(fromMultiCell(bytesOf(512)))).toBe(hashOf(nested(512)));
    expect(codeOf(() => fromMultiCell(bytesOf(513)))).toBe("LIMIT");
  });

  test("count where a branch is reached on a short way first", () => {
    const deep = nested(512);
    const value = [deep, [["y".repeat(130), "z".repeat(130), deep]]];
    expect(codeOf(() => fromMultiCell(toMultiCell(value)))).toBe("LIMIT");
  });
});
