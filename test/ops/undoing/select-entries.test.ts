import { expect, test } from "@jest/globals";
import type { Journal, JournalEntry, JournalQuery } from "../../../src/core/ports/changes/journal.js";
import type { PlacesCall } from "../../../src/core/ports/operation.js";
import { chooseEntries } from "../../../src/ops/undoing/select-entries.js";

const entry = (id: number, more: Partial<JournalEntry> = {}): JournalEntry =>
  ({
    id: `${id}`.padStart(5, "0"),
    op: "write",
    root: "r",
    path: ["f"],
    actor: "operator",
    via: "p",
    ...more,
  }) as never;

/** How many entries are looked at to find the newest that stand. */
async function lookedAt(entries: readonly JournalEntry[], last: number): Promise<[string[], number]> {
  let looks = 0;
  const journal = {
    query: async ({ limit, before, sees }: JournalQuery) => {
      const found: JournalEntry[] = [];
      for (const one of entries) {
        if (before !== undefined && one.id >= before) continue;
        if (found.length === limit) return { entries: found, next: found.at(-1)?.id, complete: true };
        looks += 1;
        if (sees(one)) found.push(one);
      }
      return { entries: found, complete: true };
    },
    group: async (id: string) => entries.filter(({ group }) => group === id),
  } as unknown as Journal;
  const root = { name: "r", readOnly: false, journal: { mode: "on", open: () => journal } };
  const view = { root, isVisible: true, allows: () => true };
  const call = { roots: () => [view], at: () => {}, origin: { actor: "operator", via: "p" } } as unknown as PlacesCall;
  const chosen = await chooseEntries({ last }, call);
  return [chosen.flatMap((one) => one.entries.map(({ id }) => id)), looks];
}

test("the newest changes are found without a look at what was undone before them", async () => {
  const undone = Array.from({ length: 1000 }, (_, index) => entry(1000 - index, { undoneBy: "x" }));
  const newest = [entry(2003), entry(2002, { group: "g1" }), entry(2001, { group: "g1" })];
  expect(await lookedAt([...newest, ...undone], 1)).toEqual([["02003"], 1]);
  expect(await lookedAt([...newest, ...undone], 2)).toEqual([["02003", "02002", "02001"], 2]);
});

test("a group of many counts as one change, and what is behind it is found", async () => {
  const group = Array.from({ length: 300 }, (_, index) => entry(3000 - index, { group: "g1" }));
  const [ids] = await lookedAt([...group, entry(2), entry(1)], 2);
  expect(ids).toHaveLength(301);
  expect(ids.at(-1)).toBe("00002");
});
