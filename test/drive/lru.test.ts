import { expect, test } from "@jest/globals";
import { createLru } from "../../src/drive/lru.js";

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
