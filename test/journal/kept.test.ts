import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "@jest/globals";
import { assembleAdapter, type HostedFileAdapter } from "../../src/adapter/adapter.js";
import { parseFileConfig } from "../../src/config/load.js";
import type { RootConfigInput } from "../../src/config/types.js";
import { newEntryId } from "../../src/core/entry-id.js";
import { FileAdapterError } from "../../src/core/errors/errors.js";
import type { TrashFolder, TrashItem } from "../../src/core/ports/changes/journal-writer.js";
import { silentLog } from "../../src/core/ports/log.js";
import { RootJournal } from "../../src/journal/journal.js";
import { type PruneRules, Pruner } from "../../src/journal/prune.js";
import { type JournalStore, openStore, type StoreUser } from "../../src/journal/store.js";
import { useGround } from "../ops/ground.js";
import { until } from "../until.js";

const DAY_MS = 86_400_000;

describe("what is pruned", () => {
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
});

describe("shares of the kept content", () => {
  const ground = useGround({
    journal: true,
    root: { journal: "on", journalQuota: { bytes: 1_000_000, entries: 1_000, days: 30 } },
    publicCaps: [{ with: "file://r/", can: "crud" }],
  });
  const somebody = { callerDID: "did:key:z6MkSomebody" };

  // Small ones are kept in the journal, large ones in the trash.
  test.each([
    ["small", 60_000],
    ["large", 200_000],
  ])("a caller who writes much pushes out what it keeps itself: %s files", async (name, size) => {
    const [theirs, loud] = [`${name} of somebody`, `${name} of the operator`];
    for (const content of ["x".repeat(size), "new"]) await ground.run("write", { path: theirs, content }, somebody);
    await ground.run("delete", { path: theirs }, somebody);
    for (let round = 0; round < 30; round++) {
      await ground.run("write", { path: loud, content: `${round}`.padEnd(size, "x") });
    }
    const isFirstKept = async (): Promise<boolean | undefined> => {
      const { entries } = await ground.run("history", { path: loud, limit: 100 });
      return entries.findLast(({ before }) => before !== null)?.undoable;
    };
    await until(async () => (await isFirstKept()) === false);
    await ground.run("undo", { last: 2 }, somebody);
    expect(ground.get(theirs)).toHaveLength(size);
  });
});

describe("a large trash", () => {
  const LONG_AGO = 1;

  let home = "";
  const faults: unknown[] = [];
  beforeEach(() => {
    home = realpathSync(mkdtempSync(join(tmpdir(), "venue-files-large-trash-")));
  });
  afterEach(() => {
    rmSync(home, { recursive: true, force: true });
    expect(faults).toEqual([]);
  });

  /** A trash whose items are all old. It tells which of them are looked at, and which removed. */
  function trashOf(names: readonly string[]) {
    const looked: string[][] = [];
    let tell: (names: readonly string[]) => void = () => {};
    const removed = new Promise<readonly string[]>((resolve) => {
      tell = resolve;
    });
    const bin: Partial<TrashFolder> = {
      list(prefix, isWanted = () => true) {
        const found = names.filter((name) => name.startsWith(prefix) && isWanted(name));
        looked.push(found);
        return found.map((name): TrashItem => ({ name, kind: "file", size: 1, changed: LONG_AGO }));
      },
      remove: (gone) => tell(gone),
    };
    return { bin: { folder: ["trash"], ...bin } as TrashFolder, looked, removed };
  }

  const open = (bin: TrashFolder): RootJournal =>
    new RootJournal({
      ...{ root: "r", folder: home, mode: "on", trash: "auto", bin, isMoved: false },
      quota: { bytes: 1000, entries: 1000, days: 30 },
      onFault: (error) => void faults.push(error),
      inBackground: (work) => void work.catch((error: unknown) => faults.push(error)),
    });

  test("a start looks at nothing in the trash but what no entry knows", async () => {
    const first = open(trashOf([]).bin);
    const time = Date.now() - DAY_MS;
    const ids = Array.from({ length: 5 }, () => first.newId());
    const origin = {
      root: "r",
      scheme: "file",
      op: "delete",
      actor: "operator",
      via: "p",
      surface: "library",
    } as const;
    const state = { size: 1, modified: time };
    for (const id of ids) {
      const change = { action: "deleted", kind: "file", path: [id], before: state, after: null } as const;
      first.add({ ...origin, ...change, id, time }, { in: "trash", size: 1 });
    }
    const [known, unknown] = [ids.map((id) => first.trashName(id)), first.trashName("left")];
    await first.close();
    const { bin, looked, removed } = trashOf([...known, unknown]);
    const second = open(bin);
    expect(await removed).toEqual([unknown]);
    expect(looked).toEqual([[unknown]]);
    await second.close();
  });
});

