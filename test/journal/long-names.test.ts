// Names that are longer than a key of the index may be.

import { mkdtempSync, realpathSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "@jest/globals";
import { newEntryId } from "../../src/core/entry-id.js";
import { queryStore } from "../../src/journal/query.js";
import { type JournalStore, openStore, type StoreUser } from "../../src/journal/store.js";

const faults: unknown[] = [];
const user: StoreUser = { onFault: (error) => void faults.push(error), onWritten: () => {} };
let home = "";
let store: JournalStore;

function add(path: readonly string[], origin: { readonly actor?: string; readonly via?: string } = {}): string {
  const time = Date.now();
  const by = { root: "r", scheme: "file", op: "write", actor: "operator", via: "p", surface: "library" } as const;
  const change = { action: "created", kind: "file", path, before: null, after: null } as const;
  const id = newEntryId(time);
  store.add({ ...by, ...origin, ...change, time, id }, undefined, false);
  return id;
}

const idsAt = async (path: readonly string[]): Promise<string[]> =>
  (await queryStore(store, { path, limit: 100, sees: () => true })).entries.map(({ id }) => id);

beforeEach(() => {
  home = realpathSync(mkdtempSync(join(tmpdir(), "venue-files-journal-names-")));
  store = openStore(home, user);
});
afterEach(async () => {
  await store.leave(user);
  rmSync(home, { recursive: true, force: true });
  expect(faults.splice(0)).toEqual([]);
});

const ALPHABETS = [
  ["one byte", "n"],
  ["two bytes", "é"],
  ["three bytes", "木"],
  ["four bytes", "🌲"],
] as const;

test.each(ALPHABETS)(
  "entries of paths of up to 4,096 bytes are written and found, with letters of %s",
  async (_, letter) => {
    const name = letter.repeat(Math.floor(250 / Buffer.byteLength(letter)));
    const whole = Array.from({ length: 16 }, (_each, at) => `${name}${at}`);
    const ids = whole.map((_each, at) => add(whole.slice(0, at + 1)));
    const other = add([...whole.slice(0, 15), "other"]);
    store.flush();
    expect(store.totals.entries).toBe(17);
    for (const at of whole.keys()) {
      const below = at < 15 ? [other] : [];
      expect(await idsAt(whole.slice(0, at + 1))).toEqual([...below, ...ids.slice(at).reverse()]);
    }
    store.remove([...ids, other], true);
    expect([store.totals.entries, await idsAt(whole.slice(0, 1))]).toEqual([0, []]);
  },
);

test("what is below a path is found whatever its length", async () => {
  for (let length = 1_490; length <= 1_510; length++) {
    const path = ["n".repeat(length)];
    const ids = [add(path), add([...path, "a"]), add([...path, "b", "c"])];
    add([`${path[0]}-`]);
    store.flush();
    expect(await idsAt(path)).toEqual(ids.reverse());
    store.remove([...store.ids(undefined)], true);
  }
});

test("a caller with a very long name has its entries", async () => {
  const actor = `did:web:${"木".repeat(800)}`;
  const id = add(["a"], { actor, via: actor });
  store.flush();
  const page = await queryStore(store, { actor, limit: 1, sees: () => true });
  expect(page.entries.map((entry) => entry.id)).toEqual([id]);
});
