import { expect, test } from "@jest/globals";
import { OPERATIONS } from "../../../src/ops/registry.js";
import { VENUE_OPERATIONS } from "../../../src/venue/operations/venue-adapters.js";
import { runHere } from "../in-process.js";

test("the help of call names every operation", async () => {
  const { stdout } = await runHere(["help", "call"]);
  const named: readonly string[] = stdout.slice(stdout.indexOf("Operations:")).match(/\b[a-z]+:[a-zA-Z]+\b/g) ?? [];
  const all = [...OPERATIONS.map(({ name }) => `file:${name}`), ...VENUE_OPERATIONS.map(({ name }) => name)];
  expect(all.filter((name) => !named.includes(name))).toEqual([]);
});
