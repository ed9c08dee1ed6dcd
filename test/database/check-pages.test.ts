import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "@jest/globals";
import { checkPages } from "../../src/database/check-pages.js";
import { openShared, openTable, type SharedDatabase, type Table } from "../../src/database/shared-database.js";

const PAGE = 4096;
const NAMES = ["one", "two"];
const [BRANCH, LEAF, OVERFLOW] = [1, 2, 4];
/** Of a page; its nodes begin at what is written behind the head, counted from there. */
const [FLAGS, HEAD] = [18, 24];
/** Head of the newest transaction: the free pages, the tables. */
const [FREE_ROOT, MAIN_ROOT, TRANSACTION] = [HEAD + 24 + 40, HEAD + 24 + 48 + 40, HEAD + 128];

let folder = "";
let file = "";
let env: SharedDatabase;
let [one, two]: Table[] = [];

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "venue-files-check-pages-"));
  file = join(folder, "data.mdb");
  env = openShared(folder, { maxTables: 4, flush: false });
  [one, two] = NAMES.map((name) => openTable(env, name));
});
afterEach(async () => {
  await env.close();
  rmSync(folder, { recursive: true, force: true });
});

const key = (number: number): Buffer => Buffer.from(`key ${String(number).padStart(6, "0")}`);
const sound = (): void => checkPages(file, NAMES);

/** Small and large values, of which every third is removed again. */
function fill(count = 900): void {
  for (const table of [one, two]) {
    env.transactionSync(() => {
      for (let number = 0; number < count; number++)
        table?.putSync(key(number), Buffer.alloc(number % 50 ? 60 : 9_000));
    });
    env.transactionSync(() => {
      for (let number = 0; number < count; number += 3) table?.removeSync(key(number));
    });
  }
}

describe("what LMDB has written is sound", () => {
  test("without anything in it, and while it grows and shrinks", () => {
    sound();
    for (const count of [1, 3, 90, 1_200]) {
      fill(count);
      sound();
    }
    env.transactionSync(() => {
      for (let number = 0; number < 1_200; number++) for (const table of [one, two]) table?.removeSync(key(number));
    });
    sound();
  });

  test("with a list of free pages that is larger than a page", () => {
    env.transactionSync(() => {
      for (let number = 0; number < 3_000; number++) one?.putSync(key(number), Buffer.alloc(3_000));
    });
    env.transactionSync(() => {
      for (let number = 0; number < 3_000; number += 2) one?.removeSync(key(number));
    });
    sound();
  });

  test("when the file is empty", () => {
    writeFileSync(file, "");
    sound();
  });
});

