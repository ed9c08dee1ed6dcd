import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, describe, expect, test } from "@jest/globals";
import type { DriveChange, DriveEngine, LogEntry, LogTicket } from "../../../../src/drive/engine/engine.js";
import { openEmbeddedStore } from "../../../../src/drive/store/embedded/embedded.js";
import { createMemoryStore } from "../../../../src/drive/store/memory.js";
import { openBucket } from "../../store/s3/bucket.js";
import { ALICE, clockAt, openEngine, tapped } from "../engines.js";

const HOUR = 3_600_000;
const ends: (() => Promise<void> | void)[] = [];
afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end();
});

/** Writes a file and notes it, as the backend of a root does. */
async function write(engine: DriveEngine, name: string, content: string, undoes?: readonly string[]): Promise<string> {
  const ticket = await engine.owner(ALICE).change("notes", (tree) => writeIn(tree, name, content, undoes));
  return ticket.id ?? "";
}

async function writeIn(tree: DriveChange, name: string, content: string, undoes?: readonly string[]) {
  const since = tree.moment();
  const old = await tree.stat([name]);
  await tree.writeFile([name], Buffer.from(content));
  const before = old === undefined ? null : { size: old.size, modified: old.modified };
  const origin = { root: "notes", scheme: "file", op: "write", actor: ALICE, via: "p0", surface: "library" } as const;
  const change = {
    action: "modified",
    kind: "file",
    path: [name],
    before,
    after: { size: content.length, modified: 1 },
  } as const;
  return tree.note({ ...origin, ...change, ...(undoes === undefined ? {} : { undoes }) }, since, tree.moment());
}

async function entriesOf(engine: DriveEngine, limit = 64): Promise<LogEntry[]> {
  const found: LogEntry[] = [];
  for (let before: string | undefined; ; ) {
    const page = await engine.owner(ALICE).log.page({ before, limit });
    expect(page.isDamaged).toBe(false);
    found.push(...page.entries);
    if (page.next === undefined) return found;
    before = page.next;
  }
}

const idsOf = (entries: readonly LogEntry[]): string[] => entries.map(({ entry }) => entry.id);

async function contentBefore(engine: DriveEngine, id: string): Promise<string> {
  const entry = await engine.owner(ALICE).log.entry(id);
  if (entry?.before === undefined) throw new Error("Nothing is kept");
  return (await engine.owner(ALICE).log.read(entry.before, 0, 1 << 20)).bytes.toString();
}

