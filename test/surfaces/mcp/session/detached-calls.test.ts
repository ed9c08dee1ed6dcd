import { expect, test } from "@jest/globals";
import type { Caller } from "../../../../src/core/call/caller.js";
import { DetachedCalls } from "../../../../src/surfaces/mcp/http.js";

const whole: Caller = { did: "did:key:zAlice", authentication: "identity", isOperator: false };
const narrowed: Caller = { ...whole, authentication: "ucan", narrowedTo: "did:key:zAlice one" };

test.each([
  ["its DID", whole, narrowed, false],
  ["the same token", narrowed, narrowed, true],
])("a caller whom a token restricts cancels a call of %s: %#", (_whose, owner, canceller, expected) => {
  const calls = new DetachedCalls();
  const { signal } = calls.start(owner, 1);
  calls.cancel(canceller, 1);
  expect(signal.aborted).toBe(expected);
});
