import { createCipheriv } from "node:crypto";
import { describe, expect, test } from "@jest/globals";
import fc from "fast-check";
import { missingCell } from "../../../../src/drive/cad3/encoding/assemble.js";
import { cellOf } from "../../../../src/drive/cad3/encoding/cell.js";
import { parseCell } from "../../../../src/drive/cad3/encoding/parse-cell.js";
import { LazyValue } from "../../../../src/drive/cad3/lazy.js";
import { type Cell, hexOfBranch } from "../../../../src/drive/cad3/ref.js";
import { readRange } from "../../../../src/drive/engine/content/blob-reader.js";
import { createBlobWriter, edgeOf, NO_EDGE } from "../../../../src/drive/engine/content/blob-writer.js";
import type { TakeCell } from "../../../../src/drive/store/cell-store.js";
import { rejection } from "../engines.js";

/** The cells that have been written, by hash. */
function memory() {
  const cells = new Map<string, Uint8Array>();
  let puts = 0;
  return {
    cells,
    count: () => puts,
    put: (hash: string, bytes: Uint8Array) => {
      if (!cells.has(hash)) puts += 1;
      cells.set(hash, new Uint8Array(bytes));
    },
    peek: async (hashes: readonly string[]) => hashes.map((hash) => cells.get(hash)),
    async content(branches: readonly Uint8Array[], take: TakeCell) {
      for (const [at, ref] of branches.entries()) {
        const bytes = cells.get(hexOfBranch(ref));
        if (bytes === undefined) throw missingCell(hexOfBranch(ref));
        // It is valid only during the call.
        const passing = new Uint8Array(bytes);
        take(at, passing);
        passing.fill(0);
      }
    },
  };
}

/** Bytes that look random, the same ones every time. */
const NOISE = new Uint8Array(
  createCipheriv("aes-128-ctr", new Uint8Array(16), new Uint8Array(16)).update(Buffer.alloc(20_000_000)),
);
const noise = (length: number): Uint8Array => NOISE.subarray(0, length);

const lazy = (cell: Cell): LazyValue =>
  new LazyValue(cell.ref, parseCell(cell.bytes), {
    load: () => parseCell(cell.bytes),
    open: () => null,
    whole: () => null,
  });

async function written(bytes: Uint8Array, piece: number, store = memory()): Promise<Cell> {
  const writer = createBlobWriter(NO_EDGE, store.put);
  for (let at = 0; at < bytes.length; at += piece) await writer.write(bytes.subarray(at, at + piece));
  return writer.finish();
}

const LENGTHS = [
  0, 1, 100, 140, 4095, 4096, 4097, 8192, 8193, 65_535, 65_536, 65_537, 65_636, 69_632, 131_072, 1_048_575, 1_048_576,
  1_048_577, 1_052_672, 1_114_112, 2_097_152, 2_100_000, 17_000_000,
];

describe("a blob that is written piece by piece", () => {
  test.each(LENGTHS)("has the cell of the whole: %d bytes", async (length) => {
    const bytes = noise(length);
    const expected = cellOf(bytes);
    for (const piece of length < 1_100_000 ? [977, 4096, 100_000] : [65_000]) {
      expect(Buffer.compare((await written(bytes, piece)).ref, expected.ref)).toBe(0);
    }
  });

  test("has that cell too when it is added to", async () => {
    const all = noise(1_200_000);
    await fc.assert(
      fc.asyncProperty(
        fc.oneof(fc.constantFrom(...LENGTHS.filter((length) => length < 1_200_000)), fc.nat(1_100_000)),
        fc.oneof(fc.constantFrom(0, 1, 4096, 65_536), fc.nat(90_000)),
        async (start, more) => {
          const store = memory();
          const first = await written(all.subarray(0, start), 70_000, store);
          const writer = createBlobWriter(await edgeOf(first.ref, store), store.put);
          await writer.write(all.subarray(start, start + more));
          const whole = all.subarray(0, start + more);
          expect(writer.length).toBe(whole.length);
          expect(Buffer.compare((await writer.finish()).ref, cellOf(whole).ref)).toBe(0);
        },
      ),
      { numRuns: 40 },
    );
  });

  test("is added to by its right edge alone", async () => {
    const store = memory();
    const first = await written(noise(20_000_000), 65_536, store);
    const [before, asked] = [store.count(), [] as string[]];
    const edge = await edgeOf(first.ref, {
      peek: async (hashes) => {
        asked.push(...hashes);
        return store.peek(hashes);
      },
    });
    const writer = createBlobWriter(edge, store.put);
    await writer.write(Uint8Array.of(1));
    await writer.finish();
    expect(asked.length).toBeLessThanOrEqual(6);
    expect(store.count() - before).toBeLessThanOrEqual(6);
  });
});

describe("a range of a blob", () => {
  test("is what stands there", async () => {
    const bytes = noise(1_200_000);
    const store = memory();
    const data = lazy(await written(bytes, 65_536, store));
    const ranges: fc.Arbitrary<[number, number]> = fc.tuple(fc.nat(1_210_000), fc.nat(200_000));
    await fc.assert(
      fc.asyncProperty(ranges, async ([offset, length]) => {
        const read = await readRange(data, { offset, length }, store);
        expect(read.size).toBe(bytes.length);
        expect(read.bytes.equals(bytes.subarray(offset, offset + length))).toBe(true);
      }),
      { numRuns: 60 },
    );
  });

  test("needs the cells that lead to it alone", async () => {
    const store = memory();
    const data = lazy(await written(noise(5_000_000), 65_536, store));
    let asked = 0;
    const cells = {
      peek: (hashes: readonly string[]) => {
        asked += hashes.length;
        return store.peek(hashes);
      },
      content: (branches: readonly Uint8Array[], take: TakeCell) => {
        asked += branches.length;
        return store.content(branches, take);
      },
    };
    await readRange(data, { offset: 3_000_000, length: 10 }, cells);
    expect(asked).toBeLessThanOrEqual(4);
  });

  test("is refused where a cell is missing or another one", async () => {
    const store = memory();
    const data = lazy(await written(noise(100_000), 65_536, store));
    const chunk = cellOf(noise(100_000).subarray(0, 4096));
    const hash = Buffer.from(chunk.ref.subarray(1)).toString("hex");
    expect(store.cells.has(hash)).toBe(true);
    store.cells.set(hash, cellOf(noise(4000)).bytes);
    expect(await rejection(readRange(data, { offset: 0, length: 5 }, store))).toBe("BAD_FORMAT");
    store.cells.delete(hash);
    expect(await rejection(readRange(data, { offset: 0, length: 5 }, store))).toBe("MISSING_CELL");
    expect((await readRange(data, { offset: 5000, length: 5 }, store)).bytes).toHaveLength(5);
  });
});
