// Entries and notes that wait to be written together. No test waits, so nothing is written in between.

import { mkdtempSync, realpathSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "@jest/globals";
import { newEntryId, timeOfId } from "../../src/core/entry-id.js";
import { type JournalStore, openStore, type StoreUser } from "../../src/journal/store.js";

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
