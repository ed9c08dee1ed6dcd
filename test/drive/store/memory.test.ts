import { expect, test } from "@jest/globals";
import { createMemoryStore } from "../../../src/drive/store/memory.js";
import { bytesOf, treeOf } from "./cells.js";
import { storeSuite } from "./suite.js";

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
  expect(await store.get(cells[2]?.hash ?? OWNER_HASH)).toBeDefined();
});

const OWNER_HASH = new Uint8Array(32);
const EMPTY = new Uint8Array(0);
