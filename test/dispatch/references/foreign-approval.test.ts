import { beforeEach, expect, test } from "@jest/globals";
import { createFileVerifier } from "../../../src/authz/file-verifier.js";
import type { SurfaceContext } from "../../../src/core/ports/adapter.js";
import type { ApprovalRequest } from "../../../src/core/ports/approval.js";
import { gives } from "../../ucan/chains.js";
import { alice, bob, clock } from "../../ucan/tokens.js";
import { useReferences } from "./ground.js";

const asked: ApprovalRequest[] = [];
let isAllowed = false;
const ground = useReferences(
  { verifier: createFileVerifier({ clock }) },
  {
    approvals: {
      isForClients: false,
      ask: (request) => ({ id: String(asked.push(request)), expires: 0 }),
      use: () => (isAllowed ? undefined : "expired"),
      decidedBy: () => "somebody",
      question: () => undefined,
    },
  },
);

const DRIVE = `${alice.did}/dlfs/notes`;
const att = [{ with: DRIVE, can: "crud" }];
const BOB: SurfaceContext = { callerDID: bob.did, authentication: "identity", surface: "mcp" };
const holding: SurfaceContext = { ...BOB, ucans: [gives(alice, bob, { att })] };

beforeEach(async () => {
  isAllowed = true;
  for (const callerDID of [alice.did, bob.did]) {
    const context: SurfaceContext = { callerDID, authentication: "identity", approval: "1" };
    await ground.call("dlfs:write", { drive: "notes", path: "a", content: "x" }, context);
  }
  isAllowed = false;
  asked.length = 0;
});

test("a person who is asked about a change in a drive is told whose it is, not who asks", async () => {
  const fields = { content: "y" };
  expect(await ground.fail("file:write", { path: `${DRIVE}/a`, ...fields }, holding)).toMatchObject({
    code: "APPROVAL_REQUIRED",
  });
  expect(await ground.fail("file:write", { path: "dlfs/notes/a", ...fields }, BOB)).toMatchObject({
    code: "APPROVAL_REQUIRED",
  });
  expect(await ground.fail("file:write", { root: "mine", path: "a", ...fields }, BOB)).toMatchObject({
    code: "APPROVAL_REQUIRED",
  });
  expect(asked.map(({ driveOwner }) => driveOwner)).toEqual([alice.did, bob.did, bob.did]);
});

test("what is allowed in the drive of one owner is not allowed in one of another, whose root has the same name", async () => {
  isAllowed = true;
  const there = { root: "mine", path: "moved" };
  for (const [from, to] of [
    [`${DRIVE}/a`, "file://mine/moved"],
    ["file://mine/a", `${DRIVE}/moved`],
  ]) {
    expect(await ground.fail("file:move", { from, to }, { ...holding, approval: "1" })).toMatchObject({
      code: "NOT_SUPPORTED",
    });
  }
  expect(await ground.fail("file:read", there, holding)).toMatchObject({ code: "NOT_FOUND" });
  expect(
    await ground.call("file:copy", { from: `${DRIVE}/a`, to: "file://mine/b" }, { ...holding, approval: "1" }),
  ).toMatchObject({
    copied: true,
  });
});

test("a token of an owner who has no such drive makes none", async () => {
  const drive = `${alice.did}/dlfs/other`;
  const ucans = [gives(alice, bob, { att: [{ with: drive, can: "crud" }] })];
  for (const [operation, fields] of [
    ["file:write", { content: "y" }],
    ["file:append", { content: "y" }],
    ["file:mkdir", {}],
    ["file:create", {}],
  ] as const) {
    const failure = await ground.fail(operation, { path: `${drive}/a`, ...fields }, { ...BOB, ucans });
    expect(failure).toMatchObject({ code: "NOT_FOUND" });
  }
  const context: SurfaceContext = { callerDID: alice.did, authentication: "identity" };
  expect(await ground.call("dlfs:list-drives", {}, context)).toMatchObject({
    drives: [expect.stringContaining("notes")],
  });
});
