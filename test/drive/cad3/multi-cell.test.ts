import { describe, expect, test } from "@jest/globals";
import { emitCells, encode, hashOf } from "../../../src/drive/cad3/encoding/cell.js";
import { fromMultiCell, toMultiCell } from "../../../src/drive/cad3/encoding/multi-cell.js";
import { map } from "../../../src/drive/cad3/maps/hash-map.js";
import { CadIndex, index } from "../../../src/drive/cad3/maps/index-map.js";
import { sha3 } from "../../../src/drive/cad3/ref.js";
import type { Value } from "../../../src/drive/cad3/value.js";
import { codeOf } from "./code-of.js";
import { fromHex, parseValue, parseVectors, pattern, toHex } from "./notation.js";

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
