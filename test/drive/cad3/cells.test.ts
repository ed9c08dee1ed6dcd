import { describe, expect, test } from "@jest/globals";
import { emitCells, encode, hashOf, isEmbedded } from "../../../src/drive/cad3/encoding/cell.js";
import { decode, fromMultiCell, type Resolve, toMultiCell } from "../../../src/drive/cad3/encoding/multi-cell.js";
import { LazyValue } from "../../../src/drive/cad3/lazy.js";
import { map } from "../../../src/drive/cad3/maps/hash-map.js";
import { CadIndex, index } from "../../../src/drive/cad3/maps/index-map.js";
import { materialize } from "../../../src/drive/cad3/materialize.js";
import { refOf, sha3 } from "../../../src/drive/cad3/ref.js";
import { Signed, sign, verify } from "../../../src/drive/cad3/signed.js";
import { keyword, type Value } from "../../../src/drive/cad3/value.js";
import { united } from "../united.js";
import { codeOf } from "./code-of.js";
import { fromHex, parseValue, parseVectors, pattern, toHex } from "./notation.js";

describe("cells", () => {
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

  const written = long.flatMap(({ multicell, ...vector }) =>
    multicell === undefined ? [] : [{ ...vector, multicell }],
  );

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
});

interface MultiCell extends Readonly<Record<"name" | "hash" | "multicell", string>> {
  readonly value: unknown;
  readonly bytes: number;
}

const { multiCell } = parseVectors<{ readonly multiCell: readonly MultiCell[] }>("cad3");

describe("a multi-cell of the reference", () => {
  test.each(multiCell.map((vector) => [vector.name, vector] as const))("is read: %s", (_, vector) => {
    expect(hashOf(fromMultiCell(fromHex(vector.multicell)))).toBe(vector.hash);
    const written = toMultiCell(parseValue(vector.value));
    expect(written.length).toBe(vector.bytes);
    expect(hashOf(fromMultiCell(written))).toBe(vector.hash);
  });
});

const [a, b, c] = ["a".repeat(200), "b".repeat(200), "c".repeat(200)];

/** A cell with its length before it; all lengths here take two bytes. */
const frame = (value: Value): Uint8Array => {
  const bytes = encode(value);
  return Uint8Array.of(0x80 | (bytes.length >> 7), bytes.length & 0x7f, ...bytes);
};
const joined = (value: Value, ...frames: Uint8Array[]): Uint8Array =>
  new Uint8Array(Buffer.concat([encode(value), ...frames]));

describe("a multi-cell", () => {
  const inner = [c, a, b];
  const outer = [b, [a, inner, inner], c];

  test("has each branch once, in the order in which they are met", () => {
    expect(toHex(toMultiCell([b, a, b, 1]))).toBe(toHex(joined([b, a, b, 1], frame(b), frame(a))));
    // The vector in the middle is embedded, the one in it too: both are passed through.
    expect(toHex(toMultiCell([b, [a, c], a]))).toBe(toHex(joined([b, [a, c], a], frame(b), frame(a), frame(c))));
    const large = [a, b, c, a, b];
    expect(toHex(toMultiCell([large, c]))).toBe(toHex(joined([large, c], frame(large), frame(a), frame(b), frame(c))));
  });

  test("is read in any order, with cells twice and cells that do not belong to it", () => {
    const frames = [frame(c), frame("x".repeat(150)), frame(a), frame(c), frame([a, inner, inner]), frame(b)];
    expect(hashOf(fromMultiCell(joined(outer, ...frames)))).toBe(hashOf(outer));
  });

  test("without a cell that belongs to it is refused", () => {
    expect(codeOf(() => fromMultiCell(joined([a, b], frame(a))))).toBe("MISSING_CELL");
    expect(codeOf(() => fromMultiCell(encode([a])))).toBe("MISSING_CELL");
  });

  test("with a wrong cell is refused, though nothing needs it", () => {
    const [wrong, tail] = [frame(b), frame(b)];
    wrong[2] = 0x1d;
    tail[1] = (tail[1] ?? 0) - 1;
    expect(codeOf(() => fromMultiCell(joined([a], frame(a), wrong)))).toBe("UNSUPPORTED_CELL");
    expect(codeOf(() => fromMultiCell(joined([a], frame(a), tail)))).toBe("BAD_FORMAT");
    expect(codeOf(() => fromMultiCell(joined([a], frame(a), Uint8Array.of(2, 0x11, 1))))).toBe("BAD_FORMAT");
    expect(codeOf(() => fromMultiCell(joined([a], frame(a), Uint8Array.of(0x81))))).toBe("BAD_FORMAT");
    // 17 elements of which the 16 before the last are vectors of another count.
    const badPrefix = Buffer.from(`801100${"8001".repeat(64)}`, "hex").subarray(0, 150);
    expect(codeOf(() => fromMultiCell(joined([a], frame(a), Uint8Array.of(0x81, 22, ...badPrefix))))).toBe(
      "BAD_FORMAT",
    );
  });

  test("of an empty input is refused", () => {
    expect(codeOf(() => fromMultiCell(new Uint8Array()))).toBe("BAD_FORMAT");
  });

  test("does not hold on to the bytes it was read from", () => {
    const names = [..."abcdefghijklmnopqrst"].map((name): [string, Value] => [name, a]);
    const value = [index(names), map(names), pattern(5000), c];
    const bytes = toMultiCell(value);
    const back = fromMultiCell(bytes);
    bytes.fill(0);
    expect(toHex(toMultiCell(back))).toBe(toHex(toMultiCell(value)));
    const [held] = Array.isArray(back) ? back : [];
    const alone = toMultiCell(index(names));
    const top = fromMultiCell(alone);
    alone.fill(0);
    expect(hashOf(top)).toBe(hashOf(index(names)));
    expect(held instanceof CadIndex && hashOf(held.with("u", 1))).toBe(hashOf(index([...names, ["u", 1]])));
  });

  test("can be made out of what is told of a value", () => {
    const cells: Uint8Array[] = [];
    const { bytes } = emitCells([outer, index([["k".repeat(200), a]]), map([[b, c]])], (cell) =>
      cells.push(cell.bytes),
    );
    const frames = cells.map((cell) =>
      Buffer.concat([Uint8Array.of(0x80 | (cell.length >> 7), cell.length & 0x7f), cell]),
    );
    const back = fromMultiCell(new Uint8Array(Buffer.concat([bytes, ...frames])));
    expect(back).toEqual([outer, index([["k".repeat(200), a]]), map([[b, c]])]);
  });
});

