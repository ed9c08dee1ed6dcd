import { beforeEach, expect, test } from "@jest/globals";
import { createFileVerifier } from "../../../src/authz/file-verifier.js";
import type { SurfaceContext } from "../../../src/core/ports/adapter.js";
import { gives } from "../../ucan/chains.js";
import { alice, bob, clock } from "../../ucan/tokens.js";
import { useReferences } from "./ground.js";

const ground = useReferences({ verifier: createFileVerifier({ clock }) });
const ALICE: SurfaceContext = { callerDID: alice.did, authentication: "identity" };
const DRIVE = `${alice.did}/dlfs/unnamed`;
const BOB: SurfaceContext = { callerDID: bob.did, authentication: "identity" };
const HOLDING: SurfaceContext = { ...BOB, ucans: [gives(alice, bob, { att: [{ with: DRIVE, can: "crud" }] })] };

interface Entries {
  readonly entries: readonly { readonly id: string; readonly path: string }[];
}

beforeEach(async () => {
  for (const content of ["one", "two"]) await ground.call("file:write", { path: "dlfs/unnamed/a", content }, ALICE);
  await ground.call("file:delete", { path: "dlfs/unnamed/a" }, ALICE);
});

test.each(["dlfs/unnamed", "dlfs://unnamed", DRIVE])("a drive of the caller has its history by %s", async (top) => {
  const { entries } = (await ground.call("file:history", { path: `${top}/a` }, ALICE)) as unknown as Entries;
  expect(entries).toMatchObject([{ op: "delete" }, { op: "write" }, { op: "write", root: DRIVE, path: "a" }]);
  expect(await ground.call("file:trash", { path: top }, ALICE)).toMatchObject({ entries: [{ path: "a" }] });
  const read = { path: `${top}/a`, version: `${entries[1]?.id}:before` };
  expect(await ground.call("file:read", read, ALICE)).toMatchObject({ content: "one" });
  await ground.call("file:undo", { root: DRIVE, id: entries[0]?.id }, ALICE);
  expect(await ground.call("file:read", { path: `${top}/a` }, ALICE)).toMatchObject({ content: "two" });
  await ground.call("file:purge", { path: top }, ALICE);
  expect(await ground.call("file:trash", { path: top }, ALICE)).toMatchObject({ entries: [] });
});

test("a drive of another has none: a token opens what is there, not what was", async () => {
  for (const [operation, more] of [
    ["history", {}],
    ["trash", {}],
    ["purge", {}],
  ] as const) {
    expect(await ground.fail(`file:${operation}`, { path: `${DRIVE}/`, ...more }, HOLDING)).toMatchObject({
      code: "NOT_SUPPORTED",
      message: expect.stringContaining("Its owner has it"),
    });
    expect(await ground.fail(`file:${operation}`, { path: `${DRIVE}/`, ...more }, BOB)).toMatchObject({
      code: "CAPABILITY_DENIED",
    });
  }
  const [last] = ((await ground.call("file:history", { path: DRIVE }, ALICE)) as unknown as Entries).entries;
  await ground.call("file:write", { path: `${DRIVE}/a`, content: "three" }, ALICE);
  const version = { path: `${DRIVE}/a`, version: `${last?.id}:before` };
  expect(await ground.call("file:read", version, ALICE)).toMatchObject({ content: "two" });
  const never = { ...version, version: `${"0".repeat(26)}:before` };
  for (const one of [version, never])
    expect(await ground.fail("file:read", one, HOLDING)).toMatchObject({ code: "INVALID_INPUT" });
  const restore = { path: `${DRIVE}/a`, to: `${last?.id}:before` };
  expect(await ground.fail("file:restore", restore, HOLDING)).toMatchObject({ code: "INVALID_INPUT" });
  expect(await ground.call("file:read", { path: `${DRIVE}/a` }, HOLDING)).toMatchObject({ content: "three" });
  for (const undo of [{ id: last?.id }, { root: DRIVE, id: last?.id }, { root: DRIVE, last: 1 }])
    expect((await ground.fail("file:undo", undo, HOLDING)).code).toMatch(/^(?:NOT_FOUND|NOT_SUPPORTED)$/);
});

test("files of several roots and drives are read by one call, each by its reference", async () => {
  await ground.call("file:write", { root: "host", path: "h", content: "of the host" }, ALICE);
  await ground.call("file:write", { root: "mine", path: "m", content: "hers" }, ALICE);
  await ground.call("file:write", { path: "dlfs/unnamed/b", content: "of a drive" }, ALICE);
  const paths = ["file://host/h", "file:/mine/m", `${DRIVE}/b`, `${DRIVE}/none`];
  const files = paths.map((path) => ({ path }));
  expect(await ground.call("file:readMany", { files }, ALICE)).toMatchObject({
    files: [
      { path: paths[0], ok: true, content: "of the host" },
      { path: paths[1], ok: true, content: "hers" },
      { path: paths[2], ok: true, content: "of a drive" },
      { path: paths[3], ok: false, code: "NOT_FOUND" },
    ],
  });
  expect(await ground.call("file:readMany", { files }, BOB)).toMatchObject({
    files: [{ ok: true }, { ok: false }, { ok: false, code: "CAPABILITY_DENIED" }, { code: "CAPABILITY_DENIED" }],
  });
  for (const wrong of [[{ path: "h" }], [{ path: "file://host/h" }, { path: "h" }]])
    expect(await ground.fail("file:readMany", { files: wrong }, ALICE)).toMatchObject({
      code: "INVALID_INPUT",
      data: { pointer: "/root" },
    });
  expect(await ground.fail("file:readMany", { files: [{ path: "h" }, { path: "ftp://x/y" }] }, ALICE)).toMatchObject({
    code: "INVALID_INPUT",
  });
  const smuggled = [{ path: "h", at: { root: "host", path: "h" } }];
  expect(await ground.fail("file:readMany", { root: "host", files: smuggled }, ALICE)).toMatchObject({
    code: "INVALID_INPUT",
  });
});
