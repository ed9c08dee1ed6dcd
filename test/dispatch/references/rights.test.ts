import { describe, expect, test } from "@jest/globals";
import { createFileVerifier } from "../../../src/authz/file-verifier.js";
import type { SurfaceContext } from "../../../src/core/ports/adapter.js";
import { owner as alice, lead as bob, worker as carol, gives } from "../../ucan/chains.js";
import { clock } from "../../ucan/tokens.js";
import { useReferences } from "./ground.js";

const ground = useReferences({ verifier: createFileVerifier({ clock }) });
const ALICE: SurfaceContext = { callerDID: alice.did, authentication: "identity" };
const BOB: SurfaceContext = { callerDID: bob.did, authentication: "identity" };
const OWN = `${alice.did}/dlfs/notes`;
const PLACES = [
  ["host", "file://host"],
  ["tmp", "file:/tmp"],
  ["mine", "file://mine"],
] as const;
/** Calls of upstream, in our fields and in its own. */
const CALLS: readonly (readonly [string, string, object])[] = [
  ["read", "crud/read", {}],
  ["list", "crud/read", {}],
  ["tree", "crud/read", {}],
  ["stat", "crud/read", {}],
  ["hash", "crud/read", {}],
  ["write", "crud/write", { content: "x" }],
  ["append", "crud/write", { content: "x" }],
  ["create", "crud/write", {}],
  ["mkdir", "crud/write", {}],
  ["delete", "crud/delete", {}],
];

describe.each(PLACES)("in %s, also by %s", (root, top) => {
  const rows = ["there", "none", "no/way"].flatMap((path) => CALLS.map((call) => [...call, path] as const));
  test.each(rows)("%s without %s is refused alike in both spellings", async (name, can, more, path) => {
    await ground.call("file:write", { root, path: "there", content: "x" }, ALICE);
    const others = ["crud/read", "crud/write", "crud/delete"].filter((one) => one !== can);
    for (const caps of [[], others.map((one) => ({ with: `file://${root}/`, can: one }))]) {
      const context = { ...ALICE, caps };
      const ours = await ground.fail(`file:${name}`, { root, path, ...more }, context);
      expect(ours).toMatchObject({
        code: "CAPABILITY_DENIED",
        data: { required: { with: `file://${root}/${path}`, can } },
      });
      expect(await ground.fail(`file:${name}`, { path: `${top}/${path}`, ...more }, context)).toEqual(ours);
    }
  });

  test.each(["move", "copy"])("%s without a right is refused alike in both spellings", async (name) => {
    await ground.call("file:write", { root, path: "there", content: "x" }, ALICE);
    const needs = name === "move" ? ["crud/read", "crud/delete"] : ["crud/read"];
    for (const path of ["there", "none"]) {
      for (const lacking of [...needs, "crud/write"]) {
        const kept = ["crud/read", "crud/write", "crud/delete"].filter((one) => one !== lacking);
        const context = { ...ALICE, caps: kept.map((can) => ({ with: `file://${root}/`, can })) };
        const ours = await ground.fail(`file:${name}`, { root, path, to: "new" }, context);
        expect(ours).toMatchObject({ code: "CAPABILITY_DENIED", data: { required: { can: lacking } } });
        const from = `${top}/${path}`;
        expect(await ground.fail(`file:${name}`, { from, to: `${top}/new` }, context)).toEqual(ours);
        expect(await ground.fail(`file:${name}`, { root, from: path, to: "new" }, context)).toEqual(ours);
      }
    }
  });
});

test.each([
  ["read", { path: "a" }, "/root"],
  ["read", { path: "file:///a" }, "/path"],
  ["read", { path: "dlfs://" }, "/path"],
  ["read", { path: "ftp://host/a" }, "/path"],
  ["move", { to: "file://host/a" }, "/path"],
  ["move", { from: "a", to: "b" }, "/root"],
  ["move", { from: "file://host/a", path: "a", to: "b" }, "/path"],
  ["move", { root: "tmp", from: "file://host/a", to: "b" }, "/root"],
  ["copy", { from: "file://host/a", toRoot: "tmp", to: "file://host/b" }, "/toRoot"],
  ["copy", { from: "file://host/a", to: "ftp://host/b" }, "/to"],
  ["write", { root: "host", path: "a", asset: "a", contentRef: "b" }, "/contentRef"],
  ["write", { root: "host", path: "a", contentRef: "file:///b" }, "/contentRef"],
])("a call that cannot be meant is told before rights are judged: %s %j", async (name, input, pointer) => {
  const failure = await ground.fail(`file:${name}`, input, { ...ALICE, caps: [] });
  expect(failure).toMatchObject({ code: "INVALID_INPUT", data: { pointer } });
});

