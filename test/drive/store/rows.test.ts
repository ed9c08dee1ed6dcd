import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import fc from "fast-check";
import type { CellStore } from "../../../src/drive/store/cell-store.js";
import { openEmbeddedStore } from "../../../src/drive/store/embedded/embedded.js";
import { openTables } from "../../../src/drive/store/tables.js";
import { bytesOf, missingOf, publish, putAll, type TestCell, treeOf } from "./cells.js";

// Chunks that lie in a row in a pack are read together.

const isChunk = ({ bytes }: TestCell): boolean => bytes.length > 1000;
const chunksOf = (length: number, seed: number): TestCell[] => treeOf([bytesOf(length, seed)]).cells.filter(isChunk);

/** Two files in a row each, the last chunk of the first is shorter; then two files whose chunks alternate. */
const files = [chunksOf(100 * 4096 - 50, 1), chunksOf(300 * 4096, 2)];
const [one = [], other = []] = [chunksOf(90 * 4096, 3), chunksOf(90 * 4096, 4)];
const mixed = one.flatMap((chunk, at) => [chunk, ...other.slice(at, at + 1)]);
/** A cell of the table, and one that is not there. */
const [small] = treeOf([bytesOf(300, 5)]).cells;
const [missing] = chunksOf(4096, 6);
const known = [...files.flat(), ...mixed, ...(small === undefined ? [] : [small])];
const all = [...known, ...(missing === undefined ? [] : [missing])];

let path: string;
let store: CellStore;

beforeAll(async () => {
  path = mkdtempSync(join(tmpdir(), "vf-rows-"));
  store = await openEmbeddedStore({ path, flush: false, packBytes: 1_500_000 });
  await putAll(store, known);
});
afterAll(async () => {
  await store.close();
  rmSync(path, { recursive: true });
});

async function expectCells(cells: readonly TestCell[]): Promise<void> {
  const found = await store.getMany(cells.map(({ hash }) => hash));
  expect(found).toHaveLength(cells.length);
  const wrong = found.findIndex((bytes, at) => {
    const expected = cells[at] === missing ? undefined : cells[at]?.bytes;
    return bytes === undefined || expected === undefined ? bytes !== expected : Buffer.compare(bytes, expected) !== 0;
  });
  expect(wrong).toBe(-1);
}

test("cells are found in whatever order they are asked for", async () => {
  const slice = fc
    .tuple(fc.nat(known.length - 1), fc.integer({ min: 1, max: 200 }))
    .map(([at, count]) => all.slice(at, at + count));
  /** Something in the place of a cell, between its neighbours. */
  const swaps = fc.array(fc.tuple(fc.nat(), fc.nat(all.length - 1)), { maxLength: 6 });
  await fc.assert(
    fc.asyncProperty(fc.array(slice, { minLength: 1, maxLength: 3 }), swaps, async (parts, put) => {
      const cells = parts.flat();
      for (const [at, which] of put) cells[at % cells.length] = all[which] ?? all[0] ?? fail();
      await expectCells(cells);
    }),
    { numRuns: 200 },
  );
});

const fail = (): never => {
  throw new Error("There is no cell");
};

test.each([1, 7, 63, 64, 65, 128, 250])("a chunk from elsewhere is found within a row: the %dth", async (at) => {
  const cells = [...(files[1] ?? [])];
  for (const stranger of [one[3], small, missing, files[0]?.at(-1)]) {
    cells[at] = stranger ?? fail();
    await expectCells(cells);
  }
});

test("chunks stay in the order of their file when a pack is copied", async () => {
  const place = mkdtempSync(join(tmpdir(), "vf-rows-"));
  let now = 1_700_000_000_000;
  const copied = await openEmbeddedStore({ path: place, flush: false, packBytes: 4_000_000, now: () => now });
  try {
    const kept = bytesOf(300 * 4096, 7);
    await publish(copied, [kept, ...Array.from({ length: 10 }, (_, at) => bytesOf(300_000, 100 + at))]);
    await publish(copied, [kept]);
    await putAll(copied, chunksOf(1_000_000, 8));
    now += 7_200_000;
    expect((await copied.collect({ graceMs: 3_600_000 })).packs).toBeGreaterThan(0);
    const { cells } = treeOf([kept]);
    expect(await missingOf(copied, cells)).toBe(0);
    const packs = readdirSync(join(place, "packs")).map((name) => readFileSync(join(place, "packs", name)));
    const row = Buffer.concat(cells.filter(isChunk).map(({ bytes }) => bytes));
    expect(packs.some((pack) => pack.includes(row))).toBe(true);
  } finally {
    await copied.close();
    rmSync(place, { recursive: true });
  }
});

test("a chunk that was changed on the disk is refused within a row", async () => {
  const cells = files[1] ?? [];
  const victim = cells[30] ?? fail();
  for (const name of readdirSync(join(path, "packs"))) {
    const pack = join(path, "packs", name);
    const bytes = readFileSync(pack);
    const at = bytes.indexOf(victim.bytes);
    if (at < 0) continue;
    bytes.writeUInt8(bytes.readUInt8(at + 1000) ^ 1, at + 1000);
    writeFileSync(pack, bytes);
  }
  const hashes = cells.slice(0, 64).map(({ hash }) => hash);
  await expect(store.getMany(hashes)).rejects.toMatchObject({ code: "STORE_DAMAGED" });
  await expectCells(cells.filter((cell) => cell !== victim));
});

test("a chunk that the table lacks is missed within a row", async () => {
  const place = mkdtempSync(join(tmpdir(), "vf-rows-"));
  const before = await openEmbeddedStore({ path: place, flush: false });
  const [cells, lost] = [files[1] ?? [], files[1]?.[30] ?? fail()];
  await putAll(before, cells);
  await before.close();
  const tables = openTables(place, false);
  tables.env.transactionSync(() => tables.chunks.removeSync(Buffer.from(lost.hash)));
  await tables.env.close();
  const after = await openEmbeddedStore({ path: place, flush: false });
  try {
    expect(await missingOf(after, cells)).toBe(1);
  } finally {
    await after.close();
    rmSync(place, { recursive: true });
  }
});
