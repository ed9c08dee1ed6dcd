import { createHash } from "node:crypto";
import {
  appendFileSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { open as openFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setImmediate as nextTurn } from "node:timers/promises";
import { afterEach, beforeEach, describe, expect, jest, test } from "@jest/globals";
import { open } from "lmdb";
import { attempt } from "../../../src/core/io.js";
import type { Log } from "../../../src/core/ports/log.js";
import { Room } from "../../../src/database/room.js";
import type { CellStore } from "../../../src/drive/store/cell-store.js";
import { Committer } from "../../../src/drive/store/embedded/batch.js";
import { openEmbeddedStore } from "../../../src/drive/store/embedded/embedded.js";
import { refuseNetwork } from "../../../src/drive/store/embedded/make-folder.js";
import {
  PACK_HEADER,
  parseFooter,
  parseTrailer,
  TRAILER_BYTES,
} from "../../../src/drive/store/embedded/pack-format.js";
import { PackWriter, packKey } from "../../../src/drive/store/embedded/pack-writer.js";
import { packFile } from "../../../src/drive/store/embedded/read-cells.js";
import { openTables, packRow, packState } from "../../../src/drive/store/tables.js";
import { mayRun, ownToken } from "../../../src/process/identity.js";
import { bytesOf, filesOf, missingOf, OWNER, publish, putAll, treeOf } from "./cells.js";
import { storeSuite } from "./suite.js";

storeSuite("embedded", async (now) => {
  const path = mkdtempSync(join(tmpdir(), "vf-store-"));
  let store: CellStore = await openEmbeddedStore({ path, now, flush: false, packBytes: 200_000 });
  return {
    store,
    async reopen() {
      await store.close();
      store = await openEmbeddedStore({ path, now, flush: false, packBytes: 200_000 });
      return store;
    },
    async dispose() {
      await store.close();
      rmSync(path, { recursive: true });
    },
  };
});

describe("an embedded store whose index is damaged", () => {
  test.each([
    ["cut short", (file: string) => truncateSync(file, 3 * 4096)],
    [
      "zeroed at its head",
      (file: string) => writeFileSync(file, Buffer.concat([Buffer.alloc(8192), readFileSync(file).subarray(8192)])),
    ],
    ["empty", (file: string) => truncateSync(file, 0)],
  ])("is not opened, and ends no process: %s", async (_, damage) => {
    const path = mkdtempSync(join(tmpdir(), "vf-store-"));
    const file = join(path, "index", "data.mdb");
    const store = await openEmbeddedStore({ path, flush: false });
    await store.close();
    // As it was closed.
    await (await openEmbeddedStore({ path, flush: false })).close();
    const whole = readFileSync(file);
    damage(file);
    await expect(openEmbeddedStore({ path, flush: false })).rejects.toMatchObject({ code: "STORE_DAMAGED" });
    writeFileSync(file, whole);
    await (await openEmbeddedStore({ path, flush: false })).close();
    rmSync(path, { recursive: true });
  });
});

describe("an embedded store on a full disk", () => {
  test("leaves nothing open where it cannot be opened", async () => {
    const path = mkdtempSync(join(tmpdir(), "vf-store-"));
    const isOurs = (fd: string): boolean =>
      attempt(() => readlinkSync(`/proc/self/fd/${fd}`))?.startsWith(path) === true;
    const openFiles = (): number => readdirSync("/proc/self/fd").filter(isOurs).length;
    const full = jest.spyOn(Room.prototype, "make").mockImplementation(() => {
      throw Object.assign(new Error("no room"), { code: "ENOSPC" });
    });
    try {
      await expect(openEmbeddedStore({ path })).rejects.toMatchObject({ code: "NO_SPACE" });
      if (process.platform === "linux") {
        for (let turn = 0; turn < 1000 && openFiles() > 0; turn++) await nextTurn();
        expect(openFiles()).toBe(0);
      }
    } finally {
      full.mockRestore();
    }
    await (await openEmbeddedStore({ path })).close();
    rmSync(path, { recursive: true });
  });

  test.each([
    ["ENOSPC", "ENOSPC", "NO_SPACE"],
    ["LMDB's number", 28, "NO_SPACE"],
    ["another fault", "EIO", "STORE_UNAVAILABLE"],
  ])("says what it lacks: %s", async (_, code, answer) => {
    const path = mkdtempSync(join(tmpdir(), "vf-store-"));
    const store = await openEmbeddedStore({ path, flush: false });
    const failing = jest
      .spyOn(Committer.prototype, "run")
      .mockRejectedValue(Object.assign(new Error("failed"), { code }));
    try {
      await expect(store.batch().commit(OWNER, null, bytesOf(1, 1))).rejects.toMatchObject({ code: answer });
    } finally {
      failing.mockRestore();
      await store.close();
      rmSync(path, { recursive: true });
    }
  });
});

describe("an embedded store", () => {
  let path: string;
  let store: CellStore;
  let logged: string[];
  let clock: number;
  const keep = (fields: object, text: string): void => void logged.push(`${text} ${JSON.stringify(fields)}`);
  const log: Log = { debug: keep, info: keep, warn: keep, error: keep };
  const start = async (packBytes = 100_000): Promise<CellStore> => {
    store = await openEmbeddedStore({ path, log, packBytes, now: () => clock, flush: false });
    return store;
  };
  const packs = (): string[] =>
    readdirSync(join(path, "packs"))
      .sort()
      .map((name) => join(path, "packs", name));
  const packOf = (at: number): string => packs()[at] ?? "";

  beforeEach(async () => {
    path = mkdtempSync(join(tmpdir(), "vf-store-"));
    logged = [];
    clock = 1_700_000_000_000;
    await start();
  });
  afterEach(async () => {
    await store.close();
    rmSync(path, { recursive: true });
  });

  test("cuts what was never committed off a pack, and goes on with it", async () => {
    const { cells } = treeOf(filesOf(2, 1));
    await putAll(store, cells);
    await store.close();
    const { size } = statSync(packOf(0));
    appendFileSync(packOf(0), bytesOf(5000, 1));
    await start();
    expect(statSync(packOf(0)).size).toBe(size);
    const more = treeOf(filesOf(2, 2)).cells;
    await putAll(store, more);
    expect(packs()).toHaveLength(1);
    expect(await missingOf(store, [...cells, ...more])).toBe(0);
  });

  test("lets others run between the transactions of a batch of many cells", async () => {
    const { cells } = treeOf(filesOf(8000, 1, 300));
    const batch = store.batch();
    for (const { hash, bytes } of cells) await batch.put(hash, bytes);
    let [turns, isRunning] = [0, true];
    const turn = (): void => {
      turns += 1;
      if (isRunning) setImmediate(turn);
    };
    setImmediate(turn);
    await batch.flush();
    isRunning = false;
    expect(cells.length).toBeGreaterThan(8000);
    expect(turns).toBeGreaterThanOrEqual(Math.floor(cells.length / 1024) - 1);
    expect(await missingOf(store, cells)).toBe(0);
  });

  /** Turns of the event loop until the work is done. */
  async function turnsOf(work: () => Promise<unknown>): Promise<number> {
    let [turns, isRunning] = [0, true];
    const turn = (): void => {
      turns += 1;
      if (isRunning) setImmediate(turn);
    };
    setImmediate(turn);
    await work();
    isRunning = false;
    return turns;
  }

  /** Cells of 4 KB that are no chunks of files. */
  const largeCells = () =>
    treeOf(Array.from({ length: 900 }, (_, at) => Buffer.from(bytesOf(2000, at)).toString("hex"))).cells.filter(
      ({ bytes }) => bytes.length > 4000,
    );

  test("lets others run between transactions of a megabyte", async () => {
    const cells = largeCells();
    const batch = store.batch();
    let total = 0;
    for (const { hash, bytes } of cells) {
      await batch.put(hash, bytes);
      total += bytes.length;
    }
    expect(total).toBeGreaterThan(3 * 2 ** 20);
    expect(await turnsOf(() => batch.flush())).toBeGreaterThanOrEqual(Math.floor(total / 2 ** 20) - 1);
    expect(await missingOf(store, cells)).toBe(0);
  });

  test("lets others run while it reads and verifies many cells", async () => {
    const cells = largeCells();
    await putAll(store, cells);
    const total = cells.reduce((sum, { bytes }) => sum + bytes.length, 0);
    expect(total).toBeGreaterThan(2 ** 21);
    let found: readonly (Uint8Array | undefined)[] = [];
    const turns = await turnsOf(async () => {
      found = await store.getMany(cells.map(({ hash }) => hash));
    });
    expect(turns).toBeGreaterThanOrEqual(Math.floor(total / 280_000));
    expect(found.map((bytes) => bytes && Buffer.from(bytes))).toEqual(cells.map(({ bytes }) => Buffer.from(bytes)));
  });

  test("lets others run while it reads many small cells", async () => {
    const { cells } = treeOf(filesOf(2000, 1, 200));
    await putAll(store, cells);
    const turns = await turnsOf(() => store.getMany(cells.map(({ hash }) => hash)));
    expect(cells.length).toBeGreaterThan(2000);
    expect(turns).toBeGreaterThanOrEqual(Math.floor(cells.length / 128) - 1);
  });

  test("content that is taken as it passes is whole, also for reads at once, and not in the answer", async () => {
    await store.close();
    await start(2 ** 23);
    const { cells } = treeOf(filesOf(1, 1, 2 ** 21));
    const chunks = cells.filter(({ bytes }) => bytes.length > 4096);
    await putAll(store, cells);
    const taken = async (): Promise<void> => {
      const copies: Buffer[] = [];
      const rest = await store.getMany(
        chunks.map(({ hash }) => hash),
        (at, bytes) => {
          copies[at] = Buffer.from(bytes);
        },
      );
      expect(rest.every((bytes) => bytes === undefined)).toBe(true);
      expect(chunks.findIndex(({ bytes }, at) => copies[at]?.equals(bytes) !== true)).toBe(-1);
    };
    await Promise.all([taken(), taken(), taken()]);
  });

  test("a read of many cells that is overtaken by the end of the store says so", async () => {
    const cells = largeCells();
    await putAll(store, cells);
    const reading = store.getMany(cells.map(({ hash }) => hash));
    await store.close();
    await expect(reading).rejects.toMatchObject({ code: "STORE_UNAVAILABLE" });
  });

  test("seals packs that list their cells, with a digest", async () => {
    for (let at = 0; at < 3; at += 1) {
      await putAll(store, treeOf(filesOf(10, at)).cells);
      // Taken up again in the middle of a pack.
      await store.close();
      await start();
    }
    await putAll(store, treeOf(filesOf(10, 4)).cells);
    expect(packs().length).toBeGreaterThan(1);
    const bytes = readFileSync(packOf(0));
    const trailer = parseTrailer(bytes.subarray(-TRAILER_BYTES), bytes.length);
    const entries = parseFooter(bytes.subarray(trailer.footerOffset, -TRAILER_BYTES), trailer);
    expect(bytes.subarray(0, 8).toString("latin1")).toBe("VFPK\x01\0\0\0");
    expect(createHash("sha256").update(bytes.subarray(0, -TRAILER_BYTES)).digest()).toEqual(trailer.digest);
    expect(entries.reduce((sum, { length }) => sum + length, 8)).toBe(trailer.footerOffset);
    for (const { hash, offset, length } of entries) {
      const cell = bytes.subarray(offset, offset + length);
      expect(createHash("sha3-256").update(cell).digest()).toEqual(Buffer.from(hash));
    }
  });

  test("stores content that is there already once", async () => {
    const sizes = (): number => packs().reduce((sum, pack) => sum + statSync(pack).size, 0);
    await putAll(store, treeOf(filesOf(4, 1)).cells);
    const before = sizes();
    await putAll(store, treeOf(filesOf(4, 1)).cells);
    expect(sizes()).toBe(before);
  });

  test("gives the disk space of packs back, and copies what is left in them", async () => {
    const shared = bytesOf(20_000, 5);
    await publish(store, [shared, ...Array.from({ length: 30 }, (_, at) => bytesOf(20_000, 100 + at))]);
    await publish(store, [shared]);
    await putAll(store, treeOf(filesOf(20, 9)).cells);
    const used = (): number => packs().reduce((sum, pack) => sum + statSync(pack).size, 0);
    const before = used();
    clock += 7_200_000;
    const report = await store.collect({ graceMs: 3_600_000 });
    expect(report.packs).toBeGreaterThan(0);
    expect(used()).toBeLessThan(before / 2);
    expect(await missingOf(store, treeOf([shared]).cells)).toBe(0);
    await store.close();
    await start();
    expect(await missingOf(store, treeOf([shared]).cells)).toBe(0);
    expect(readdirSync(path).filter((name) => name.startsWith("gc-"))).toEqual([]);
  });

  test("merges short packs that processes have left behind", async () => {
    const stores = await Promise.all([1, 2, 3].map(() => openEmbeddedStore({ path, now: () => clock, flush: false })));
    const trees = stores.map((_, at) => treeOf(filesOf(2, at)).cells);
    for (const [at, one] of stores.entries()) await putAll(one, trees[at] ?? []);
    await store.close();
    for (const one of stores) await one.close();
    await start(64 * 2 ** 20);
    expect(packs()).toHaveLength(3);
    expect(await store.collect({ graceMs: 3_600_000 })).toMatchObject({ packs: 2, removed: 0 });
    expect(packs()).toHaveLength(1);
    expect(await missingOf(store, trees.flat())).toBe(0);
  });

  test("keeps the tree of a root that was replaced less than the grace period ago", async () => {
    const old = treeOf(filesOf(3, 1)).cells;
    await publish(store, filesOf(3, 1));
    clock += 7_200_000;
    await publish(store, filesOf(3, 2));
    clock += 1000;
    await store.collect({ graceMs: 3_600_000 });
    expect(await missingOf(store, old)).toBe(0);
    clock += 3_600_000;
    await store.collect({ graceMs: 3_600_000 });
    expect(await missingOf(store, old)).toBe(old.length);
  });

  describe("when something is damaged", () => {
    const damaged = { code: "STORE_DAMAGED", message: expect.not.stringContaining("/") };
    const big = treeOf(bytesOf(30_000, 1)).cells;
    const [chunk] = big.filter(({ bytes }) => bytes.length > 4000);
    const hash = chunk?.hash ?? new Uint8Array(32);

    test("refuses a chunk that was changed, and serves the others", async () => {
      await putAll(store, big);
      const bytes = readFileSync(packOf(0));
      const at = bytes.indexOf(chunk?.bytes ?? "");
      bytes.writeUInt8(bytes.readUInt8(at + 1000) ^ 1, at + 1000);
      writeFileSync(packOf(0), bytes);
      await expect(store.getMany([hash])).rejects.toMatchObject(damaged);
      expect(
        await missingOf(
          store,
          big.filter((cell) => cell !== chunk),
        ),
      ).toBe(0);
    });

    test.each(["shorter", "gone"])("refuses what was in a pack that is %s, and opens again", async (how) => {
      const small = treeOf([bytesOf(300, 1)]).cells;
      await putAll(store, [...big, ...small]);
      await store.close();
      if (how === "gone") rmSync(packOf(0));
      else truncateSync(packOf(0), 100);
      await start();
      await expect(store.getMany([hash])).rejects.toMatchObject(damaged);
      expect(await missingOf(store, small)).toBe(0);
      await putAll(store, treeOf(bytesOf(30_000, 2)).cells);
      expect(await missingOf(store, treeOf(bytesOf(30_000, 2)).cells)).toBe(0);
      expect(logged.join()).toContain("damaged");
      expect(logged.join()).not.toContain(path);
    });

    test("refuses a cell that was changed in the table, and collects nothing", async () => {
      const value = [bytesOf(300, 1), bytesOf(300, 2)];
      await publish(store, value);
      const [cell] = treeOf(value).cells.filter(({ bytes }) => bytes.length === 303);
      await store.close();
      const env = open({ path: join(path, "index"), noSubdir: false, overlappingSync: false });
      const table = env.openDB<Buffer, Buffer>({ name: "cells", encoding: "binary", keyEncoding: "binary" });
      const row = table.get(Buffer.from(cell?.hash ?? ""));
      await table.put(
        Buffer.from(cell?.hash ?? ""),
        Buffer.concat([row?.subarray(0, -1) ?? Buffer.alloc(0), Buffer.of(0)]),
      );
      await env.close();
      await start();
      await expect(store.getMany([cell?.hash ?? hash])).rejects.toMatchObject(damaged);
      await putAll(store, big);
      clock += 7_200_000;
      expect(await store.collect({ graceMs: 3_600_000 })).toMatchObject({ missing: 1, removed: 0 });
      expect(await missingOf(store, big)).toBe(0);
    });
  });

  test("does not wait for a long collection when it is closed, which can be started over", async () => {
    await publish(store, filesOf(400, 1, 300));
    await publish(store, filesOf(1, 2));
    clock += 7_200_000;
    const collecting = store.collect({ graceMs: 3_600_000 });
    await store.close();
    await expect(collecting).rejects.toMatchObject({ code: "STORE_UNAVAILABLE" });
    await expect(store.getMany([Buffer.alloc(32)])).rejects.toMatchObject({ code: "STORE_UNAVAILABLE" });
    // That is no failure of the store.
    expect(logged).toEqual([]);
    await start();
    expect(await store.collect({ graceMs: 3_600_000 })).toMatchObject({ missing: 0 });
    expect(await missingOf(store, treeOf(filesOf(1, 2)).cells)).toBe(0);
  });

  test("acknowledges nothing in a pack that could not be flushed, and goes on in another", async () => {
    await store.close();
    store = await openEmbeddedStore({ path, log, flush: true });
    const file = await openFile(join(path, "index", "data.mdb"));
    const flush = jest.spyOn(Object.getPrototypeOf(file), "datasync").mockRejectedValueOnce(new Error("EIO"));
    await file.close();
    try {
      await expect(putAll(store, treeOf(filesOf(2, 1)).cells)).rejects.toMatchObject({ code: "STORE_UNAVAILABLE" });
      await putAll(store, treeOf(filesOf(2, 2)).cells);
      expect(flush).toHaveBeenCalledTimes(2);
      expect(packs()).toHaveLength(2);
      expect(await missingOf(store, treeOf(filesOf(2, 2)).cells)).toBe(0);
    } finally {
      flush.mockRestore();
    }
  });

  test("refuses a store of a newer version", async () => {
    await store.close();
    const env = open({ path: join(path, "index"), noSubdir: false, overlappingSync: false });
    const meta = env.openDB<Buffer, Buffer>({ name: "meta", encoding: "binary", keyEncoding: "binary" });
    await meta.put(Buffer.from("format"), Buffer.from("3"));
    await env.close();
    await expect(start()).rejects.toMatchObject({
      code: "STORE_UNAVAILABLE",
      message: expect.stringContaining("newer"),
    });
  });

  test("says that it cannot be opened without saying where it is", async () => {
    const file = join(path, "file");
    writeFileSync(file, "");
    const failure = openEmbeddedStore({ path: join(file, "store"), log });
    await expect(failure).rejects.toMatchObject({ code: "STORE_UNAVAILABLE" });
    await expect(failure).rejects.not.toMatchObject({ message: expect.stringContaining(path) });
  });

  test("may be open twice in one process", async () => {
    const other = await openEmbeddedStore({ path, flush: false, now: () => clock });
    const record = await publish(store, filesOf(3, 1));
    expect(await other.root(OWNER)).toEqual(record);
    await publish(other, filesOf(3, 2));
    expect(await missingOf(store, treeOf(filesOf(3, 2)).cells)).toBe(0);
    expect(await missingOf(other, treeOf(filesOf(3, 1)).cells)).toBe(0);
    await other.close();
    expect(await missingOf(store, treeOf(filesOf(3, 2)).cells)).toBe(0);
  });
});

test.each([
  [0x6969, true],
  [-11317950, true],
  [0xef53, false],
  [0x01021994, false],
])("a folder on a file system of type %d is refused: %s", (type, isRefused) => {
  const act = (): void => refuseNetwork("/", () => type);
  if (isRefused) expect(act).toThrow(expect.objectContaining({ code: "STORE_UNAVAILABLE" }));
  else expect(act).not.toThrow();
});

test("a process knows itself, and others that have ended", () => {
  const [boot, space, pid, begun] = ownToken().split(" ");
  expect(mayRun(ownToken())).toBe(true);
  expect(mayRun("")).toBe(false);
  expect(mayRun(`other ${space} ${pid} ${begun}`)).toBe(false);
  expect(mayRun(`${boot} ${space} ${pid} 1`)).toBe(false);
  expect(mayRun(`${boot} ${space} 4999999 ${begun}`)).toBe(false);
  expect(mayRun(`${boot} other ${pid} ${begun}`)).toBe(true);
});

test("a pack whose writer runs is not taken over, even where it was free a moment before", async () => {
  const path = mkdtempSync(join(tmpdir(), "vf-store-"));
  const tables = openTables(makePacks(path), false);
  try {
    const [boot, , pid, begun] = ownToken().split(" ");
    const writer = `${boot} other ${pid} ${begun}`;
    const packs = new PackWriter({ folder: path, tables, flush: false });
    for (const number of [1, 2]) {
      writeFileSync(packFile(path, number), PACK_HEADER);
      const owner = number === 1 ? writer : "";
      tables.packs.putSync(packKey(number), packRow({ isSealed: false, length: PACK_HEADER.length, writer: owner }));
      await packs.adopt(number);
    }
    const writers = [1, 2].map((number) => packState(tables.packs.get(packKey(number)) ?? Buffer.alloc(7)).writer);
    expect(writers).toEqual([writer, ownToken()]);
    await packs.close();
  } finally {
    await tables.env.close();
    rmSync(path, { recursive: true });
  }
});

function makePacks(folder: string): string {
  mkdirSync(join(folder, "packs"));
  return folder;
}
