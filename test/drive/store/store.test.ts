import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "@jest/globals";
import fc from "fast-check";
import { encode } from "../../../src/drive/cad3/encoding/cell.js";
import { toMultiCell } from "../../../src/drive/cad3/encoding/multi-cell.js";
import { dir, file } from "../../../src/drive/dlfs/node.js";
import { decode, Signed } from "../../../src/drive/index.js";
import type { CellStore } from "../../../src/drive/store/cell-store.js";
import { openEmbeddedStore } from "../../../src/drive/store/embedded/embedded.js";
import { createMemoryStore } from "../../../src/drive/store/memory.js";
import { openTables, packRow, uintBytes } from "../../../src/drive/store/tables.js";
import { ownToken } from "../../../src/process/identity.js";
import { ALICE, openEngine, type TestEngine } from "../engine/engines.js";
import { bytesOf, missingOf, OWNER, publish, putAll, type TestCell, treeOf } from "./cells.js";
import { type Compiled, compile } from "./compiled.js";
import { layOutEarlier } from "./earlier-store.js";
import { expectIntact, killAtSteps, start } from "./killed-commits.js";
import { storeSuite } from "./suite.js";

describe("the format of a store", () => {
  const SHARED = "a name of which only the first 3";
  const FORMAT = Buffer.from("format");

  let path: string;
  let store: CellStore;
  let engine: TestEngine;

  async function open(): Promise<void> {
    store = await openEmbeddedStore({ path, flush: false });
    engine = openEngine({ store });
  }

  beforeEach(async () => {
    path = mkdtempSync(join(tmpdir(), "vf-store-"));
    layOutEarlier(path);
    await open();
  });
  afterEach(async () => {
    await store.close();
    rmSync(path, { recursive: true });
  });

  const alice = () => engine.owner(ALICE);
  const put = (name: string, drive = "notes") =>
    alice().change(drive, (change) => change.writeFile(["long", name], Buffer.from("two")));
  async function namesIn(folder: string[], drive = "notes"): Promise<string[]> {
    const reader = await alice().read(drive);
    const entries = await reader.entries(folder);
    reader.release();
    return entries.map(({ name }) => name);
  }

  /** The number that versions compare with the newest one they know. */
  async function writtenFormat(): Promise<string | undefined> {
    const tables = openTables(path, false);
    const format = tables.meta.get(FORMAT)?.toString();
    await tables.env.close();
    return format;
  }

  const OLD_NAMES = [`${SHARED}2 bytes counted`, "x".repeat(255), `~0123abcd~${SHARED}`];

  /** Names in one directory that share 32 bytes. */
  const longTree = dir(
    ["1", "2"].map((end) => [`${SHARED}${end}`, file(Buffer.from(end), 5)]),
    5,
  );
  async function* pieces(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
    yield bytes;
  }
  const importTree = () => alice().importDrive([pieces(toMultiCell(longTree))], { drive: "new" });
  const tooOld = { code: "NOT_SUPPORTED", message: expect.stringContaining("venue-files drive upgrade --config FILE") };

  describe("a store of the version before", () => {
    test("is read and written, with the names that its merges have made", async () => {
      expect(store.format).toBe(1);
      expect(await alice().list()).toEqual(["a:b", "notes"]);
      expect(await namesIn(["long"])).toEqual(OLD_NAMES);
      await put("short");
      expect(await alice().verify("notes")).toMatchObject({ files: 4, damagedCount: 0, history: { damaged: false } });
      expect(await writtenFormat()).toBe("1");
    });

    test("has deleted drives as they were marked then, until the next change", async () => {
      expect(await alice().verify("gone")).toMatchObject({ files: 0, damagedCount: 0 });
      expect(await namesIn([], "gone")).toEqual([]);
      expect(await alice().delete("gone")).toBe(false);
      expect(await alice().create("gone")).toBe(true);
      const pieces: Uint8Array[] = [];
      for await (const { bytes } of alice().exportDrive({ top: "drive", drive: "gone" })) pieces.push(bytes);
      // The mark is gone, and all that was deleted with the drive.
      expect(Buffer.concat(pieces).equals(encode(dir([], 2002)))).toBe(true);
    });

    test("keeps drives with names that no new one may have", async () => {
      await alice().change("a:b", (change) => change.writeFile(["f"], Buffer.from("f")));
      expect(await namesIn([], "a:b")).toEqual(["f"]);
      const refusal = { code: "INVALID_PATH", message: expect.stringContaining("a new one has no ':'") };
      await expect(alice().create("a:c")).rejects.toMatchObject(refusal);
      const writing = alice().change(" c", (change) => change.writeFile(["f"], Buffer.from("f")));
      await expect(writing).rejects.toMatchObject(refusal);
      const incoming = [pieces(toMultiCell(dir([], 5)))];
      await expect(alice().importDrive(incoming, { drive: "c " })).rejects.toMatchObject(refusal);
    });

    test("takes no names that share 32 bytes, and says how it comes to", async () => {
      const near = `${SHARED}2 bytes, too`;
      await expect(put(near)).rejects.toMatchObject(tooOld);
      await expect(
        alice().change("notes", (change) => change.move(["long", OLD_NAMES[0] ?? ""], ["long", near])),
      ).rejects.toMatchObject(tooOld);
      await expect(importTree()).rejects.toMatchObject(tooOld);
      expect(await namesIn(["long"])).toEqual(OLD_NAMES);
      expect(await alice().list()).toEqual(["a:b", "notes"]);
      await alice().change("notes", (change) => change.writeFile([near], Buffer.from("elsewhere")));
    });

    test("takes them once it is raised, which rewrites its number only, and which versions before then refuse", async () => {
      expect(await store.upgrade?.()).toEqual({ from: 1, to: 2 });
      expect(await store.upgrade?.()).toEqual({ from: 2, to: 2 });
      await store.close();
      await open();
      const near = `${SHARED}2 bytes, too`;
      await put(near);
      await importTree();
      expect(await namesIn(["long"])).toEqual([near, ...OLD_NAMES].sort());
      await store.close();
      await open();
      expect([store.format, await writtenFormat()]).toEqual([2, "2"]);
      expect(await namesIn([], "new")).toEqual([`${SHARED}1`, `${SHARED}2`]);
      expect(await alice().verify("notes")).toMatchObject({ damagedCount: 0 });
    });

    test("is not raised while another process has it open, though it only reads", async () => {
      const compiled = compile();
      const child = spawn(process.execPath, [compiled.file("test/drive/store/reader-child.ts"), path]);
      try {
        await once(child.stdout, "data");
        const busy = { code: "BUSY", message: expect.stringContaining("Stop all venues") };
        await expect(store.upgrade?.()).rejects.toMatchObject(busy);
        expect([store.format, await writtenFormat()]).toEqual([1, "1"]);
        child.stdin.end("end\n");
        await once(child, "exit");
        expect(await store.upgrade?.()).toEqual({ from: 1, to: 2 });
      } finally {
        child.kill();
        compiled.remove();
      }
    });
  });

  test("nothing is raised while a process of another container writes, and what a dead one left does not count", async () => {
    const tables = openTables(path, false);
    const writtenBy = (writer: string) =>
      tables.packs.putSync(uintBytes(9).subarray(2), packRow({ isSealed: false, length: 0, writer }));
    writtenBy(ownToken().replace(/^(\S+) \S+/, "$1 other"));
    await expect(store.upgrade?.()).rejects.toMatchObject({ code: "BUSY" });
    writtenBy(ownToken().replace(/ \d+ (\d*)$/, " 999999999 $1"));
    expect(await store.upgrade?.()).toEqual({ from: 1, to: 2 });
    await tables.env.close();
  });

  test("a new store is of the newest format, and one of a newer format is refused, unchanged", async () => {
    await store.close();
    rmSync(path, { recursive: true });
    await open();
    expect([store.format, await writtenFormat()]).toEqual([2, "2"]);
    await importTree();
    const tables = openTables(path, false);
    tables.meta.putSync(FORMAT, Buffer.from("3"));
    await tables.env.close();
    await store.close();
    const refusal = { code: "STORE_UNAVAILABLE", message: expect.stringContaining("its format 3 is newer than 2") };
    await expect(openEmbeddedStore({ path, flush: false })).rejects.toMatchObject(refusal);
  });
});

