import { expect, test } from "@jest/globals";
import { killExtracts } from "./killed-extracts.js";

test("an archive that is unpacked or made by a process that is killed is never seen half done", async () => {
  const { halves, left } = await killExtracts(9);
  expect(halves).toEqual([]);
  // Else the kills came too early or too late to tell anything.
  expect(left).toBeGreaterThan(3);
}, 90_000);
