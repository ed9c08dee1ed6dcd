import { beforeEach, describe, expect, test } from "@jest/globals";
import { createFileVerifier } from "../../../src/authz/file-verifier.js";
import type { SurfaceContext } from "../../../src/core/ports/adapter.js";
import type { ApprovalRequest } from "../../../src/core/ports/approval.js";
import { gives } from "../../ucan/chains.js";
import { alice, bob, clock } from "../../ucan/tokens.js";
import { ALICE, useReferences } from "./ground.js";

const OWN = `${ALICE.callerDID}/dlfs/notes`;

/** The spellings of a place: the one with a root, and those by references. */
const PLACES: readonly [string, string, readonly string[]][] = [
  ["host", "file://host", ["file://host", "file:/host"]],
  ["tmp", "file://tmp", ["file://tmp", "file:/tmp"]],
  ["mine", OWN, ["file://mine", "dlfs/notes", "dlfs://notes", OWN]],
];
const SPELLED = PLACES.flatMap(([root, canonical, all]) => all.map((one) => [one, root, canonical] as const));

describe.each(SPELLED)("by %s, what is in the root %s", (top, root, canonical) => {
  const ground = useReferences();

  test("is created, read, listed and found", async () => {
    const made = await ground.call("file:create", { path: `${top}/a%20b.txt`, content: { inline: "one\n" } });
    expect(made).toEqual({ ref: `${canonical}/a%20b.txt`, written: 4, created: true, etag: expect.any(String) });
    const whole = await ground.call("file:read", { path: made["ref"] });
    expect(whole).toEqual(await ground.call("file:read", { root, path: "a%20b.txt" }));
    expect(whole).toMatchObject({ content: "one\n" });
    for (const [operation, input] of [
      ["list", {}],
      ["stat", {}],
      ["glob", { pattern: "*.txt" }],
      ["grep", { pattern: "one" }],
      ["du", {}],
    ] as const) {
      expect(await ground.call(`file:${operation}`, { ...input, path: top })).toEqual(
        await ground.call(`file:${operation}`, { ...input, root, path: "" }),
      );
    }
    expect(await ground.call("file:hash", { path: made["ref"] })).toMatchObject({ etag: made["etag"] });
    expect(await ground.call("file:tree", { path: top })).toMatchObject({ tree: expect.stringContaining("a%20b.txt") });
  });

  test("is written, moved and copied", async () => {
    expect(await ground.call("file:write", { path: `${top}/a`, content: "x" })).toMatchObject({ created: true });
    expect(await ground.call("file:append", { path: `${top}/a`, content: "y" })).toMatchObject({ size: 2 });
    expect(await ground.call("file:mkdir", { path: `${top}/d` })).toEqual({ created: true, path: "d" });
    const moved = await ground.call("file:move", { from: `${top}/a`, to: `${top}/d/b` });
    expect(moved).toEqual({
      ...{ moved: true, from: `${canonical}/a`, to: `${canonical}/d/b`, atomic: true },
      ...(moved["etag"] === undefined ? {} : { etag: expect.any(String) }),
    });
    const copied = await ground.call("file:copy", { from: `${top}/d/b`, to: "c" });
    expect(copied).toMatchObject({ copied: true, from: `${canonical}/d/b`, to: `${canonical}/c`, files: 1 });
    expect(copied).not.toHaveProperty("path");
    expect(await ground.call("file:read", { root, path: "c" })).toMatchObject({ content: "xy" });
    expect(await ground.fail("file:copy", { from: `${top}/d/b`, to: "c" })).toMatchObject({ code: "ALREADY_EXISTS" });
    expect(await ground.fail("file:move", { from: `${top}/c`, to: "no/c" })).toMatchObject({ code: "PARENT_MISSING" });
  });

  test("is copied without what is in it, unless the call says so", async () => {
    await ground.call("file:write", { root, path: "d/e/f", content: "x", parents: true });
    const empty = await ground.call("file:copy", { from: `${top}/d`, to: "g" });
    expect(empty).toMatchObject({ copied: true, hint: expect.stringContaining("recursive: true") });
    expect(await ground.call("file:list", { root, path: "g" })).toMatchObject({ entries: [] });
    await ground.call("file:copy", { from: `${top}/d`, to: "h", recursive: true });
    expect(await ground.call("file:read", { root, path: "h/e/f" })).toMatchObject({ content: "x" });
  });
});

describe("approvals of another venue", () => {
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
});
