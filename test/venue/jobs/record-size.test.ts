import { describe, expect, test } from "@jest/globals";
import { estimateBytes } from "../../../src/venue/jobs/record-size.js";

describe("the size of a record", () => {
  test.each<[string, unknown, number]>([
    ["a text", "hello", 5],
    ["a number", 1, 8],
    ["nothing", undefined, 8],
    ["an empty object", {}, 16],
    ["an object: keys and values", { ab: "cd", n: 1 }, 16 + 2 + 2 + 1 + 8],
    ["an array", ["ab", null], 16 + 2 + 8],
    ["nested parts", { a: [{ b: "c" }] }, 16 + 1 + 16 + 16 + 1 + 1],
    ["bytes", new Uint8Array(100), 100],
  ])("counts %s", (_name, value, bytes) => {
    expect(estimateBytes(value)).toBe(bytes);
  });

  test("does not grow the stack with the depth of the value", () => {
    let value: unknown = "x";
    for (let i = 0; i < 200_000; i += 1) value = [value];
    expect(estimateBytes(value)).toBe(200_000 * 16 + 1);
  });

  test("ends on a value that contains itself", () => {
    const value: Record<string, unknown> = {};
    Object.assign(value, { a: value, b: value });
    expect(estimateBytes(value)).toBe(Number.POSITIVE_INFINITY);
  });
});
