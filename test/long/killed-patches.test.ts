import { expect, test } from "@jest/globals";
import { killPatches } from "../backend/host/group/killed-patches.js";

test.each([
  ["none", 300],
  ["flush", 200],
] as const)(
  "of many patches whose process is killed none is seen half done (durability %s)",
  async (durability, kills) => {
    const { halves, undone } = await killPatches(kills, durability);
    expect(halves).toEqual([]);
    // Else the kills came too early or too late to tell anything.
    expect(undone).toBeGreaterThan(kills / 20);
  },
  3_600_000,
);
