import { afterEach, beforeEach, describe, expect, test } from "@jest/globals";
import { encode } from "../../../src/drive/cad3/encoding/cell.js";
import type { CellStore, CollectOptions, CollectReport, RootRecord } from "../../../src/drive/store/cell-store.js";
import { LOG_MARK } from "../../../src/drive/store/mark.js";
import { bytesOf, filesOf, listOf, missingOf, OWNER, publish, putAll, type TestCell, treeOf } from "./cells.js";

export interface StoreUnderTest {
  readonly store: CellStore;
  /** How many collections, each a grace period after the other, it takes to remove something; one unless told. */
  readonly passes?: number;
  /** The same data seen by another store, as after a restart; `undefined` where data ends with the store. */
  reopen?(): Promise<CellStore>;
  dispose(): Promise<void>;
}

const HOUR = 3_600_000;
const OTHER = "cd".repeat(32);

/** What every store has to do. @param open makes an empty store whose time is told by `now` */
export function storeSuite(name: string, open: (now: () => number) => Promise<StoreUnderTest>): void {
  describe(`a ${name} store`, () => {
    let clock = 0;
    let under: StoreUnderTest;
    let store: CellStore;
    const reopened = async (): Promise<CellStore> => {
      store = (await under.reopen?.()) ?? store;
      // Whoever reads starts from roots.
      await store.root(OWNER);
      return store;
    };
    const collect = async (options: CollectOptions): Promise<CollectReport> => {
      let report = await store.collect(options);
      for (let pass = 1; pass < (under.passes ?? 1); pass += 1) {
        clock += options.graceMs + 1;
        report = await store.collect(options);
      }
      return report;
    };

    beforeEach(async () => {
      // Servers of others tell the time themselves.
      clock = Date.now();
      under = await open(() => clock);
      store = under.store;
    });
    afterEach(() => under.dispose());

    describe("keeps cells", () => {
      test("of every size, in the order asked for", async () => {
        const sizes = [141, 2047, 2048, 2049, 4095, 4096, 5000, 70_000];
        const value = sizes.map((size) => bytesOf(size, size));
        const { cells } = treeOf(value);
        await publish(store, value);
        expect(await missingOf(store, cells)).toBe(0);
        expect(await missingOf(store, [...cells].reverse())).toBe(0);
        expect(await missingOf(await reopened(), cells)).toBe(0);
      });

      test("and tells of one it has not", async () => {
        const [cell] = treeOf(filesOf(1, 1)).cells;
        await putAll(store, cell === undefined ? [] : [cell]);
        const absent = new Uint8Array(32).fill(1);
        const found = await store.getMany([absent, cell?.hash ?? absent, absent]);
        expect(found.map((bytes) => bytes?.length)).toEqual([undefined, cell?.bytes.length, undefined]);
      });

      test("though the caller uses its buffers again", async () => {
        const { cells } = treeOf(filesOf(4, 2));
        const batch = store.batch();
        for (const { hash, bytes } of cells) {
          const [ownHash, ownBytes] = [Uint8Array.from(hash), Uint8Array.from(bytes)];
          const waiting = batch.put(ownHash, ownBytes);
          await waiting;
          ownHash.fill(0);
          ownBytes.fill(0);
        }
        await batch.flush();
        expect(await missingOf(store, cells)).toBe(0);
      });

      test("put twice, in one batch and in two", async () => {
        const { cells } = treeOf(filesOf(3, 3));
        await putAll(store, [...cells, ...cells]);
        await putAll(store, cells);
        expect(await missingOf(store, cells)).toBe(0);
      });

      test("more of them than a piece in memory holds", async () => {
        const { cells } = treeOf(filesOf(60, 4, 100_000));
        await publish(store, filesOf(60, 4, 100_000));
        expect(await missingOf(await reopened(), cells)).toBe(0);
      });

      test("of batches that run at once", async () => {
        const trees = Array.from({ length: 8 }, (_, at) => treeOf(filesOf(5, 10 + at, 20_000)));
        await Promise.all(trees.map(({ cells }) => putAll(store, cells)));
        for (const { cells } of trees) expect(await missingOf(store, cells)).toBe(0);
      });

      test.each([
        ["a hash of another length", new Uint8Array(31), new Uint8Array(200)],
        ["no bytes", new Uint8Array(32), new Uint8Array(0)],
        ["more bytes than a cell has", new Uint8Array(32), new Uint8Array(16_384)],
      ])("but refuses %s", (_, hash, bytes) => {
        expect(() => store.batch().put(hash, bytes)).toThrow(RangeError);
      });
    });

    describe("swaps roots", () => {
      test("from nothing to one to another, each with a version of its own", async () => {
        expect(await store.root(OWNER)).toBeUndefined();
        const first = await publish(store, filesOf(1, 1));
        const second = await publish(store, filesOf(1, 2));
        expect(second.version).not.toBe(first.version);
        expect(await (await reopened()).root(OWNER)).toEqual(second);
      });

      test("only when the one that is there was expected", async () => {
        const bytes = treeOf(filesOf(1, 1)).root;
        const other = treeOf(filesOf(1, 2)).root;
        const first = await store.batch().commit(OWNER, null, bytes);
        if (first === "conflict") throw new Error("No conflict was expected");
        expect(await store.batch().commit(OWNER, null, other)).toBe("conflict");
        const second = await store.batch().commit(OWNER, first, other);
        expect(await store.batch().commit(OWNER, first, bytes)).toBe("conflict");
        expect(await store.root(OWNER)).toEqual(second);
      });

      test("so that of several at once one wins", async () => {
        const roots = Array.from({ length: 6 }, (_, at) => treeOf(filesOf(1, at)).root);
        const results = await Promise.all(roots.map((root) => store.batch().commit(OWNER, null, root)));
        const won = results.filter((result): result is RootRecord => result !== "conflict");
        expect(won).toHaveLength(1);
        expect([await store.root(OWNER)]).toEqual(won);
      });

      test("and keeps the cells of a commit that lost", async () => {
        await publish(store, filesOf(1, 1));
        const { root, cells } = treeOf(filesOf(3, 2));
        const batch = store.batch();
        for (const { hash, bytes } of cells) await batch.put(hash, bytes);
        expect(await batch.commit(OWNER, null, root)).toBe("conflict");
        await batch.flush();
        expect(await missingOf(store, cells)).toBe(0);
        const present = (await store.root(OWNER)) ?? null;
        expect(await batch.commit(OWNER, present, root)).toMatchObject({ bytes: expect.anything() });
      });

      test("of each owner apart, and lists the owners", async () => {
        const one = await publish(store, filesOf(1, 1));
        const other = await publish(store, filesOf(1, 2), OTHER);
        expect(await store.root(OWNER)).toEqual(one);
        expect(await store.root(OTHER)).toEqual(other);
        expect((await listOf(store.owners())).sort()).toEqual([OWNER, OTHER]);
      });

      test.each(["", "AB".repeat(32), "../x", `${OWNER}0`])("but refuses %j for an owner", async (owner) => {
        await expect(store.root(owner)).rejects.toThrow(RangeError);
        await expect(store.batch().commit(owner, null, new Uint8Array(9))).rejects.toThrow(RangeError);
      });
    });

    describe("collects", () => {
      const old = { graceMs: HOUR };
      let gone: TestCell[];
      let kept: TestCell[];
      beforeEach(async () => {
        gone = treeOf(filesOf(20, 1)).cells;
        kept = treeOf(filesOf(20, 2)).cells;
        await publish(store, filesOf(20, 1));
      });

      test("what no root needs any more, and nothing else", async () => {
        await publish(store, filesOf(20, 2));
        clock += 2 * HOUR;
        const report = await collect(old);
        expect(report).toMatchObject({ live: kept.length, removed: gone.length, missing: 0 });
        expect(report.removedBytes).toBe(gone.reduce((sum, { bytes }) => sum + bytes.length, 0));
        expect(await missingOf(store, gone)).toBe(gone.length);
        expect(await missingOf(await reopened(), kept)).toBe(0);
      });

      test("nothing when dry, though it counts", async () => {
        await publish(store, filesOf(20, 2));
        clock += 2 * HOUR;
        expect(await store.collect({ ...old, dryRun: true })).toMatchObject({ removed: gone.length });
        expect(await missingOf(store, gone)).toBe(0);
      });

      test("nothing within the grace period", async () => {
        await publish(store, filesOf(20, 2));
        clock += HOUR / 2;
        expect(await store.collect(old)).toMatchObject({ removed: 0 });
        expect(await missingOf(store, gone)).toBe(0);
      });

      test("nothing that is pinned, until it is released", async () => {
        const pin = await store.pin(OWNER);
        expect(pin.root).toEqual(await store.root(OWNER));
        await publish(store, filesOf(20, 2));
        clock += 2 * HOUR;
        await collect(old);
        expect(await missingOf(store, gone)).toBe(0);
        pin.release();
        pin.release();
        await collect(old);
        expect(await missingOf(store, gone)).toBe(gone.length);
      });

      test("nothing that a batch which still runs has put again", async () => {
        await publish(store, filesOf(20, 2));
        clock += 2 * HOUR;
        const batch = store.batch();
        const { root, cells } = treeOf(filesOf(20, 1));
        for (const { hash, bytes } of cells) await batch.put(hash, bytes);
        clock += 1;
        await store.collect({ graceMs: 0 });
        const present = (await store.root(OWNER)) ?? null;
        await batch.commit(OWNER, present, root);
        expect(await missingOf(store, gone)).toBe(0);
      });

      test("nothing that a root shares with one that is gone", async () => {
        const shared = bytesOf(50_000, 77);
        await publish(store, [shared, bytesOf(9000, 1)]);
        await publish(store, [shared, bytesOf(9000, 2)]);
        clock += 2 * HOUR;
        expect(await collect(old)).toMatchObject({ missing: 0 });
        expect(await missingOf(store, treeOf([shared, bytesOf(9000, 2)]).cells)).toBe(0);
      });

      test("nothing at all while a cell that a root needs is missing", async () => {
        const { root } = treeOf(filesOf(20, 2));
        const present = (await store.root(OWNER)) ?? null;
        await store.batch().commit(OWNER, present, root);
        clock += 2 * HOUR;
        const report = await collect(old);
        expect(report.removed).toBe(0);
        expect(report.missing).toBeGreaterThan(0);
        expect(await missingOf(store, gone)).toBe(0);
      });

      test("nor while it is missing in the log of another owner, too", async () => {
        const lost = bytesOf(9000, 3);
        const { root, cells } = treeOf(filesOf(20, 2));
        const batch = store.batch();
        for (const { hash, bytes } of cells) await batch.put(hash, bytes);
        await batch.commit(OWNER, (await store.root(OWNER)) ?? null, root, { log: encode([LOG_MARK, "{}", lost]) });
        await store.batch().commit(OTHER, null, treeOf([lost]).root);
        clock += 2 * HOUR;
        const report = await collect(old);
        expect(report.missing).toBeGreaterThan(0);
        expect(report.removed).toBe(0);
      });

      test("while others write", async () => {
        const trees = Array.from({ length: 12 }, (_, at) => filesOf(10, 50 + at, 12_000));
        let isWriting = true;
        const collecting = (async () => {
          while (isWriting) await store.collect({ graceMs: 0 });
        })();
        for (const tree of trees) {
          clock += 10;
          await publish(store, tree);
          expect(await missingOf(store, treeOf(tree).cells)).toBe(0);
        }
        isWriting = false;
        await collecting;
        expect(await missingOf(store, treeOf(trees.at(-1) ?? null).cells)).toBe(0);
      });
    });

    describe("keeps sealed keys", () => {
      const record = (digit: string, text: string) => ({ publicKey: digit.repeat(64), bytes: Buffer.from(text) });

      test("of each user, by public key, the last of each", async () => {
        await store.keys.put("did:key:zA", record("b", "second"));
        await store.keys.put("did:key:zA", record("a", "old"));
        await store.keys.put("did:key:zA", record("a", "first"));
        await store.keys.put("did:web:b", record("a", "other"), { onlyFirst: true });
        await store.keys.put("did:web:b", record("c", "too late"), { onlyFirst: true });
        const again = await reopened();
        const texts = async (did: string) =>
          (await again.keys.list(did)).map(({ publicKey, bytes }) => [publicKey[0], Buffer.from(bytes).toString()]);
        expect(await texts("did:key:zA")).toEqual([
          ["a", "first"],
          ["b", "second"],
        ]);
        expect(await texts("did:web:b")).toEqual([["a", "other"]]);
        expect(await texts("did:web:nobody")).toEqual([]);
        expect((await listOf(again.keys.dids())).sort()).toEqual(["did:key:zA", "did:web:b"]);
      });

      test("but refuses what is no public key", async () => {
        await expect(store.keys.put("did:web:b", record("x", "bad"))).rejects.toThrow(RangeError);
      });
    });

    test("says when it is closed", async () => {
      await store.close();
      await expect(store.getMany([new Uint8Array(32)])).rejects.toMatchObject({ code: "STORE_UNAVAILABLE" });
      await expect(store.root(OWNER)).rejects.toMatchObject({ code: "STORE_UNAVAILABLE" });
      await store.close();
    });
  });
}
