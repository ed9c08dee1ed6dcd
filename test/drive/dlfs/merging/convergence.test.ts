import { describe, test } from "@jest/globals";
import fc from "fast-check";
import { CLASHING_NAMES, converges, PLAIN_NAMES, schedules } from "./replicas.js";

/** Of each kind; `test/long` has 10,000. */
const RUNS = { numRuns: 150 };

describe("copies of a drive that were changed while apart", () => {
  test.each([
    ["none of whose names clash", PLAIN_NAMES],
    ["some of whose names clash", CLASHING_NAMES],
  ])("are equal in the end, whatever their clocks said and whenever they heard of each other: %s", (_, names) => {
    fc.assert(fc.property(schedules(names), converges), RUNS);
  });
});
