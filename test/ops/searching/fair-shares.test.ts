import { describe, expect, test } from "@jest/globals";
import fc from "fast-check";
import { fairShares } from "../../../src/ops/searching/fair-shares.js";

const wants = fc.array(fc.nat(40), { maxLength: 30 });
const sum = (numbers: readonly number[]) => numbers.reduce((a, b) => a + b, 0);

describe("fair shares", () => {
  test.each<[number[], number, number[]]>([
    [[], 5, []],
    [[3, 1], 0, [0, 0]],
    [[3, 1], 4, [3, 1]],
    [[9, 1, 9], 5, [2, 1, 2]],
    [[9, 1, 9], 6, [3, 1, 2]],
    [[2, 9, 3, 9], 12, [2, 4, 3, 3]],
  ])("of %j in %d are %j", (given, room, expected) => expect(fairShares(given, room)).toEqual(expected));

  test("use all the room, give nobody more than it wants, and differ by one at most among those who want more", () => {
    fc.assert(
      fc.property(wants, fc.nat(400), (given, room) => {
        const shares = fairShares(given, room);
        expect(sum(shares)).toBe(Math.min(room, sum(given)));
        expect(shares.every((share, at) => share >= 0 && share <= (given[at] ?? 0))).toBe(true);
        const short = shares.filter((share, at) => share < (given[at] ?? 0));
        const most = Math.max(0, ...shares);
        for (const share of short) expect(most - share).toBeLessThanOrEqual(1);
      }),
    );
  });
});