describe("the limits of a multi-cell", () => {
  const zeros = new Uint8Array(2 ** 20);
  const shared = index([
    ["a", zeros],
    ["b", zeros],
    ["c", index([["d", zeros]])],
  ]);
  const bytes = toMultiCell(shared);
  const long = toMultiCell(Array(1000).fill(null));
  const cases: readonly [string, Uint8Array, Record<string, number>, Record<string, number>][] = [
    ["bytes of input", bytes, { maxImportBytes: bytes.length }, { maxImportBytes: bytes.length - 1 }],
    ["cells", bytes, { maxImportCells: 4 }, { maxImportCells: 1 }],
    [
      "content, though it is there once",
      bytes,
      { maxImportLogicalBytes: 3 * 2 ** 20 },
      { maxImportLogicalBytes: 3 * 2 ** 20 - 1 },
    ],
    ["entries", bytes, { maxImportEntries: 4 }, { maxImportEntries: 3 }],
    ["elements of vectors", long, { maxImportEntries: 63 }, { maxImportEntries: 62 }],
  ];
  test.each(cases)("hold for %s", (_, input, enough, tooFew) => {
    fromMultiCell(input, enough);
    expect(codeOf(() => fromMultiCell(input, tooFew))).toBe("LIMIT");
  });

  test("hold for what a few cells claim", () => {
    // 2^44 bytes in 13 cells.
    const cells = [encode(new Uint8Array(4096))];
    let bottom = encode(new Uint8Array(65536));
    for (let size = 65536; size < 2 ** 44; size *= 16) {
      cells.push(bottom);
      bottom = blobOf16(bottom, size * 16);
    }
    const frames = cells.map((cell) =>
      Buffer.concat([Uint8Array.of(0x80 | (cell.length >> 7), cell.length & 0x7f), cell]),
    );
    expect(codeOf(() => fromMultiCell(new Uint8Array(Buffer.concat([bottom, ...frames]))))).toBe("LIMIT");
  });
});

/** The cell of a blob that holds another one 16 times. */
function blobOf16(part: Uint8Array, length: number): Uint8Array {
  const groups: number[] = [];
  for (let rest = length; rest > 0; rest = Math.floor(rest / 128))
    groups.unshift((rest % 128) | (groups.length > 0 ? 0x80 : 0));
  const ref = Buffer.concat([Uint8Array.of(0x20), sha3(part)]);
  return new Uint8Array(Buffer.concat([Uint8Array.of(0x31, ...groups), ...Array(16).fill(ref)]));
}

describe("what is no encoding", () => {
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
        return new Map(
          digits.map((of) => [of, map(keys.filter((key) => digitOf(key) === of).map((key) => [key, key]))]),
        );
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
      const names = (letter: string): Value =>
        index([..."01234567"].map((end): [string, Value] => [letter + end, null]));
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
});

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
