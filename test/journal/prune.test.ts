import { mkdtempSync, realpathSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "@jest/globals";
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
/** Names removed from the trash. */
const removed: string[] = [];

function add(apart = false, actor = "operator", bytes = IMAGE): string {
  const origin = { root: "r", scheme: "file", op: "write", actor, via: "p", surface: "library" } as const;
  const change = { action: "modified", kind: "file", path: ["f"], before: null, after: null } as const;
  const id = newEntryId(nowMs);
  store.add({ ...origin, ...change, time: nowMs, id, isKept: true }, { in: "value", bytes }, apart);
  return id;
}

/** Lets a pruner look once. @returns how many rows on kept content it has read */
async function look(rules: PruneRules, inTrash: readonly { name: string; changed: number }[] = []): Promise<number> {
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
  const bin = { list: async () => inTrash, remove: async (names: string[]) => void removed.push(...names) } as never;
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
  const [oldest] = store.oldest("entries");
  expect(oldest && store.kept(oldest)).toBeUndefined();
});

test("of what is kept apart only the newest stays, for a day; what was kept before it stays", async () => {
  const kept = [...store.oldest("kept")].length;
  const [old, newest] = [add(true), add(true)];
  store.flush();
  await look(ROOM);
  expect([store.hasKept(old), store.hasKept(newest)]).toEqual([false, true]);
  nowMs += DAY_MS + 1;
  await look(ROOM);
  expect(store.hasKept(newest)).toBe(false);
  expect([...store.ids(undefined, { by: "k", text: "" })]).toEqual([]);
  expect([...store.oldest("kept")]).toHaveLength(kept);
});

test("entries that are too old or too many go, the oldest first", async () => {
  nowMs += 5 * DAY_MS;
  const young = add();
  store.flush();
  nowMs += 25 * DAY_MS;
  await look(ROOM);
  nowMs += DAY_MS;
  await look(ROOM);
  expect([...store.oldest("entries")]).toEqual([young]);
  expect([...store.oldest("kept")]).toEqual([young]);
  expect(store.totals).toEqual({ entries: 1, bytes: IMAGE.length });
  const more = Array.from({ length: 150 }, () => add());
  store.flush();
  await look({ ...ROOM, entries: 100 });
  expect([...store.oldest("entries")]).toEqual(more.slice(-100));
});

describe("what several actors keep", () => {
  /** Bytes and entries of each actor. */
  const sharesNow = () =>
    Object.fromEntries([...store.shares].map(([actor, { bytes, entries }]) => [actor, [bytes, entries]]));
  const keptOf = (ids: readonly string[]): number => ids.filter((id) => store.hasKept(id)).length;
  beforeEach(() => {
    store.remove([...store.oldest("entries")], true);
    expect([store.totals, sharesNow()]).toEqual([{ entries: 0, bytes: 0 }, {}]);
  });
  const addAll = (count: number, actor: string, bytes?: typeof IMAGE): string[] =>
    Array.from({ length: count }, () => add(false, actor, bytes));

  test("goes first where most is kept, the oldest first, whoever came first", async () => {
    const quiet = addAll(10, "did:key:quiet");
    const loud = addAll(50, "did:key:loud");
    const late = addAll(20, "operator \u4e16\u754c");
    store.flush();
    await look({ ...ROOM, bytes: 55 * IMAGE.length });
    expect([keptOf(quiet), keptOf(loud), keptOf(late)]).toEqual([10, 25, 20]);
    expect(loud.map((id) => store.hasKept(id)).indexOf(true)).toBe(25);
    // Then those that keep most are two: they end with as much as each other.
    await look({ ...ROOM, bytes: 30 * IMAGE.length });
    expect([keptOf(quiet), keptOf(loud), keptOf(late)]).toEqual([10, 10, 10]);
    await look({ ...ROOM, bytes: 6 * IMAGE.length });
    expect([keptOf(quiet), keptOf(loud), keptOf(late)]).toEqual([2, 2, 2]);
    expect(store.totals.bytes).toBe(6 * IMAGE.length);
  });

  test("is counted by its size", async () => {
    const small = addAll(40, "small");
    const large = addAll(4, "large", Buffer.alloc(20 * IMAGE.length, "y"));
    store.flush();
    await look({ ...ROOM, bytes: 100 * IMAGE.length });
    expect([keptOf(small), keptOf(large)]).toEqual([40, 3]);
    expect(sharesNow()).toEqual({ small: [4_000, 40], large: [6_000, 4] });
  });

  test("entries: many of one leave those of another", async () => {
    const quiet = addAll(5, "quiet");
    const loud = addAll(300, "loud");
    store.flush();
    await look({ ...ROOM, entries: 100 });
    expect([...store.oldest("entries")]).toEqual([...quiet, ...loud.slice(-95)].sort());
    expect(sharesNow()).toEqual({ quiet: [500, 5], loud: [9_500, 95] });
  });

  test("what is too old goes all the same, and what is kept apart counts for nobody", async () => {
    const old = addAll(3, "quiet");
    store.flush();
    nowMs += 31 * DAY_MS;
    await look(ROOM);
    nowMs += DAY_MS;
    const apart = add(true, "quiet");
    const young = addAll(3, "loud");
    store.flush();
    await look({ ...ROOM, bytes: 2 * IMAGE.length });
    expect([keptOf(old), keptOf([apart]), keptOf(young)]).toEqual([0, 1, 2]);
  });
});

