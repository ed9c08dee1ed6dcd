import { expect, test } from "@jest/globals";
import * as drive from "../../src/drive/index.js";
import { createLru } from "../../src/drive/lru.js";
import { Oldest } from "../../src/drive/oldest.js";

const NAMES =
  "encode hashOf isEmbedded decode materialize toMultiCell fromMultiCell keyword map index dir file tombstone checkNode sign " +
  "signedMessage verify applyOp deleteDrive createDrive isDeletedDrive merge mergeDrives mergeOwners";

test("the public module has all functions of drives", () => {
  expect(Object.keys(drive)).toEqual(expect.arrayContaining(NAMES.split(" ")));
});

test("a drive is made, changed, signed, moved as bytes, verified and read", () => {
  const seed = new Uint8Array(32).fill(3);
  const empty = drive.createDrive(null, { at: 5 });
  const root = drive.applyOp(empty, { op: "write", path: "/hello.txt", data: new Uint8Array(5000), at: 6 });
  const signed = drive.sign(drive.map([["docs", root]]), seed);
  const moved = drive.fromMultiCell(drive.toMultiCell(signed));
  expect(moved).toBeInstanceOf(drive.Signed);
  if (!(moved instanceof drive.Signed) || !(moved.value instanceof drive.CadMap)) return;
  expect(drive.verify(moved)).toBe(true);
  const back = moved.value.get("docs") ?? null;
  drive.checkNode(back);
  expect(drive.hashOf(back)).toBe(drive.hashOf(root));
  expect(drive.hashOf(root)).toBe(drive.hashOf(drive.dir([["hello.txt", drive.file(new Uint8Array(5000), 6)]], 6)));
});

const text = (length: number): string => "x".repeat(length);

test("a cache keeps what fits in half its capacity, and what is used", () => {
  const cache = createLru<string>(1000, ({ length }) => length);
  cache.set("used", text(10));
  for (let number = 0; number < 1000; number += 1) {
    cache.set(String(number), text(10));
    expect(cache.get("used")).toBe(text(10));
    expect(cache.get(String(Math.max(number - 20, 0)))).toBe(text(10));
  }
  expect(cache.get("1")).toBeUndefined();
});

test("what weighs more than half the capacity is not kept, and drops nothing", () => {
  const cache = createLru<string>(1000, ({ length }) => length);
  cache.set("small", text(10));
  cache.set("large", text(501));
  expect(cache.get("large")).toBeUndefined();
  expect(cache.get("small")).toBe(text(10));
  const none = createLru<string>(0, ({ length }) => length);
  none.set("a", text(1));
  expect(none.get("a")).toBeUndefined();
});

test("a value that is replaced does not count any more", () => {
  const cache = createLru<string>(1000, ({ length }) => length);
  cache.set("other", text(100));
  for (let turn = 0; turn < 100; turn += 1) cache.set("again", text(400));
  expect(cache.get("other")).toBe(text(100));
  expect(cache.get("again")).toBe(text(400));
});

class Counted extends Map<string, number> {
  iterators = 0;
  override keys() {
    this.iterators += 1;
    return super.keys();
  }
}

test("the oldest key is the first that is still there, whatever is deleted and added", () => {
  const map = new Map<string, number>();
  const oldest = new Oldest(map);
  expect(oldest.key).toBeUndefined();
  for (let at = 0; at < 3000; at++) {
    map.set(`k${at}`, at);
    if (at % 3 !== 0) map.delete(`k${at - (at % 7)}`);
    expect(oldest.key).toBe([...map.keys()][0]);
    if (at % 5 === 0) map.clear();
  }
});

test.each([
  ["the first stays", false],
  ["each first goes", true],
])("iterators are made now and then, neither for each look nor for good: %s", (_, goes) => {
  const map = new Counted([["first", 0]]);
  const oldest = new Oldest(map);
  for (let at = 0; at < 2560; at++) {
    map.set(`k${at}`, at);
    map.delete(goes ? (oldest.key ?? "") : `k${at}`);
    expect(oldest.key).toBeDefined();
  }
  expect(map.iterators).toBeGreaterThan(9);
  expect(map.iterators).toBeLessThan(30);
});
