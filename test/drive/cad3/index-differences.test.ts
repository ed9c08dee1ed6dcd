import { describe, expect, test } from "@jest/globals";
import fc from "fast-check";
import { type CadIndex, index } from "../../../src/drive/cad3/maps/index-map.js";
import { differencesOf } from "../../../src/drive/engine/content/differences.js";
import { runSteps } from "../../../src/drive/steps.js";

type Entries = readonly (readonly [string, string])[];

function differences(own: CadIndex, other: CadIndex): string[] {
  const found: string[] = [];
  runSteps(differencesOf(own, other, (one, two) => found.push(`${one?.key}=${one?.value} ${two?.key}=${two?.value}`)));
  return found.sort();
}

/** By looking at every entry. Keys that share a slot are one. */
function plainly(own: CadIndex, other: CadIndex): string[] {
  const found: string[] = [];
  const text = (key: unknown, value: unknown): string => `${key}=${value}`;
  for (const [key, value] of own) {
    const there = other.entry(key);
    if (there?.key === key && there.value === value) continue;
    found.push(`${text(key, value)} ${text(there?.key, there?.value)}`);
  }
  for (const [key, value] of other) {
    if (own.entry(key) === undefined) found.push(`undefined=undefined ${text(key, value)}`);
  }
  return found.sort();
}

const LONG = "k".repeat(40);
const key = fc.oneof(
  fc.string({ minLength: 1, maxLength: 3, unit: fc.constantFrom("a", "b", "p", "é") }),
  fc.constantFrom(LONG, `${LONG}2`, LONG.slice(0, 31), LONG.slice(0, 32)),
);
const entries: fc.Arbitrary<Entries> = fc.array(
  fc.tuple(key, fc.oneof(fc.constantFrom("x", "y"), fc.constant("z".repeat(300)))),
  { maxLength: 30 },
);

describe("the differences of two indexes", () => {
  test("are those that looking at every entry finds", () => {
    fc.assert(
      fc.property(entries, entries, (one, two) => {
        const [own, other] = [index(one), index(two)];
        expect(differences(own, other)).toEqual(plainly(own, other));
      }),
    );
  });

  test("of a large one that was changed in few places are found without looking at the others", () => {
    const own = index(
      Array.from({ length: 20_000 }, (_, place) => [`name ${place}`, `${place}`.padEnd(150, "v")] as const),
    );
    const other = own.with("name 77", "changed").without("name 9999").with("fresh", "new");
    let steps = 0;
    const found: unknown[] = [];
    const work = differencesOf(own, other, (one, two) => found.push([one?.key, two?.key]));
    while (work.next().done !== true) steps += 1;
    expect(found).toHaveLength(3);
    expect(steps).toBeLessThan(60);
  });
});