// What is said where a root keeps nothing: by its configuration, or though it should.
describe("content that is not kept", () => {
  let home = "";
  const opened: HostedFileAdapter[] = [];

  async function open(roots: Record<string, RootConfigInput>, state: "works" | "fails" | "none" = "works") {
    for (const root of Object.values(roots)) if ("path" in root) mkdirSync(root.path, { recursive: true });
    const stateOf = (): string => {
      if (state === "fails") throw new Error("/host/path cannot be used");
      mkdirSync(join(home, "state"), { recursive: true });
      return join(home, "state");
    };
    const journals = { openState: stateOf, lookAtState: stateOf, byDefault: true, log: silentLog };
    const config = parseFileConfig({ roots }, { baseDir: home });
    const adapter = await assembleAdapter(config, {
      ...(state === "none" ? {} : { journals }),
      discloseHostPaths: false,
    });
    opened.push(adapter);
    const run = (op: string, input: object): Promise<Record<string, unknown>> =>
      adapter.invoke(`file:${op}`, input) as Promise<Record<string, unknown>>;
    return { adapter, run };
  }

  const failureOf = (call: Promise<unknown>): Promise<unknown> =>
    call.then(
      () => "done",
      (error: unknown) => (error instanceof FileAdapterError ? [error.code, error.message] : error),
    );

  beforeAll(() => {
    home = mkdtempSync(join(tmpdir(), "vf-unkept-"));
  });

  afterAll(async () => {
    await Promise.all(opened.map((adapter) => adapter.close()));
    rmSync(home, { recursive: true, force: true });
  });

  test("with the journal off, the history says that nothing is kept and which key keeps it", async () => {
    const path = join(home, "off");
    const { run, adapter } = await open({ off: { path, journal: "off" }, on: { path: join(home, "on") } });
    const said = {
      complete: false,
      reason: "off",
      hint: 'Root "off" keeps no history: its journal is off (set journal: "on")',
    };
    expect(await run("history", { root: "off" })).toEqual({ entries: [], ...said });
    expect(await run("trash", { root: "off" })).toEqual({ entries: [], ...said });
    // Where others have one, that is no news.
    expect(await run("history", {})).toEqual({ entries: [], complete: true });
    expect((await run("roots", {}))["roots"]).toEqual([
      expect.objectContaining({ name: "off", kept: false, reason: "off" }),
      expect.not.objectContaining({ kept: false }),
    ]);
    await adapter.lookForLacks();
    expect(adapter.warnings).toEqual([]);
  });

  test("with the journal off, undo and restore are not supported, and name the key", async () => {
    const path = join(home, "undo-off");
    const { run } = await open({ off: { path, journal: "off" }, on: { path: join(home, "on2") } });
    writeFileSync(join(path, "a"), "a");
    const refused = ["NOT_SUPPORTED", expect.stringContaining('set journal: "on"')];
    for (const input of [{ id: "1m83nfr960003x1jv5jmy" }, { group: "g1" }, { last: 1 }, { ids: ["a", "b"] }]) {
      expect(await failureOf(run("undo", { root: "off", ...input }))).toEqual(refused);
    }
    for (const to of ["1m83nfr960003x1jv5jmy", "x:before", `sha256:${"0".repeat(64)}`]) {
      expect(await failureOf(run("restore", { root: "off", path: "a", to }))).toEqual(refused);
    }
    expect(await failureOf(run("read", { root: "off", path: "a", version: "x:before" }))).toEqual(refused);
    // In another root there is one.
    expect(await failureOf(run("undo", { id: "x" }))).toEqual(["NOT_FOUND", expect.anything()]);
  });

  test("without a state directory, undo names the key that would give one", async () => {
    const { run } = await open({ bare: { path: join(home, "bare") }, scratch: { temp: true } }, "none");
    expect(await failureOf(run("undo", { last: 1 }))).toEqual(["NOT_SUPPORTED", expect.stringContaining("stateDir")]);
    expect(await run("history", {})).toMatchObject({
      complete: false,
      reason: "off",
      hint: expect.stringContaining("stateDir"),
    });
    // Nobody expects a temporary folder to keep anything.
    expect((await run("roots", {}))["roots"]).toEqual([
      expect.objectContaining({ name: "bare", kept: false, reason: "off" }),
      expect.not.objectContaining({ kept: false }),
    ]);
  });

  test("with the journal off, a change says nothing, and nothing is said of a root that nobody changes", async () => {
    const path = join(home, "silent");
    const { run } = await open({ off: { path, journal: "off" }, ro: { path, readOnly: true } });
    await run("write", { root: "off", path: "a", content: "1" });
    expect(await run("write", { root: "off", path: "a", content: "2" })).not.toHaveProperty("kept");
    expect(await run("delete", { root: "off", path: "a" })).toEqual({ deleted: true, existed: true });
    expect(await run("history", { root: "ro" })).toEqual({ entries: [], complete: true });
  });

  test("required deletes nothing where nothing can be kept, and says why", async () => {
    const path = join(home, "required");
    const { run, adapter } = await open({ r: { path, trash: "required" } }, "fails");
    for (const name of ["a", "d/e", "f"]) await run("write", { root: "r", path: name, content: "x", parents: true });
    const refused = ["QUOTA_EXCEEDED", expect.stringContaining("the state directory (stateDir) cannot be used")];
    for (const input of [{ path: "a" }, { path: "d", recursive: true }]) {
      expect(await failureOf(run("delete", { root: "r", ...input }))).toEqual(refused);
    }
    expect(["a", "d/e"].map((name) => existsSync(join(path, name)))).toEqual([true, true]);
    await adapter.lookForLacks();
    expect(adapter.warnings).toEqual([
      "Root 'r' does not keep what is replaced or deleted, so that nobody can take it back: /host/path cannot be used",
    ]);
  });

  test("required deletes nothing where the trash cannot be used: not in a group, nor by what takes its place", async () => {
    const path = join(home, "no-trash");
    const { run, adapter } = await open({ r: { path, trash: "required" } });
    mkdirSync(join(path, ".venue-files"), { mode: 0o700 });
    mkdirSync(join(home, "elsewhere"));
    symlinkSync(join(home, "elsewhere"), join(path, ".venue-files", "trash"));
    for (const name of ["old", "new"]) mkdirSync(join(path, name));
    const names = ["a", "b", "new/file", "old/file"];
    for (const name of names) writeFileSync(join(path, name), name);
    const refusal = ["QUOTA_EXCEEDED", expect.stringContaining("trash: required")];
    for (const deleted of [["a"], ["a", "b"]]) {
      const changes = deleted.map((one) => ({ op: "delete", path: one }));
      expect(await failureOf(run("patch", { root: "r", changes }))).toEqual(refusal);
    }
    for (const [operation, more] of [["file:move", {}] as const, ["file:copy", { recursive: true }] as const]) {
      const input = { root: "r", path: "new", to: "old", overwrite: true, ...more };
      expect(await failureOf(adapter.invoke(operation, input, { terms: { replaces: true } }))).toEqual(refusal);
    }
    expect(names.map((name) => readFileSync(join(path, name), "utf8"))).toEqual(names);
  });

  test("the history of a root that was moved says why it is empty, until there is something, or it is back", async () => {
    const [here, there] = [join(home, "here"), join(home, "there")];
    const before = await open({ r: { path: here } });
    expect(await before.run("history", { root: "r" })).toEqual({ entries: [], complete: true });
    await before.run("write", { root: "r", path: "a", content: "1" });
    await before.adapter.close();
    renameSync(here, there);
    const moved = await open({ r: { path: there } });
    expect(await moved.run("history", {})).toEqual({
      ...{ entries: [], complete: false, reason: "moved" },
      hint: 'Root "r" was moved: what was changed before is listed again once it is back at its former path',
    });
    await moved.run("write", { root: "r", path: "b", content: "2" });
    const { entries, ...rest } = await moved.run("history", {});
    expect([entries, rest]).toEqual([[expect.objectContaining({ path: "b" })], { complete: true }]);
    await moved.adapter.close();
    renameSync(there, here);
    const back = await open({ r: { path: here } });
    expect(await back.run("history", {})).toMatchObject({ entries: [{ path: "a" }], complete: true });
    // Another folder at a former path, and a copy, were never moved.
    await back.adapter.close();
    renameSync(here, there);
    const other = await open({ r: { path: here }, copy: { path: join(home, "copy") } });
    expect(await other.run("history", { root: "copy" })).toEqual({ entries: [], complete: true });
  });

  test("whoever changes files learns nothing of the host", async () => {
    const { run } = await open({ r: { path: join(home, "closed") } }, "fails");
    await run("write", { root: "r", path: "a", content: "x" });
    const answers = [
      await run("roots", {}),
      await run("history", {}),
      await run("trash", { root: "r" }),
      await run("write", { root: "r", path: "a", content: "y" }),
      await run("delete", { root: "r", path: "a" }),
      await failureOf(run("undo", { root: "r", last: 1 })),
      await failureOf(run("purge", { root: "r", all: true })),
    ];
    expect(JSON.stringify(answers)).not.toContain("host/path");
    expect(JSON.stringify(answers).match(/no_state_dir|\(stateDir\)/g)?.length).toBeGreaterThanOrEqual(7);
  });
});
