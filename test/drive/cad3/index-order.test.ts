import { expect, test } from "@jest/globals";
import fc from "fast-check";
import { index } from "../../../src/drive/cad3/maps/index-map.js";
import { firstEntries, lastEntries } from "../../../src/drive/cad3/maps/index-order.js";

const key = fc.oneof(
  fc.string({ unit: fc.constantFrom("a", "b", "c", "é"), maxLength: 6 }),
  fc.nat(2000).map((number) => String(number).padStart(4, "0")),
);
const compare = (one: string, other: string): number => Buffer.compare(Buffer.from(one), Buffer.from(other));

test("entries from either end, and from any key on, are those of the sorted keys", () => {
  fc.assert(
    fc.property(
      fc.uniqueArray(key, { maxLength: 80 }),
      fc.option(key, { nil: undefined }),
      fc.nat(90),
      (keys, from, limit) => {
        const all = index(keys.map((name) => [name, 1n]));
        const sorted = keys.toSorted(compare);
        const up = sorted.filter((name) => from === undefined || compare(name, from) >= 0);
        const down = sorted.filter((name) => from === undefined || compare(name, from) <= 0).reverse();
        expect(firstEntries(all, limit, from).map((entry) => entry.key)).toEqual(up.slice(0, limit));
        expect(lastEntries(all, limit, from).map((entry) => entry.key)).toEqual(down.slice(0, limit));
      },
    ),
    { numRuns: 500 },
  );
});
