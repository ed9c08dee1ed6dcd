import { describe, expect, test } from "@jest/globals";
import fc from "fast-check";
import { emitCells, encode, hashOf } from "../../../src/drive/cad3/encoding/cell.js";
import { decode, fromMultiCell, toMultiCell } from "../../../src/drive/cad3/encoding/multi-cell.js";
import { LazyValue } from "../../../src/drive/cad3/lazy.js";
import { CadMap, map } from "../../../src/drive/cad3/maps/hash-map.js";
import { CadIndex, index } from "../../../src/drive/cad3/maps/index-map.js";
import { materialize } from "../../../src/drive/cad3/materialize.js";
import { sha3 } from "../../../src/drive/cad3/ref.js";
import { Signed, sign } from "../../../src/drive/cad3/signed.js";
import { keyword, type Value } from "../../../src/drive/cad3/value.js";
import { anyCharacter } from "../../any-character.js";
import { codeOf } from "./code-of.js";
import { toHex } from "./notation.js";

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
      fc.oneof(fc.constantFrom(null, true, false), fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }), bytes, text),
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
      { numRuns: 600 },
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
      { numRuns: 400 },
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
      { numRuns: 400 },
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
      { numRuns: 2000 },
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