storeSuite("memory", async (now) => {
  const store = createMemoryStore({ now });
  return { store, dispose: () => store.close() };
});

test("a memory that is full refuses more, and has room again after a collection", async () => {
  let clock = 0;
  const store = createMemoryStore({ maxBytes: 10_000, now: () => clock });
  const { cells } = treeOf(bytesOf(12_000, 1));
  const put = (which: number): void =>
    void store.batch().put(cells[which]?.hash ?? OWNER_HASH, cells[which]?.bytes ?? EMPTY);
  put(0);
  put(1);
  expect(() => put(2)).toThrow(expect.objectContaining({ code: "STORE_UNAVAILABLE" }));
  clock += 8_000_000;
  expect(await store.collect({ graceMs: 1000 })).toMatchObject({ removed: 2 });
  put(2);
  expect(await missingOf(store, cells.slice(2, 3))).toBe(0);
});

const OWNER_HASH = new Uint8Array(32);
const EMPTY = new Uint8Array(0);

describe("rows", () => {
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
});

describe("crashes", () => {
  let compiled: Compiled;
  let path: string;
  beforeAll(() => {
    compiled = compile();
  });
  afterAll(() => compiled.remove());
  beforeEach(() => {
    path = mkdtempSync(join(tmpdir(), "vf-crash-"));
  });
  afterEach(() => rmSync(path, { recursive: true }));

  describe("a process that is killed", () => {
    test("at any fifth step of a commit loses nothing that was acknowledged", async () => {
      // Each of them: test/long/killed.test.ts.
      expect(await killAtSteps({ compiled, path }, 5)).toBeGreaterThan(40);
    });

    test.each(["durable", "fast", "collecting"])(
      "in the middle of many commits loses nothing that was acknowledged: %s",
      async (what) => {
        for (let round = 0; round < 2; round += 1) {
          rmSync(path, { recursive: true, force: true });
          const child = start({ compiled, path }, what);
          const stdout = child.process.stdout;
          const target = 20 + 30 * round;
          while (child.lines().length < target && stdout !== null) await once(stdout, "data");
          child.process.kill("SIGKILL");
          await child.ended;
          await expectIntact(path, Number(child.lines().at(-1)));
        }
      },
    );
  });

  test("several processes use one store at once", async () => {
    const [times, processes] = [25, 3];
    const children = Array.from({ length: processes }, () => start({ compiled, path }, "count", String(times)));
    expect(await Promise.all(children.map(({ ended }) => ended))).toEqual(children.map(() => [0, null]));
    const store = await openEmbeddedStore({ path });
    try {
      const root = await store.root(OWNER);
      const value = decode(root?.bytes ?? new Uint8Array());
      expect(value instanceof Signed && value.value).toBe(BigInt(times * processes));
      for (const child of children) {
        const pid = Number(child.lines()[0]);
        for (let at = 0; at < times; at += 1) {
          expect(await missingOf(store, treeOf(bytesOf(9000, pid * 1000 + at)).cells)).toBe(0);
        }
      }
      expect(readdirSync(join(path, "packs")).length).toBeGreaterThanOrEqual(processes);
    } finally {
      await store.close();
    }
  });
});
