import { mkdirSync, mkdtempSync, readdirSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, jest, test } from "@jest/globals";
import { assembleAdapter, type HostedFileAdapter } from "../../src/adapter/adapter.js";
import { parseFileConfig } from "../../src/config/load.js";
import { newEntryId, timeOfId } from "../../src/core/entry-id.js";
import { FileAdapterError } from "../../src/core/errors/errors.js";
import { silentLog } from "../../src/core/ports/log.js";
import { keyOf } from "../../src/journal/open-journal.js";
import { type JournalStore, openStore, type StoreUser } from "../../src/journal/store.js";
import { openTables } from "../../src/journal/tables.js";

// Entries and notes that wait to be written together. No test waits, so nothing is written in between.
describe("entries that wait", () => {
  let home = "";
  let store: JournalStore;
  let written = 0;
  const faults: unknown[] = [];
  const user: StoreUser = { onFault: (error) => void faults.push(error), onWritten: () => void written++ };

  /** @returns its id */
  function add(name: string): string {
    const time = Date.now();
    const id = newEntryId(time);
    const origin = { root: "r", scheme: "file", op: "write", actor: "operator", via: "p", surface: "library" } as const;
    const change = { action: "created", kind: "file", path: [name], before: null, after: null } as const;
    store.add({ ...origin, ...change, time, id }, undefined, false);
    return id;
  }

  const waiting = (): string[] => store.waiting().map(({ row }) => row.id);

  beforeEach(() => {
    home = realpathSync(mkdtempSync(join(tmpdir(), "venue-files-journal-waiting-")));
    store = openStore(home, user);
    written = 0;
  });
  afterEach(async () => {
    await store.leave(user);
    rmSync(home, { recursive: true, force: true });
    expect(faults).toEqual([]);
  });

  test("entries that wait are shown newest first, until they are written", () => {
    const ids = [add("a"), add("b")];
    expect(waiting()).toEqual(ids.toReversed());
    expect(store.totals.entries).toBe(0);
    store.flush();
    expect(waiting()).toEqual([]);
    expect(store.totals.entries).toBe(2);
  });

  test("a note is written with the entries that wait, its own among them", () => {
    const [a, b] = [add("a"), add("b")];
    store.note([a], { undoneBy: b });
    expect(waiting()).toEqual([b, a]);
    store.flush();
    expect([store.entry(a)?.undoneBy, store.entry(b)?.undoneBy, written]).toEqual([b, undefined, 1]);
  });

  test("a note alone is written, and the last one counts; entries that are gone are left out", () => {
    const a = add("a");
    store.flush();
    store.note([a, "none"], { undoneBy: "x" });
    store.flush();
    expect(store.entry(a)?.undoneBy).toBe("x");
    store.note([a], { undoneBy: "y" });
    store.note([a], {});
    store.flush();
    expect(store.entry(a)).toMatchObject({ id: a, path: ["a"] });
    expect(store.entry(a)).not.toHaveProperty("undoneBy");
    expect([store.entry("none"), store.totals.entries]).toEqual([undefined, 1]);
  });

  test("however many notes come at once, each is written", () => {
    const ids = Array.from({ length: 1_200 }, (_, at) => add(String(at)));
    store.flush();
    for (const id of ids) store.note([id], { undoneBy: "x" });
    store.flush();
    expect(ids.filter((id) => store.entry(id)?.undoneBy !== "x")).toEqual([]);
  });

  test("entries of a process that begins with a clock set back come after those that are there", async () => {
    // An id of an hour from now: this process itself has made none as late.
    const digits = "0123456789abcdefghjkmnpqrstvwxyz";
    const ms = Date.now() + 3_600_000;
    const time = Array.from({ length: 9 }, (_, at) => digits[Math.floor(ms / 32 ** (8 - at)) % 32]).join("");
    const later = `${time}0005${"a".repeat(8)}`;
    expect(timeOfId(later)).toBe(ms);
    const origin = { root: "r", scheme: "file", op: "write", actor: "operator", via: "p", surface: "library" } as const;
    const change = { action: "created", kind: "file", path: ["a"], before: null, after: null } as const;
    store.add({ ...origin, ...change, time: Date.now(), id: later }, undefined, false);
    await store.leave(user);
    store = openStore(home, user);
    const next = add("b");
    store.flush();
    expect([...store.ids(undefined)]).toEqual([next, later]);
  });
});

