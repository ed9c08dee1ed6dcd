import { mkdtempSync, realpathSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { newEntryId } from "../../src/core/entry-id.js";
import { type PruneRules, Pruner } from "../../src/journal/prune.js";
import { type JournalStore, openStore, type StoreUser } from "../../src/journal/store.js";

const DAY_MS = 86_400_000;
const ENTRIES = 2_000;
const IMAGE = Buffer.alloc(100, "x");
const ROOM: PruneRules = { bytes: 1e9, entries: 1e6, days: 30 };
const faults: unknown[] = [];
const user: StoreUser = { onFault: (error) => void faults.push(error), onWritten: () => {} };

let nowMs = Date.now();
let home = "";
let store: JournalStore;
/** Ids of rows on kept content that were read. */
const read: string[] = [];

function add(apart = false): string {
  const origin = { root: "r", scheme: "file", op: "write", actor: "operator", via: "p", surface: "library" } as const;
  const change = { action: "modified", kind: "file", path: ["f"], before: null, after: null } as const;
  const id = newEntryId(nowMs);
  store.add({ ...origin, ...change, time: nowMs, id, isKept: true }, { in: "value", bytes: IMAGE }, apart);
  return id;
}

/** Lets a pruner look once. @returns how many rows on kept content it has read */
async function look(rules: PruneRules): Promise<number> {
  read.length = 0;
  const readKept = (id: string) => {
    read.push(id);
    return store.kept(id);
  };
  const counted = new Proxy(store, {
    get(target, name) {
      if (name === "kept") return readKept;
      const value = Reflect.get(target, name, target) as unknown;
      return typeof value === "function" ? (value.bind(target) as unknown) : value;
    },
  });
  const bin = { list: async () => [], remove: async () => {} } as never;
  const names = { trashName: (id: string) => id, trashPrefix: "" };
  let pruner: Pruner | undefined;
  await new Promise<void>((resolve, reject) => {
    const inBackground = (work: Promise<unknown>): void => void work.then(() => resolve(), reject);
    const options = { store: counted, bin, rules, isBinding: false, ...names, nowMs: () => nowMs, inBackground };
    pruner = new Pruner(options);
    pruner.wake();
  });
  await pruner?.close();
  return read.length;
}

beforeAll(() => {
  home = realpathSync(mkdtempSync(join(tmpdir(), "venue-files-journal-prune-")));
  store = openStore(home, user);
  for (let index = 0; index < ENTRIES; index++) add();
  store.flush();
});
afterAll(async () => {
  await store.leave(user);
  rmSync(home, { recursive: true, force: true });
  expect(faults).toEqual([]);
});

test("a look reads what it gives up, not all that is kept", async () => {
  expect(await look(ROOM)).toBeLessThan(5);
  expect(store.totals).toEqual({ entries: ENTRIES, bytes: ENTRIES * IMAGE.length });
  const excess = 70;
  const bytes = (ENTRIES - excess) * IMAGE.length;
  expect(await look({ ...ROOM, bytes })).toBeLessThan(3 * excess);
  expect(store.totals).toEqual({ entries: ENTRIES, bytes });
  const [oldest] = store.oldest();
  expect(oldest && store.kept(oldest)).toBeUndefined();
});

test("of what is kept apart only the newest stays, for a day; what was kept before it stays", async () => {
  const kept = [...store.oldestKept()].length;
  const [old, newest] = [add(true), add(true)];
  store.flush();
  await look(ROOM);
  expect([store.hasKept(old), store.hasKept(newest)]).toEqual([false, true]);
  nowMs += DAY_MS + 1;
  await look(ROOM);
  expect(store.hasKept(newest)).toBe(false);
  expect([...store.ids(undefined, { by: "k", text: "" })]).toEqual([]);
  expect([...store.oldestKept()]).toHaveLength(kept);
});

test("entries that are too old or too many go, the oldest first", async () => {
  nowMs += 5 * DAY_MS;
  const young = add();
  store.flush();
  nowMs += 26 * DAY_MS;
  await look(ROOM);
  expect([...store.oldest()]).toEqual([young]);
  expect([...store.oldestKept()]).toEqual([young]);
  expect(store.totals).toEqual({ entries: 1, bytes: IMAGE.length });
  const more = Array.from({ length: 150 }, () => add());
  store.flush();
  await look({ ...ROOM, entries: 100 });
  expect([...store.oldest()]).toEqual(more.slice(-100));
});
