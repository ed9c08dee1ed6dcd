import { expect, test } from "@jest/globals";
import { killWhileWriting } from "./killing.js";

test("a process that is killed while it writes leaves every file whole, and nothing else", async () => {
  await killWhileWriting({ rounds: 6, maxDelayMs: 150 });
  expect.hasAssertions();
});

test("nor does one that takes replaced files for the next content", async () => {
  // After so many writes the native calls are there.
  await killWhileWriting({ rounds: 6, maxDelayMs: 150, bytes: 100_000, least: 400 });
  expect.hasAssertions();
});