// A journal whose tables cannot be written, as on a full disk: what it is told waits, within bounds.
describe("entries that cannot be written", () => {
  const MEGABYTE = 1_048_576;

  let home = "";
  let store: JournalStore;
  let isFull = false;
  let tries = 0;
  let faults: unknown[] = [];
  const user: StoreUser = { onFault: (error) => void faults.push(error), onWritten: () => undefined };

  const openFailing: typeof openTables = (...args) => {
    const tables = openTables(...args);
    const begin: <T>(work: () => T) => T = tables.env.transactionSync;
    const transactionSync = <T>(work: () => T): T => {
      tries += 1;
      if (isFull) throw Object.assign(new Error("No space left on device"), { code: 28 });
      return Reflect.apply(begin, tables.env, [work]) as T;
    };
    Object.assign(tables.env, { transactionSync });
    return tables;
  };

  function openAt(folder: string): void {
    mkdirSync(folder, { recursive: true });
    store = openStore(folder, user, openFailing);
    [tries, faults] = [0, []];
  }

  const recordOf = (name: string) => {
    const time = Date.now();
    const origin = { root: "r", scheme: "file", op: "write", actor: "operator", via: "p", surface: "library" } as const;
    const change = {
      action: "modified",
      kind: "file",
      path: ["d", name],
      before: { size: 1, modified: 0 },
      after: null,
    } as const;
    return { ...origin, ...change, time, id: newEntryId(time) };
  };

  /** @returns its id */
  function add(name: string, bytes: Buffer): string {
    const record = recordOf(name);
    store.add(record, { in: "value", bytes }, false);
    return record.id;
  }

  const ids = (...args: Parameters<JournalStore["ids"]>): string[] => [...store.ids(...args)];

  beforeEach(() => {
    home = realpathSync(mkdtempSync(join(tmpdir(), "venue-files-journal-unwritten-")));
    isFull = false;
  });
  afterEach(async () => {
    jest.useRealTimers();
    isFull = false;
    await store.leave(user);
    rmSync(home, { recursive: true, force: true });
  });

  describe("a store that cannot be written", () => {
    beforeEach(() => openAt(home));

    test("shows what waits as what is written, and writes it once that works", () => {
      const [first, second] = [add("a", Buffer.from("1")), add("b", Buffer.from("22"))];
      store.flush();
      isFull = true;
      const third = add("c", Buffer.from("333"));
      for (let count = 0; count < 3; count++) store.flush();
      const look = () => ({
        entry: store.entry(third)?.path,
        kept: store.kept(third),
        image: store.image(third)?.toString(),
        all: ids(undefined),
        before: ids(third),
        path: ids(undefined, { by: "p", text: "d/c" }),
        below: [...(store.idsAt("d", undefined, 10) ?? [])],
      });
      const seen = look();
      expect(seen).toEqual({
        ...{ entry: ["d", "c"], kept: { in: "value", size: 3 }, image: "333" },
        ...{ all: [third, second, first], before: [second, first], path: [third], below: [third, second, first] },
      });
      expect([store.fault, store.lost, store.totals.entries]).toEqual(["waiting", 0, 2]);
      // It is told once.
      expect(faults).toHaveLength(1);
      isFull = false;
      store.flush();
      expect(look()).toEqual(seen);
      expect([store.fault, store.lost, store.totals, store.waiting()]).toEqual([
        ...[undefined, 0, { entries: 3, bytes: 6 }, []],
      ]);
    });

    test("is tried again, after longer and longer pauses", () => {
      jest.useFakeTimers();
      isFull = true;
      const id = add("a", Buffer.from("1"));
      jest.advanceTimersByTime(10);
      expect(tries).toBe(1);
      add("b", Buffer.from("2"));
      jest.advanceTimersByTime(99);
      expect(tries).toBe(1);
      jest.advanceTimersByTime(1);
      expect(tries).toBe(2);
      jest.advanceTimersByTime(200);
      expect(tries).toBe(3);
      isFull = false;
      jest.advanceTimersByTime(400);
      expect([store.waiting(), store.entry(id)?.path]).toEqual([[], ["d", "a"]]);
    });

    test("keeps 32 MB waiting; beyond, entries are lost and counted, but none of a change that was begun", () => {
      isFull = true;
      const begun = recordOf("begun");
      expect(store.begin({ id: begun.id, origin: begun, change: begun }, undefined)).toBe(true);
      while (store.hasRoom) add("big", Buffer.alloc(MEGABYTE));
      const waiting = store.waiting().length;
      expect(waiting).toBeGreaterThan(30);
      add("lost", Buffer.alloc(1));
      expect([store.lost, store.waiting().length]).toEqual([1, waiting]);
      store.add(begun, { in: "trash", size: 5 }, false);
      expect([store.lost, store.waiting().length]).toEqual([1, waiting + 1]);
      isFull = false;
      tries = 0;
      store.flush();
      // Not all at once.
      expect(tries).toBeGreaterThan(6);
      expect([store.waiting(), store.totals.entries, store.hasRoom]).toEqual([[], waiting + 1, true]);
      // One is missing for good.
      expect([store.lost, store.fault]).toEqual([1, "lost"]);
    });

    test("writes what became of an entry while it waited, and nothing that was removed", () => {
      const old = add("old", Buffer.from("0"));
      store.flush();
      isFull = true;
      const [a, b] = [add("a", Buffer.from("1")), add("b", Buffer.from("22"))];
      store.note([old, a], { undoneBy: b });
      expect(store.entry(a)?.undoneBy).toBe(b);
      store.resize(a, 7);
      store.remove([b]);
      isFull = false;
      store.flush();
      expect([store.entry(old)?.undoneBy, store.entry(a)?.undoneBy]).toEqual([b, b]);
      expect([store.kept(a)?.size, store.kept(b), store.image(b)]).toEqual([7, undefined, undefined]);
      expect(store.totals).toEqual({ entries: 3, bytes: 8 });
    });

    test("that is closed leaves the notes of what it could not write to the next process", async () => {
      isFull = true;
      const begun = recordOf("begun");
      store.begin({ id: begun.id, origin: begun, change: begun }, undefined);
      store.add(begun, { in: "trash", size: 5 }, false);
      await store.leave(user);
      expect(readdirSync(home).filter((name) => name.startsWith("pending-"))).toHaveLength(1);
      isFull = false;
      openAt(home);
    });
  });

  describe("a root whose journal cannot be written", () => {
    let files: HostedFileAdapter;
    const run = async (op: string, input: object): Promise<Record<string, unknown>> =>
      (await files.invoke(`file:${op}` as string, { root: "r", ...input }, {})) as Record<string, unknown>;

    async function openRoot(trash: "auto" | "required"): Promise<void> {
      mkdirSync(join(home, "r"));
      mkdirSync(join(home, "state"));
      for (const name of ["a", "b"]) writeFileSync(join(home, "r", name), `content of ${name}`);
      openAt(join(home, "state", "journal", keyOf(join(home, "r"))));
      const config = parseFileConfig({ roots: { r: { path: join(home, "r"), trash } } }, { baseDir: home });
      const journals = {
        openState: () => join(home, "state"),
        lookAtState: () => join(home, "state"),
        byDefault: true,
        log: silentLog,
      };
      files = await assembleAdapter(config, { journals, discloseHostPaths: false });
      await run("write", { path: "first", content: "1" });
      store.flush();
      isFull = true;
    }
    afterEach(async () => {
      isFull = false;
      await files.close();
    });

    test("takes changes back all the same, and says that a part is not recorded", async () => {
      await openRoot("auto");
      await run("write", { path: "a", content: "overwritten" });
      const { trashed, id } = await run("delete", { path: "b" });
      expect(trashed).toBe(true);
      const history = await run("history", {});
      expect(history).toMatchObject({ complete: false, reason: "waiting", hint: expect.stringMatching(/^The newest/) });
      expect(history["entries"]).toMatchObject([{ op: "delete" }, { op: "write", path: "a" }, { path: "first" }]);
      expect(await run("trash", {})).toMatchObject({ entries: [{ id, path: "b", by: "operator" }] });
      await run("undo", { id });
      expect(await run("undo", { last: 1 })).toMatchObject({ files: [{ path: "a" }] });
      expect(await run("read", { path: "a" })).toMatchObject({ content: "content of a" });
      isFull = false;
      const after = await run("history", {});
      expect(after).toMatchObject({
        complete: true,
        entries: [
          { op: "undo" },
          { op: "undo" },
          { undoneBy: expect.any(String) },
          { undoneBy: expect.any(String) },
          {},
        ],
      });
    });

    test("purges what waits: it is not written later", async () => {
      await openRoot("auto");
      await run("write", { path: "a", content: "overwritten" });
      await expect(run("purge", { path: "a" })).rejects.toMatchObject({ code: "NO_SPACE" });
      isFull = false;
      expect(await run("purge", { path: "a" })).toEqual({ purged: 0 });
      const { entries } = (await run("history", { path: "a" })) as { entries: { op: string; id: string }[] };
      const id = entries.find(({ op }) => op === "write")?.id ?? "";
      expect(entries.find(({ op }) => op === "write")).toMatchObject({ undoable: false, reason: "purged" });
      expect([store.kept(id), store.image(id)]).toEqual([undefined, undefined]);
    });

    test("says that nothing is kept once nothing more can wait", async () => {
      await openRoot("auto");
      while (store.hasRoom) add("big", Buffer.alloc(MEGABYTE));
      expect(await run("write", { path: "a", content: "overwritten" })).toMatchObject({
        kept: false,
        reason: "not_kept",
      });
      const deleted = await run("delete", { path: "b" });
      expect(deleted).toMatchObject({ deleted: true, trashed: false, reason: "not_kept" });
      isFull = false;
      expect(await run("history", {})).toMatchObject({ complete: false });
      expect(store.lost).toBe(2);
    });

    test("deletes nothing then where all has to be kept", async () => {
      await openRoot("required");
      while (store.hasRoom) add("big", Buffer.alloc(MEGABYTE));
      const refusal = await run("delete", { path: "b" }).catch((error: unknown) => error);
      expect(refusal).toBeInstanceOf(FileAdapterError);
      expect(refusal).toMatchObject({ code: "QUOTA_EXCEEDED" });
      const changes = ["a", "b"].map((path) => ({ op: "delete", path }));
      await expect(run("patch", { changes })).rejects.toMatchObject({ code: "QUOTA_EXCEEDED" });
      for (const path of ["a", "b"])
        expect(await run("read", { path })).toMatchObject({ content: `content of ${path}` });
    });
  });
});
