import { describe, expect, test } from "@jest/globals";
import { estimateBytes } from "../../../src/venue/jobs/record.js";

describe("the size of a record", () => {
  test.each<[string, unknown, number]>([
    ["a text", "hello", 16 + 5],
    ["a number", 1, 8],
    ["nothing", undefined, 8],
    ["an empty object", {}, 24],
    ["an object: keys and values", { ab: "cd", n: 1 }, 24 + (18 + 8 + 18) + (17 + 8 + 8)],
    ["an array", ["ab", null], 24 + (8 + 18) + (8 + 8)],
    ["nested parts", { a: [{ b: "c" }] }, 24 + (17 + 8 + 24) + (8 + 24) + (17 + 8 + 17)],
    ["bytes", new Uint8Array(100), 24 + 100],
  ])("counts %s", (_name, value, bytes) => {
    expect(estimateBytes(value)).toBe(bytes);
  });

  test("counts a list of small entries as at least what its strings, objects and numbers take", () => {
    const entries = Array.from({ length: 1000 }, (_, at) => ({ name: `file-${at}.txt`, type: "file", size: at }));
    // Two strings, an object of three places and a number, in a 64-bit process.
    expect(estimateBytes({ entries })).toBeGreaterThan(1000 * (2 * 24 + 48));
  });

  test("does not grow the stack with the depth of the value", () => {
    let value: unknown = "x";
    for (let i = 0; i < 200_000; i += 1) value = [value];
    expect(estimateBytes(value)).toBe(200_000 * (24 + 8) + 17);
  });

  test("ends on a value that contains itself", () => {
    const value: Record<string, unknown> = {};
    Object.assign(value, { a: value, b: value });
    expect(estimateBytes(value)).toBe(Number.POSITIVE_INFINITY);
  });
});