describe("a clock that is ahead for once", () => {
  const all = () => [...store.oldest("entries")];
  let first: JournalStore;
  // Ids of one process never go back in time, so each test begins after the one before.
  let furthest = 0;
  beforeEach(() => {
    first = store;
    nowMs = Math.max(nowMs, furthest) + 1;
    store = openStore(mkdtempSync(join(home, "clock-")), user);
    removed.length = 0;
  });
  afterEach(async () => {
    await store.leave(user);
    store = first;
  });
  /** A session of a process: it opens the journal, adds an entry, and looks. */
  async function use(trash: readonly { name: string; changed: number }[] = []): Promise<void> {
    await look(ROOM);
    add();
    store.flush();
    furthest = Math.max(furthest, nowMs);
    await look(ROOM, trash);
  }

  test.each([40, 400])("takes nothing, however often the journal is used that day: %i days", async (days) => {
    await use();
    const [before, start] = [all(), nowMs];
    const trash = [{ name: "unknown", changed: nowMs - DAY_MS }];
    nowMs += days * DAY_MS;
    for (let session = 0; session < 3; session++) {
      await use(trash);
      nowMs += 3_600_001;
    }
    expect(all().slice(0, before.length)).toEqual(before);
    // Set right again.
    nowMs = start + 3_600_001;
    await use(trash);
    expect(all().slice(0, before.length)).toEqual(before);
    expect([...store.oldest("kept")]).toEqual(expect.arrayContaining(before));
    expect(removed).toEqual([]);
  });

  test("a second look on another day decides, also where nothing was changed meanwhile", async () => {
    await use();
    const before = all();
    nowMs += 40 * DAY_MS;
    await use();
    expect(all().slice(0, before.length)).toEqual(before);
    nowMs += DAY_MS - 3_600_000;
    await look(ROOM);
    expect(all().slice(0, before.length)).toEqual(before);
    nowMs += 3_600_001;
    await look(ROOM);
    expect(all().some((id) => before.includes(id))).toBe(false);
    expect(all()).toHaveLength(1);
  });

  test("what does not fit goes all the same", async () => {
    await use();
    const before = all();
    nowMs += 400 * DAY_MS;
    await use();
    await look({ ...ROOM, entries: 1 });
    expect(all()).toHaveLength(1);
    expect(before).not.toEqual(expect.arrayContaining(all()));
  });
});
