import { mkdtempSync, realpathSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { newEntryId } from "../../src/core/entry-id.js";
import type { JournalQuery } from "../../src/core/ports/changes/journal.js";
import { queryStore } from "../../src/journal/query.js";
import { type JournalStore, openStore, type StoreUser } from "../../src/journal/store.js";

/** More than one query looks at. */
const ENTRIES = 20_400;
const ELSEWHERE = 50;
const faults: unknown[] = [];
const user: StoreUser = { onFault: (error) => void faults.push(error), onWritten: () => {} };

let home = "";
let store: JournalStore;

function add(path: readonly string[]): void {
  const time = Date.now();
  const origin = { root: "r", scheme: "file", op: "write", actor: "operator", via: "p", surface: "library" } as const;
  const change = { action: "created", kind: "file", path, before: null, after: null } as const;
  store.add({ ...origin, ...change, time, id: newEntryId(time) }, undefined, false);
}

beforeAll(() => {
  home = realpathSync(mkdtempSync(join(tmpdir(), "venue-files-journal-long-")));
  store = openStore(home, user);
  add(["d", "oldest"]);
  for (let index = 0; index < ENTRIES; index++) add(["d", `file-${index % 100}`]);
  for (let index = 0; index < ELSEWHERE; index++) add(["e", "other"]);
  store.flush();
}, 60_000);
afterAll(async () => {
  await store.leave(user);
  rmSync(home, { recursive: true, force: true });
  expect(faults).toEqual([]);
});

/** All pages of a query. */
async function pagesOf(query: Omit<JournalQuery, "sees" | "limit">, limit: number) {
  const pages = [];
  for (let before: string | undefined; ; ) {
    const from = before === undefined ? {} : { before };
    const page = await queryStore(store, { ...query, ...from, limit, sees: () => true });
    pages.push(page);
    if (page.next === undefined) return pages;
    before = page.next;
  }
}

describe("a long journal", () => {
  test("is told below a path to its oldest entry, newest first, each once", async () => {
    const pages = await pagesOf({ path: ["d"] }, 5000);
    const entries = pages.flatMap((page) => page.entries);
    expect(entries).toHaveLength(ENTRIES + 1);
    expect(entries.at(-1)?.path).toEqual(["d", "oldest"]);
    const ids = entries.map(({ id }) => id);
    expect(ids).toEqual([...ids].sort().reverse());
    expect(new Set(ids).size).toBe(ids.length);
  });

  test("ends a query that looks at too many, and goes on from there", async () => {
    const sees = () => false;
    const first = await queryStore(store, { path: ["d"], limit: 10, sees });
    expect(first).toMatchObject({ entries: [], complete: false, reason: "visited", next: expect.any(String) });
    const rest = await pagesOf({ path: ["e"] }, 30);
    expect(rest.flatMap((page) => page.entries)).toHaveLength(ELSEWHERE);
  });

  test("is told of one file from its index alone", async () => {
    const pages = await pagesOf({ path: ["d", "file-7"] }, 100);
    const entries = pages.flatMap((page) => page.entries);
    expect(entries).toHaveLength(ENTRIES / 100);
    expect(pages.every(({ complete }) => complete)).toBe(true);
  });
});
