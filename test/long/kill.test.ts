import { expect, test } from "@jest/globals";
import { killWhileWriting } from "../jail/staging/killing.js";

test("a hundred kills in the middle of writes leave every file whole, and nothing else", async () => {
  await killWhileWriting({ rounds: 100, maxDelayMs: 400 });
  expect.hasAssertions();
});
