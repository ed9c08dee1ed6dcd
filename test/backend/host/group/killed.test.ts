import { expect, test } from "@jest/globals";
import { killPatches } from "./killed-patches.js";

test.each([
  ["none", 17],
  ["flush", 8],
] as const)(
  "a patch whose process is killed is never seen half done (durability %s)",
  async (durability, kills) => {
    expect(await killPatches(kills, durability)).toMatchObject({ halves: [] });
  },
  60_000,
);
