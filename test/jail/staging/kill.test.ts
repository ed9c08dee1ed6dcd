import { expect, test } from "@jest/globals";
import { killWhileWriting } from "./killing.js";

test("a process that is killed while it writes leaves every file whole, and nothing else", async () => {
  await killWhileWriting({ rounds: 6, maxDelayMs: 150 });
  expect.hasAssertions();
});
