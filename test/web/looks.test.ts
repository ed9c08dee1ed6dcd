// Which calls the activity takes for look-ups of a page.
import { expect, test } from "@jest/globals";
import { isLookOfPage, type Viewer } from "../../web/src/activity/looks.js";

const SESSION = "5".repeat(32);
const OTHER_SESSION = "6".repeat(32);
const AGENT = "a".repeat(32);
const PROCESS = "p0123456789abcdef";
const ALICE = "did:key:z6Mk:token:alice";

const isLook = (record: Partial<Parameters<typeof isLookOfPage>[0]>, me: Viewer | undefined) =>
  isLookOfPage(
    { operation: "file:list", outcome: "OK", caller: ALICE, via: SESSION, ...record },
    me,
    (via) => via === OTHER_SESSION,
  );
const bySession: Viewer = { did: ALICE, via: SESSION };
const byPasted: Viewer = { did: ALICE };

test.each<[string, Parameters<typeof isLook>[0], Viewer | undefined, boolean]>([
  ["by the session of the page", {}, bySession, true],
  ["by the session of somebody else's page", { via: OTHER_SESSION, caller: "did:key:other" }, bySession, true],
  ["by the token that was pasted into the page", { via: PROCESS }, byPasted, true],
  ["of events, by the page", { operation: "file:watch" }, bySession, true],
  ["by an agent with a token of its own", { via: AGENT, caller: "did:key:z6Mk:access:a" }, bySession, false],
  ["by an agent of the operator on this machine", { via: PROCESS, caller: "operator" }, bySession, false],
  ["by an agent with the same static token, while the page has a session", { via: PROCESS }, bySession, false],
  ["by an agent's token, where nobody is signed in", { via: AGENT }, undefined, false],
  ["that was denied", { outcome: "CAPABILITY_DENIED" }, bySession, false],
  ["at an address that is a folder's", { operation: "file:read", outcome: "IS_A_DIRECTORY" }, bySession, true],
  ["at a folder by an agent", { operation: "file:read", outcome: "IS_A_DIRECTORY", via: AGENT }, bySession, false],
  ["that is a change of a folder", { operation: "file:write", outcome: "IS_A_DIRECTORY" }, bySession, false],
  ["that is a change", { operation: "file:write" }, bySession, false],
  ["that is an operation of later versions", { operation: "file:ponder" }, bySession, false],
])("a call %s", (_what, record, me, expected) => {
  expect(isLook(record, me)).toBe(expected);
});
