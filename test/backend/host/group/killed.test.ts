import { expect, test } from "@jest/globals";
import { killPatches } from "./killed-patches.js";

test.each([
  ["none", 17],
  ["flush", 8],
] as const)(
  "a patch whose process is killed is never seen half done (durability %s)",
  async (durability, kills) => {
    const { halves, undone } = await killPatches(kills, durability);
    expect(halves).toEqual([]);
    // Else the kills came too early or too late to tell anything.
    expect(undone).toBeGreaterThan(kills / 3);
  },
  60_000,
);
