import { expect, test } from "@jest/globals";
import fc from "fast-check";
import { sha3, toHex } from "../../../src/drive/cad3/ref.js";
import { createCellCache, createNumberCache } from "../../../src/drive/engine/cell-cache.js";

const cell = (number: number, length: number): Uint8Array => {
  const bytes = new Uint8Array(length).fill(number % 251);
  new DataView(bytes.buffer).setUint32(0, number);
  return bytes;
};
const hashOf = (number: number): string => toHex(sha3(cell(number, 4)));

test("what a cache of cells gives is what was put, whatever was put and asked for in between", () => {
  const call = fc.record({ isPut: fc.boolean(), number: fc.nat(400), length: fc.integer({ min: 4, max: 3000 }) });
  fc.assert(
    fc.property(fc.array(call, { maxLength: 600 }), fc.constantFrom(0, 1000, 20_000, 2 ** 20), (calls, capacity) => {
      const cache = createCellCache(capacity);
      const put = new Map<number, Uint8Array>();
      for (const { isPut, number, length } of calls) {
        // A hash has one content.
        const bytes = put.get(number) ?? cell(number, length);
        if (isPut) {
          put.set(number, bytes);
          cache.set(hashOf(number), bytes);
        } else {
          const found = cache.get(hashOf(number));
          if (found !== undefined) expect(Buffer.compare(found, put.get(number) ?? new Uint8Array())).toBe(0);
        }
      }
    }),
  );
});

test("a cache of cells keeps what fits in half its capacity, and what is used", () => {
  const cache = createCellCache(2 ** 20);
  cache.set(hashOf(0), cell(0, 500));
  for (let number = 1; number < 10_000; number += 1) {
    cache.set(hashOf(number), cell(number, 500));
    expect(cache.get(hashOf(0))).toEqual(Buffer.from(cell(0, 500)));
    for (const recent of [number, Math.max(number - 400, 0)]) {
      expect(cache.get(hashOf(recent))?.length).toBe(500);
    }
  }
  expect(cache.get(hashOf(1))).toBeUndefined();
});

test("what was taken out of the cache does not change when its place is used again", () => {
  const cache = createCellCache(2 ** 20);
  cache.set(hashOf(0), cell(0, 500));
  const taken = cache.get(hashOf(0));
  for (let number = 1; number < 10_000; number += 1) cache.set(hashOf(number), cell(number, 500));
  expect(taken).toEqual(Buffer.from(cell(0, 500)));
});

test("a cache of numbers forgets what has not been used for long", () => {
  const cache = createNumberCache(1000);
  for (let number = 0; number < 3000; number += 1) {
    cache.set(hashOf(number), number === 7 ? 2 ** 52 : number);
    if (number >= 7) expect(cache.get(hashOf(7))).toBe(2 ** 52);
  }
  expect(cache.get(hashOf(2999))).toBe(2999);
  expect(cache.get(hashOf(2600))).toBe(2600);
  expect(cache.get(hashOf(100))).toBeUndefined();
});
