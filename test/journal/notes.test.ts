// What notes of changes leave to the next process. No test waits for what is written.

import {
  closeSync,
  fstatSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  writeFileSync,
  writeSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "@jest/globals";
import { newEntryId } from "../../src/core/entry-id.js";
import { readRecord, writeRecord } from "../../src/journal/note-records.js";
import { type JournalStore, openStore, type StoreUser } from "../../src/journal/store.js";
import { openTables } from "../../src/journal/tables.js";

const user: StoreUser = { onFault: () => {}, onWritten: () => {} };
let home = "";
let store: JournalStore;
let isFull = false;

const openFailing: typeof openTables = (...args) => {
  const tables = openTables(...args);
  const { transactionSync } = tables.env;
  const failing = <T>(work: () => T): T => {
    if (isFull) throw Object.assign(new Error("No space left on device"), { code: 28 });
    return Reflect.apply(transactionSync, tables.env, [work]) as T;
  };
  Object.assign(tables.env, { transactionSync: failing });
  return tables;
};

const ORIGIN = { root: "r", scheme: "file", op: "write", actor: "operator", via: "p", surface: "library" } as const;
const CHANGE = { action: "modified", kind: "file", path: ["f"], before: null, after: null } as const;

/** Notes a change, and adds its entry. @param what content from before it; whether it is noted first */
function change({ bytes = Buffer.from("old"), isNoted = true } = {}): string {
  const time = Date.now();
  const id = newEntryId(time);
  if (isNoted) store.begin({ id, origin: ORIGIN, change: CHANGE, kept: "value" }, bytes);
  store.add({ ...ORIGIN, ...CHANGE, time, id }, { in: "value", bytes }, false);
  return id;
}

const noteFiles = (): string[] => readdirSync(home).filter((name) => name.startsWith("pending-"));

/** Makes the notes that are there those of a process that has died. */
function bury(): void {
  for (const name of noteFiles()) {
    const path = join(home, name);
    const file = readFileSync(path);
    const fd = openSync(path, "w");
    const length = writeRecord({ fd, at: 0 }, { process: "another-start-of-the-machine - 1 1" });
    const { next = file.length } = readRecord(file, 0) ?? {};
    writeSync(fd, file, next, file.length - next, length);
    closeSync(fd);
  }
}

/** The process ends in order, and the next one begins. */
async function restart(): Promise<void> {
  await store.leave(user);
  bury();
  isFull = false;
  store = openStore(home, user, openFailing);
}

beforeEach(() => {
  home = realpathSync(mkdtempSync(join(tmpdir(), "venue-files-journal-notes-")));
  isFull = false;
  store = openStore(home, user, openFailing);
});
afterEach(async () => {
  isFull = false;
  await store.leave(user);
  rmSync(home, { recursive: true, force: true });
});

describe("a process that ends in order while nothing can be written", () => {
  test("leaves its notes to the next one", async () => {
    isFull = true;
    const id = change();
    await restart();
    const left = store.takePending();
    expect([left?.notes.map(({ planned }) => planned.id), left?.isLacking]).toEqual([[id], false]);
  });

  test("says that it lacks what was not noted", async () => {
    isFull = true;
    change({ isNoted: false });
    await restart();
    expect(store.takePending()).toMatchObject({ notes: [], isLacking: true });
  });

  test("says that it lacks what had no room in its memory", async () => {
    isFull = true;
    const bytes = Buffer.alloc(4_000_000);
    while (store.hasRoom) change({ bytes });
    expect(change({ isNoted: false })).not.toBe("");
    expect(store.fault).toBe("lost");
    isFull = false;
    store.flush();
    await restart();
    expect(store.takePending()).toMatchObject({ notes: [], isLacking: true });
  });

  test("leaves nothing once all is written", async () => {
    isFull = true;
    change({ isNoted: false });
    store.flush();
    isFull = false;
    store.flush();
    await restart();
    expect(store.takePending()).toBeUndefined();
  });
});

test("notes of others stay until what they tell is written", async () => {
  isFull = true;
  const first = change();
  change({ isNoted: false });
  await restart();
  isFull = true;
  const told = () => {
    const left = store.takePending();
    left?.settle();
    return left && { ids: left.notes.map(({ planned }) => planned.id).sort(), isLacking: left.isLacking };
  };
  expect(told()).toEqual({ ids: [first], isLacking: true });
  const second = change();
  store.flush();
  // This process has them, and the next one gets them if this one ends now.
  expect(told()).toBeUndefined();
  await restart();
  expect(told()).toEqual({ ids: [first, second].sort(), isLacking: true });
  store.flush();
  expect([told(), noteFiles()]).toEqual([undefined, [expect.anything()]]);
});

test("a change that ends once its journal is closed touches no file that has the descriptor of its note by then", async () => {
  const ids = [newEntryId(Date.now()), newEntryId(Date.now())];
  for (const id of ids) store.begin({ id, origin: ORIGIN, change: CHANGE }, undefined);
  await store.leave(user);
  const path = join(home, "of-another");
  writeFileSync(path, "whole");
  const opened = Array.from({ length: 16 }, () => openSync(path, "r+"));
  for (const id of ids) store.cancel(id);
  expect([readFileSync(path, "utf8"), opened.map((fd) => fstatSync(fd).size)]).toEqual(["whole", opened.map(() => 5)]);
  for (const fd of opened) closeSync(fd);
});
