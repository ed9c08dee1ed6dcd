import { expect, test } from "@jest/globals";
import fc from "fast-check";
import { isoTime } from "../../src/core/clock.js";

/** The last millisecond of a `Date`. */
const LAST_MS = 8.64e15;

test("a time is written as by Date.toISOString, before and after any other", () => {
  const times = fc.array(fc.integer({ min: -LAST_MS, max: LAST_MS }), { minLength: 1 });
  const near = fc.array(fc.integer({ min: -200_000_000, max: 200_000_000 }), { minLength: 1 });
  fc.assert(
    fc.property(fc.oneof(times, near), (all) => {
      for (const ms of all) expect(isoTime(ms)).toBe(new Date(ms).toISOString());
    }),
  );
  for (const ms of [0, -1, 86_399_999, 86_400_000, LAST_MS, -LAST_MS]) {
    expect(isoTime(ms)).toBe(new Date(ms).toISOString());
  }
});

test("a time that no Date can hold is refused", () => {
  for (const ms of [LAST_MS + 86_400_000, Number.NaN, Number.POSITIVE_INFINITY]) {
    expect(() => isoTime(ms)).toThrow(RangeError);
  }
});
