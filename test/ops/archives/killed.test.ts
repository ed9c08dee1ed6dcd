import { expect, test } from "@jest/globals";
import { killExtracts } from "./killed-extracts.js";

test("an archive that is unpacked or made by a process that is killed is never seen half done", async () => {
  const { halves, amid, left } = await killExtracts(9);
  expect(halves).toEqual([]);
  expect([amid, left]).toEqual([3, 3]);
});