test("with a root, dlfs/ is a folder like any other", async () => {
  await ground.call("file:write", { root: "host", path: "dlfs/notes/a", content: "x", parents: true }, ALICE);
  expect(await ground.call("file:read", { root: "host", path: "dlfs/notes/a" }, ALICE)).toMatchObject({ content: "x" });
  expect(await ground.fail("file:read", { path: "dlfs/notes/a" }, ALICE)).toMatchObject({ code: "NOT_FOUND" });
  const moved = await ground.call("file:move", { root: "host", from: "dlfs/notes/a", to: "dlfs/notes/b" }, ALICE);
  expect(moved).toMatchObject({ from: "file://host/dlfs/notes/a", to: `${OWN}/b`, atomic: false, files: 1 });
});

test.each(["dlfs/notes/", "dlfs://notes/", `${OWN}/`, "file://mine/"])(
  "caps on %s open the drive by each of its names, and nothing else",
  async (resource) => {
    const context = { ...ALICE, caps: [{ with: resource, can: "crud" }] };
    for (const [index, place] of [{ root: "mine" }, ...["dlfs/notes", "dlfs://notes", OWN, "file://mine"]].entries()) {
      const input = typeof place === "string" ? { path: `${place}/${index}` } : { ...place, path: `${index}` };
      expect(await ground.call("file:write", { ...input, content: "x" }, context)).toMatchObject({ created: true });
      expect(await ground.call("file:read", input, context)).toMatchObject({ content: "x" });
    }
    for (const path of ["dlfs/other/a", "file://host/a", `${bob.did}/dlfs/notes/a`])
      expect(await ground.fail("file:read", { path }, context)).toMatchObject({ code: "CAPABILITY_DENIED" });
  },
);

describe("a drive of another", () => {
  const place = `${OWN}/shared`;
  const token = (att: readonly object[], given: object = {}) => gives(alice, bob, { att, ...given });
  const as = (...ucans: string[]): SurfaceContext => ({ ...BOB, ucans });

  test("is open where its owner says so, for what it says, and changed as its owner's", async () => {
    await ground.call("file:write", { path: "dlfs/notes/shared/a", content: "hers", parents: true }, ALICE);
    for (const resource of [place, "dlfs/notes/shared/", "dlfs://notes/shared"]) {
      const reader = as(token([{ with: resource, can: "crud/read" }]));
      expect(await ground.call("file:read", { path: `${place}/a` }, reader)).toMatchObject({ content: "hers" });
      expect(await ground.fail("file:write", { path: `${place}/a`, content: "x" }, reader)).toMatchObject({
        code: "CAPABILITY_DENIED",
        data: { required: { with: `${place}/a`, can: "crud/write" }, reasons: ["not_covered"] },
      });
    }
    ground.changes.length = 0;
    const writer = as(token([{ with: place, can: "crud" }]));
    await ground.call("file:write", { path: `${place}/b`, content: "by bob" }, writer);
    expect(await ground.call("file:read", { path: "dlfs/notes/shared/b" }, ALICE)).toMatchObject({ content: "by bob" });
    const { entries } = (await ground.call("file:history", { root: "mine", path: "shared/b" }, ALICE)) as {
      entries: unknown;
    };
    expect(entries).toMatchObject([{ actor: bob.did, op: "write", path: "shared/b" }]);
    expect(ground.changes).toMatchObject([{ root: "notes", scheme: "dlfs", driveOwner: alice.did, actor: bob.did }]);
    expect(ground.audit.at(-3)).toMatchObject({
      caller: bob.did,
      resource: `${place}/b`,
      proofs: [{ issuer: alice.did }],
    });
  });

  test("is otherwise as if it were not there", async () => {
    await ground.call("file:write", { path: "dlfs/notes/secret", content: "x" }, ALICE);
    const wrong = [
      [],
      [gives(bob, bob, { att: [{ with: place, can: "crud" }] })],
      [gives(carol, bob, { att: [{ with: OWN, can: "crud" }] })],
      [gives(alice, carol, { att: [{ with: OWN, can: "crud" }] })],
      [token([{ with: place, can: "crud" }])],
      [token([{ with: "file://", can: "crud" }])],
      [token([{ with: "dlfs://other/", can: "crud" }])],
    ];
    for (const ucans of wrong) {
      const [there, none] = await Promise.all(
        ["secret", "none"].map((name) => ground.fail("file:stat", { path: `${OWN}/${name}` }, as(...ucans))),
      );
      expect(there?.code).toBe("CAPABILITY_DENIED");
      const same = JSON.parse(JSON.stringify(there).replaceAll(`${OWN}/secret`, `${OWN}/none`));
      expect(same).toMatchObject({ ...none, message: expect.anything() });
    }
    expect(await ground.fail("file:stat", { path: "dlfs/notes/secret" }, { authentication: "public" })).toMatchObject({
      code: "DRIVE_REQUIRES_AUTH",
    });
  });

  test("can be passed on, no wider, and by its full name", async () => {
    await ground.call("file:write", { path: "dlfs/notes/shared/a", content: "x", parents: true }, ALICE);
    const first = token([{ with: place, can: "crud/read" }]);
    const toCarol = (resource: string) => gives(bob, carol, { att: [{ with: resource, can: "crud" }], prf: [first] });
    const passed = gives(bob, carol, { att: [{ with: `${place}/a`, can: "crud/read" }], prf: [first] });
    const call = (ucan: string) => ({ callerDID: carol.did, authentication: "identity", ucans: [ucan] }) as const;
    expect(await ground.call("file:read", { path: `${place}/a` }, call(passed))).toMatchObject({ content: "x" });
    for (const resource of [place, "dlfs/notes/shared"])
      expect(await ground.fail("file:read", { path: `${place}/a` }, call(toCarol(resource)))).toMatchObject({
        code: "CAPABILITY_DENIED",
      });
  });
});