describe("is told", () => {
  let bytes = Buffer.alloc(0);
  const changed = (change: () => void): string => {
    change();
    writeFileSync(file, bytes);
    try {
      sound();
      return "sound";
    } catch (error) {
      return String(error);
    }
  };
  const head = (): number =>
    bytes.readBigUInt64LE(PAGE + TRANSACTION) > bytes.readBigUInt64LE(TRANSACTION) ? PAGE : 0;
  const rootOf = (offset: number): number => Number(bytes.readBigUInt64LE(head() + offset)) * PAGE;
  /** A page of some kind that the newest transaction uses. */
  const pageOf = (kind: number): number => {
    const main = rootOf(MAIN_ROOT);
    // The record of a table ends with its root.
    const [start = 0, end = 0] = nodeOf(main, 0);
    let page = Number(bytes.readBigUInt64LE(main + end - 8)) * PAGE;
    expect(start).toBeGreaterThan(0);
    while (bytes.readUInt16LE(page + FLAGS) === BRANCH && kind !== BRANCH) {
      const [child] = nodeOf(page, 1);
      page = bytes.readUInt32LE(page + (child ?? 0)) * PAGE;
    }
    return page;
  };
  /** Where a node of a page begins and, of a small value, ends. */
  const nodeOf = (page: number, index: number): [start: number, end: number] => {
    const start = HEAD + bytes.readUInt16LE(page + HEAD + 2 * index);
    return [start, start + 8 + bytes.readUInt16LE(page + start + 6) + bytes.readUInt16LE(page + start)];
  };
  const flip = (at: number, count = 1): void => {
    for (let offset = at; offset < at + count; offset++) bytes.writeUInt8(bytes.readUInt8(offset) ^ 0xff, offset);
  };

  beforeEach(async () => {
    fill();
    await env.close();
    bytes = readFileSync(file);
    expect([BRANCH, LEAF].map((kind) => bytes.readUInt16LE(pageOf(kind) + FLAGS))).toEqual([BRANCH, LEAF]);
  });

  test("nothing, of what was not changed", () => expect(changed(() => {})).toBe("sound"));

  test.each<[string, string, () => void]>([
    ["where the nodes of the page of tables are", "a node", () => flip(rootOf(MAIN_ROOT) + HEAD, 4)],
    ["the name of a table", "a table", () => flip(rootOf(MAIN_ROOT) + nodeOf(rootOf(MAIN_ROOT), 0)[0] + 8)],
    ["the root of a table", "a page twice", () => flip(rootOf(MAIN_ROOT) + nodeOf(rootOf(MAIN_ROOT), 0)[1] - 3, 3)],
    [
      "how many entries a table has",
      "the size of a table",
      () => flip(rootOf(MAIN_ROOT) + nodeOf(rootOf(MAIN_ROOT), 1)[1] - 16),
    ],
    ["the length of a value", "a node", () => flip(pageOf(LEAF) + nodeOf(pageOf(LEAF), 1)[0] + 2)],
    ["the length of a key", "a node", () => flip(pageOf(LEAF) + nodeOf(pageOf(LEAF), 1)[0] + 7)],
    ["a key", "the order of keys", () => flip(pageOf(LEAF) + nodeOf(pageOf(LEAF), 1)[0] + 8)],
    ["the number of a page", "head of a page", () => flip(pageOf(LEAF))],
    ["the kind of a page", "head of a page", () => flip(pageOf(BRANCH) + FLAGS)],
    ["a page that is newer than the last transaction", "head of a page", () => flip(pageOf(LEAF) + 14)],
    ["how many nodes a page has", "a page", () => flip(pageOf(LEAF) + 21)],
    ["the mark of the file", "mark of the file", () => flip(HEAD)],
    ["the last page", "head of the last transaction", () => flip(head() + HEAD + 123)],
    ["the size of pages", "size of pages", () => flip(HEAD + 24)],
  ])("%s", (_what, told, change) => expect(changed(change)).toBe(`Error: The database is damaged: ${told}`));

  test("a page that is used and listed as free, which the next change would overwrite", () => {
    const told = changed(() => {
      const free = rootOf(FREE_ROOT);
      const [start] = nodeOf(free, 0);
      // The key and the number of pages, then pages.
      const list = free + start + 8 + bytes.readUInt16LE(free + start + 6);
      const at = Array.from({ length: Number(bytes.readBigUInt64LE(list)) }, (_, index) => list + 8 * (index + 1)).find(
        (place) => bytes.readBigInt64LE(place) > 0n,
      );
      bytes.writeBigInt64LE(BigInt(pageOf(LEAF) / PAGE), at ?? 0);
    });
    expect(told).toBe("Error: The database is damaged: a page twice");
  });

  test("a file that is cut short, and a large value whose first page is not its own", () => {
    const large = Array.from({ length: bytes.length / PAGE }, (_, page) => page * PAGE).filter(
      (page) => bytes.readUInt16LE(page + FLAGS) === OVERFLOW,
    );
    expect(large.length).toBeGreaterThan(5);
    expect(changed(() => large.forEach((page) => void flip(page + 20)))).toMatch(/a large value|head of a page/);
    bytes = bytes.subarray(0, 5 * PAGE);
    expect(changed(() => {})).toMatch(/cut short|head of the last transaction/);
  });
});
