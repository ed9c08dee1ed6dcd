import { expect, test } from "@jest/globals";
import { Oldest } from "../../src/drive/oldest.js";

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
