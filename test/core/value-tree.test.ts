import { describe, expect, test } from "@jest/globals";
import { countValue, listValue, readValue, sliceValue } from "../../src/core/value-tree.js";

const TREE = {
  map: { b: 1, a: { deep: "é" }, "": 0 },
  vector: ["x", { y: [true] }, null],
  text: "text",
  long: 12,
  double: 1.5,
  yes: true,
  nothing: null,
  empty: {},
};
const PAGE = { offset: 0, limit: 1000 };
const ABSENT = { exists: false };

describe("a value", () => {
  test.each([
    ["map/b", 1, "Long"],
    ["/map/a/deep", "é", "String"],
    ["map/", 0, "Long"],
    ["vector/0", "x", "String"],
    ["vector/1/y/0", true, "Boolean"],
    ["vector/2", null, "Null"],
    ["vector", TREE.vector, "Vector"],
    ["double", 1.5, "Double"],
    ["nothing", null, "Null"],
    ["empty", {}, "Map"],
    ["", TREE, "Map"],
    ["/", TREE, "Map"],
  ])("at %j is read, with its type and its size as JSON", (path, value, type) => {
    const valueBytes = Buffer.byteLength(JSON.stringify(value));
    expect(readValue(TREE, path)).toEqual({ exists: true, value, type, valueBytes });
  });

  test.each([
    "nope",
    "map/nope",
    "map/a/deep/0",
    "//map",
    "text/0",
    "text/length",
    "nothing/x",
    "vector/3",
    "vector/-1",
    "vector/01",
    "vector/1.0",
    "vector/ 1",
    "vector/length",
    "vector/map",
    "__proto__",
    "constructor",
    "map/__proto__",
    "map/toString",
    "vector/constructor/name",
    "w/x",
  ])("at %j does not exist, whatever is asked", (path) => {
    for (const answer of [
      readValue(TREE, path),
      readValue(TREE, path, 0),
      listValue(TREE, path, PAGE),
      sliceValue(TREE, path, PAGE),
      countValue(TREE, path),
    ]) {
      expect(answer).toEqual(ABSENT);
    }
  });

  test("that really has a key like __proto__ shows it", () => {
    const tree = JSON.parse('{"__proto__":{"x":1}}');
    expect(readValue(tree, "__proto__/x")).toMatchObject({ exists: true, value: 1 });
  });

  test("over the size asked for is left out", () => {
    const truncated = { exists: true, truncated: true, type: "String", valueBytes: 4 };
    expect(readValue(TREE, "map/a/deep", 3)).toEqual(truncated);
    expect(readValue(TREE, "map/a/deep", 4)).toMatchObject({ value: "é" });
    expect(readValue(TREE, "nothing", 0)).toEqual({ exists: true, truncated: true, type: "Null", valueBytes: 4 });
  });
});

describe("the parts of a value", () => {
  test("of a map are its keys, in pages", () => {
    expect(listValue(TREE, "map", PAGE)).toEqual({
      exists: true,
      type: "Map",
      count: 3,
      offset: 0,
      keys: ["b", "a", ""],
    });
    expect(listValue(TREE, "map", { offset: 1, limit: 1 })).toEqual({
      exists: true,
      type: "Map",
      count: 3,
      offset: 1,
      keys: ["a"],
    });
    expect(listValue(TREE, "map", { offset: 5, limit: 1 })).toMatchObject({ count: 3, offset: 5, keys: [] });
  });

  test("of anything else are only counted by list", () => {
    expect(listValue(TREE, "vector", PAGE)).toEqual({ exists: true, type: "Vector", count: 3, offset: 0 });
    expect(listValue(TREE, "text", PAGE)).toEqual({ exists: true, type: "String", count: 0, offset: 0 });
  });

  test("are sliced as items, or as keys with values", () => {
    expect(sliceValue(TREE, "vector", { offset: 1, limit: 1 })).toEqual({
      exists: true,
      type: "Vector",
      values: [{ y: [true] }],
      count: 3,
      offset: 1,
    });
    expect(sliceValue(TREE, "map", { offset: 1, limit: 9 })).toEqual({
      exists: true,
      type: "Map",
      values: [
        { key: "a", value: { deep: "é" } },
        { key: "", value: 0 },
      ],
      count: 3,
      offset: 1,
    });
    expect(sliceValue(TREE, "long", PAGE)).toEqual({ exists: true, type: "Long", values: [], count: 0, offset: 0 });
  });

  test.each([
    ["map", { exists: true, count: 3 }],
    ["vector", { exists: true, count: 3 }],
    ["empty", { exists: true, count: 0 }],
    ["text", ABSENT],
    ["nothing", ABSENT],
  ])("of %s are counted", (path, counted) => {
    expect(countValue(TREE, path)).toEqual(counted);
  });
});