describe("the log of an owner's drives", () => {
  test("keeps every entry in order, page by page, with what was there", async () => {
    const engine = openEngine({ clock: clockAt(1_700_000_000_000) });
    const ids: string[] = [];
    for (let place = 0; place < 75; place += 1) ids.push(await write(engine, `f${place % 5}`, `${place}`));
    for (const limit of [1, 7, 64, 200]) expect(idsOf(await entriesOf(engine, limit))).toEqual([...ids].reverse());
    for (const place of [5, 40, 74]) expect(await contentBefore(engine, ids[place] ?? "")).toBe(`${place - 5}`);
    expect(await engine.owner(ALICE).log.entry("0")).toBeUndefined();
  });

  test.each([0, 20])("keeps all of one change when some are undone %d changes later", async (later) => {
    const engine = openEngine({ clock: clockAt(1_700_000_000_000) });
    const names = Array.from({ length: 40 }, (_, place) => `${"name ".repeat(30)}${place}`);
    const tickets = await engine.owner(ALICE).change("notes", async (tree) => {
      const made: LogTicket[] = [];
      for (const name of names) made.push(await writeIn(tree, name, name));
      return made;
    });
    const ids = tickets.map(({ id = "" }) => id);
    for (let place = 0; place < later; place += 1) await write(engine, "f", `${place}`);
    const undone = ids.filter((_, place) => place % 4 !== 3);
    const undo = await write(engine, "undo", "", undone);
    const entries = (await entriesOf(engine)).filter(({ entry }) => entry.path[0] !== "f");
    expect(idsOf(entries)).toEqual([undo, ...ids.toReversed()]);
    expect(idsOf(entries.filter(({ entry }) => entry.undoneBy === undo))).toEqual(undone.toReversed());
  });

  test("is put in order by the process that has written it without being read again", async () => {
    const { store, tap } = tapped(createMemoryStore());
    const engine = openEngine({ store, clock: clockAt(1_700_000_000_000) });
    for (let place = 0; place < 60; place += 1) await write(engine, `f${place % 5}`, `${place}`);
    const records = new Set(
      tap.puts.filter(({ bytes }) => Buffer.from(bytes).includes('"op":')).map(({ hash }) => hash),
    );
    expect(records.size).toBe(60);
    expect(tap.gets.filter((hash) => records.has(hash))).toEqual([]);
    expect(await entriesOf(engine)).toHaveLength(60);
  });

  test("lets the oldest go beyond its quota of entries, bytes and days", async () => {
    const clock = clockAt(1_700_000_000_000);
    const engine = openEngine({ clock, logQuota: { entries: 20, bytes: 100, days: 1 } });
    const ids: string[] = [];
    for (let place = 0; place < 60; place += 1) ids.push(await write(engine, "f", "x".repeat(10)));
    const entries = await entriesOf(engine);
    expect(entries.length).toBeLessThanOrEqual(33);
    expect(idsOf(entries)).toEqual(ids.slice(-entries.length).reverse());
    const kept = entries.filter(({ entry }) => entry.undoable).length;
    expect(kept).toBeGreaterThanOrEqual(8);
    expect(kept).toBeLessThanOrEqual(23);
    expect(entries.at(-1)?.entry).toMatchObject({ undoable: false, reason: "pruned" });
    clock.now += 48 * HOUR;
    for (let place = 0; place < 13; place += 1) ids.push(await write(engine, "f", "y"));
    expect(idsOf(await entriesOf(engine))).toEqual(ids.slice(-13).reverse());
  });

  test("loses nothing to a clock that is ahead for a day, and goes by it from the next day on", async () => {
    const clock = clockAt(1_700_000_000_000);
    const engine = openEngine({ clock, logQuota: { entries: 1000, bytes: 100_000, days: 30 } });
    const ids: string[] = [];
    const writeSome = async () => {
      for (let place = 0; place < 14; place += 1) ids.push(await write(engine, "f", `${ids.length}`));
    };
    await writeSome();
    for (const days of [40, 400]) {
      const before = clock.now;
      clock.now += 24 * days * HOUR;
      await writeSome();
      clock.now += HOUR;
      await writeSome();
      clock.now = before + HOUR;
      expect(idsOf(await entriesOf(engine))).toEqual([...ids].reverse());
      await writeSome();
      expect(idsOf(await entriesOf(engine))).toEqual([...ids].reverse());
    }
    clock.now += 24 * 500 * HOUR;
    await writeSome();
    clock.now += 24 * HOUR;
    for (let round = 0; round < 3; round++) await writeSome();
    const { history } = await engine.owner(ALICE).verify("notes");
    expect(history.entries).toBeLessThan(ids.length);
  });

  test("tells nothing of what is older than its days, also before the next change", async () => {
    const clock = clockAt(1_700_000_000_000);
    const engine = openEngine({ clock, logQuota: { entries: 1000, bytes: 1000, days: 2 } });
    const old = await write(engine, "f", "one");
    clock.now += 30 * HOUR;
    const fresh = await write(engine, "f", "two");
    expect(idsOf(await entriesOf(engine, 1))).toEqual([fresh, old]);
    clock.now += 30 * HOUR;
    expect(idsOf(await entriesOf(engine, 1))).toEqual([fresh]);
    expect(await engine.owner(ALICE).log.entry(old)).toBeUndefined();
    expect(await contentBefore(engine, fresh)).toBe("one");
  });

  test("is verified with the drive, and so is what only it keeps", async () => {
    const { store, tap } = tapped(createMemoryStore());
    const engine = openEngine({ store });
    await write(engine, "f", "z".repeat(5000));
    const chunk = tap.puts.find(({ bytes }) => bytes.length > 4000);
    await write(engine, "f", "new");
    const verify = () => engine.owner(ALICE).verify("notes");
    expect(await verify()).toMatchObject({ damagedCount: 0, history: { entries: 2, damaged: false } });
    tap.lost.add(chunk?.hash ?? "");
    expect(await verify()).toMatchObject({ damagedCount: 0, history: { entries: 2, damaged: true } });
  });

  test("is committed with the root on disk, and survives collections and a new start", async () => {
    const path = mkdtempSync(join(tmpdir(), "venue-files-log-"));
    ends.push(() => rmSync(path, { recursive: true }));
    const clock = clockAt(1_700_000_000_000);
    const open = async () => {
      const store = await openEmbeddedStore({ path, now: clock.nowMs, flush: false });
      const engine = openEngine({ store, clock });
      const close = async () => {
        await engine.close();
        await store.close();
      };
      return { engine, store, close };
    };
    const first = await open();
    const ids: string[] = [];
    for (let place = 0; place < 30; place += 1) ids.push(await write(first.engine, "f", `${place}`.padEnd(5000, "z")));
    await first.close();
    clock.now += 48 * HOUR;
    const second = await open();
    ends.push(second.close);
    await write(second.engine, "g", "new");
    expect((await second.store.collect({ graceMs: HOUR })).missing).toBe(0);
    expect(idsOf(await entriesOf(second.engine)).slice(1)).toEqual([...ids].reverse());
    expect(await contentBefore(second.engine, ids[10] ?? "")).toBe("9".padEnd(5000, "z"));
  });

  test("is right for two venues on one bucket", async () => {
    const bucket = await openBucket();
    ends.push(() => bucket.dispose());
    const [one, other] = [await bucket.venue(), await bucket.venue()];
    const ids: string[] = [];
    for (let place = 0; place < 20; place += 1) {
      bucket.clock.now += 1000;
      ids.push(await write(place % 2 === 0 ? one.engine : other.engine, `f${place % 2}`, `${place}`));
    }
    for (const { engine } of [one, other]) expect(idsOf(await entriesOf(engine))).toEqual([...ids].reverse());
    expect(await contentBefore(one.engine, ids[11] ?? "")).toBe("9");
    bucket.clock.now += 1000;
    // An entry that another venue has made is undone.
    const undo = await write(one.engine, "f1", "17", [ids[19] ?? ""]);
    for (const { engine } of [one, other]) {
      expect((await engine.owner(ALICE).log.entry(ids[19] ?? ""))?.entry.undoneBy).toBe(undo);
    }
    // A venue that comes later finds the entries of those that are gone.
    bucket.clock.now += 3 * HOUR;
    const third = await bucket.venue();
    const last = await write(third.engine, "g", "x");
    await third.store.collect({ graceMs: HOUR });
    bucket.clock.now += 3 * HOUR;
    const fourth = await bucket.venue();
    await fourth.store.collect({ graceMs: HOUR });
    expect(idsOf(await entriesOf(fourth.engine))).toEqual([last, undo, ...[...ids].reverse()]);
    expect(await contentBefore(fourth.engine, ids[11] ?? "")).toBe("9");
  });

  test("of changes at the same time has each, once", async () => {
    const bucket = await openBucket();
    ends.push(() => bucket.dispose());
    const venues = [await bucket.venue(), await bucket.venue()];
    const all = await Promise.all(
      Array.from({ length: 16 }, (_, place) =>
        write((venues[place % 2] ?? venues[0])?.engine as DriveEngine, `f${place}`, "x"),
      ),
    );
    const found = idsOf(await entriesOf((await bucket.venue()).engine));
    expect([...found].sort()).toEqual([...all].sort());
    expect(new Set(found).size).toBe(16);
  });
});