describe("a root that is a directory of a drive", () => {
  test("is made by the first write, and is the top for all that is in it", async () => {
    expect(await ground.call("file:list", { root: "part" }, ALICE)).toMatchObject({ entries: [] });
    expect(await ground.call("file:list", { root: "mine" }, ALICE)).toMatchObject({ entries: [] });
    const made = await ground.call("file:create", { root: "part", path: "a", content: { inline: "x" } }, ALICE);
    expect(made).toMatchObject({ ref: `${OWN}/deep/part/a` });
    expect(await ground.call("file:read", { path: made["ref"] }, ALICE)).toMatchObject({ content: "x" });
    expect(await ground.call("file:read", { root: "mine", path: "deep/part/a" }, ALICE)).toMatchObject({
      content: "x",
    });
    await ground.call("file:write", { root: "mine", path: "deep/outside", content: "y" }, ALICE);
    expect(await ground.fail("file:read", { root: "part", path: "../outside" }, ALICE)).toMatchObject({
      code: "PATH_ESCAPES_ROOT",
    });
    const { entries } = (await ground.call("file:history", { root: "part" }, ALICE)) as { entries: { path: string }[] };
    expect(entries.map(({ path }) => path)).toEqual(["a"]);
    const { roots } = (await ground.call("file:roots", {}, ALICE)) as { roots: { name: string; path: string }[] };
    expect(roots.find(({ name }) => name === "part")?.path).toBe("dlfs:notes/deep/part");
  });

  test("is one place with the drive: nothing is moved into itself, and what is moved is not lost", async () => {
    await ground.call("file:write", { root: "part", path: "d/a", content: "x", parents: true }, ALICE);
    const into = { root: "mine", path: "deep", toRoot: "part", to: "in" };
    expect(await ground.fail("file:move", into, ALICE)).toMatchObject({ code: "INVALID_INPUT" });
    const moved = await ground.call("file:move", { from: "file://part/d", to: "dlfs/notes/d" }, ALICE);
    expect(moved).toMatchObject({ from: `${OWN}/deep/part/d`, to: `${OWN}/d` });
    expect(await ground.call("file:read", { root: "mine", path: "d/a" }, ALICE)).toMatchObject({ content: "x" });
    expect(await ground.call("file:stat", { root: "part", path: "d" }, ALICE)).toMatchObject({ exists: false });
  });

  test("lets those who hold it act in it by references, with its rules", async () => {
    const context = { ...ALICE, caps: [{ with: "file://part/", can: "crud" }] };
    const made = await ground.call("file:create", { path: "dlfs/notes/deep/part/a" }, context);
    expect(made).toMatchObject({ ref: `${OWN}/deep/part/a` });
    expect(await ground.fail("file:create", { path: "dlfs/notes/deep/b" }, context)).toMatchObject({
      code: "CAPABILITY_DENIED",
    });
  });
});

test("content comes from files and drives, for operations on drives too", async () => {
  await ground.call("file:write", { root: "host", path: "a", content: "x" }, ALICE);
  await ground.call("dlfs:create", { drive: "notes", path: "b", content: { ref: "file://host/a" } }, ALICE);
  await ground.call("dlfs:append", { drive: "notes", path: "b", contentRef: "file://host/a" }, ALICE);
  expect(ground.audit.at(-1)).toMatchObject({ resource: "dlfs://notes/b", others: ["file://host/a"] });
  expect(
    await ground.call("dlfs:create", { drive: "more", path: "c", content: { ref: "dlfs/notes/b" } }, ALICE),
  ).toMatchObject({
    ref: `${alice.did}/dlfs/more/c`,
  });
  await ground.call("file:write", { root: "tmp", path: "d", contentRef: "dlfs/more/c" }, ALICE);
  expect(await ground.call("file:read", { root: "tmp", path: "d" }, ALICE)).toMatchObject({ content: "xx" });
  const caps = [{ with: "dlfs://", can: "crud" }];
  const denied = { drive: "notes", path: "e", content: { ref: "file://host/a" } };
  expect(await ground.fail("dlfs:create", denied, { ...ALICE, caps })).toMatchObject({
    code: "CAPABILITY_DENIED",
    data: { required: { with: "file://host/a", can: "crud/read" } },
  });
});
