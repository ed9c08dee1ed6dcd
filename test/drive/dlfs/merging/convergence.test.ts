import { describe, expect, test } from "@jest/globals";
import fc from "fast-check";
import { converges, LONG_NAMES, PLAIN_NAMES, schedules } from "./replicas.js";
import { mergeThree } from "./three-copies.js";

/** Of each kind; `test/long` has 10,000. */
const RUNS = { numRuns: 150 };

describe("copies of a drive that were changed while apart", () => {
  test.each([
    ["with short names", PLAIN_NAMES],
    ["with names of up to 255 bytes", LONG_NAMES],
  ])("are equal in the end, whatever their clocks said and whenever they heard of each other: %s", (_, names) => {
    fc.assert(fc.property(schedules(names), converges), RUNS);
  });
});

/** `test/long` merges 10,000. */
test("three copies with names of 1 to 255 bytes come to one tree, whatever the order", () => {
  expect(mergeThree(400, 1)).toBeGreaterThan(200);
});
