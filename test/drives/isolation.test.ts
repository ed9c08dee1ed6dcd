import { describe, expect, test } from "@jest/globals";
import type { SurfaceContext } from "../../src/core/ports/adapter.js";
import { ALICE, ANONYMOUS, BOB, useDrives, VENUE } from "./ground.js";

const ground = useDrives();

/** Etag of "mine". */
const MINE = "h7jqkqx6";

/** Every operation on a drive, and what a caller whose drives are empty is answered. */
const DLFS: readonly [string, object, unknown][] = [
  ["dlfs:list-drives", {}, { drives: [] }],
  ["dlfs:create-drive", { drive: "notes" }, { name: "notes", drive: "notes", created: true }],
  ["dlfs:delete-drive", { drive: "notes" }, { name: "notes", drive: "notes", deleted: false, existed: false }],
  ["dlfs:list", { drive: "notes" }, { entries: [], total: 0, truncated: false, complete: true }],
  [
    "dlfs:tree",
    { drive: "notes" },
    { tree: "notes/\n", truncated: false, entries: 0, depthLimited: false, complete: true },
  ],
  ["dlfs:read", { drive: "notes", path: "a.txt" }, "NOT_FOUND"],
  ["dlfs:write", { drive: "notes", path: "a.txt", content: "mine" }, { written: 4, created: true, etag: MINE }],
  [
    "dlfs:append",
    { drive: "notes", path: "a.txt", content: "mine" },
    { appended: 4, created: true, size: 4, etag: MINE },
  ],
  ["dlfs:mkdir", { drive: "notes", path: "dir" }, { created: true, path: "dir" }],
  ["dlfs:delete", { drive: "notes", path: "a.txt" }, { deleted: false, existed: false }],
  ["dlfs:stat", { drive: "notes", path: "a.txt" }, { exists: false }],
];

const FILE: readonly [string, object, unknown][] = [
  ["file:list", { root: "mine" }, { entries: [], total: 0, truncated: false, complete: true }],
  [
    "file:tree",
    { root: "mine" },
    { tree: "mine/\n", truncated: false, entries: 0, depthLimited: false, complete: true },
  ],
  ["file:read", { root: "mine", path: "a.txt" }, "NOT_FOUND"],
  ["file:write", { root: "mine", path: "a.txt", content: "mine" }, { written: 4, created: true, etag: MINE }],
  [
    "file:append",
    { root: "mine", path: "a.txt", content: "mine" },
    { appended: 4, created: true, size: 4, etag: MINE },
  ],
  ["file:mkdir", { root: "mine", path: "dir" }, { created: true, path: "dir" }],
  ["file:delete", { root: "mine", path: "a.txt" }, { deleted: false, existed: false }],
  ["file:stat", { root: "mine", path: "a.txt" }, { exists: false }],
];

/** What Alice has, as she sees it. */
const ofAlice = async () => [
  await ground.call("dlfs:list-drives", {}),
  await ground.call("dlfs:tree", { drive: "notes" }),
  await ground.call("dlfs:read", { drive: "notes", path: "a.txt" }),
];

describe("a caller's drives", () => {
  test.each([...DLFS, ...FILE])("are of no concern to another's %s", async (operation, input, expected) => {
    await ground.call("dlfs:write", { drive: "notes", path: "a.txt", content: "of Alice" });
    await ground.call("dlfs:create-drive", { drive: "other" });
    const before = await ofAlice();
    expect(before[0]).toEqual({ drives: ["notes", "other"] });
    if (typeof expected === "string") expect((await ground.fail(operation, input, BOB)).code).toBe(expected);
    else expect(await ground.call(operation, input, BOB)).toEqual(expected);
    expect(await ofAlice()).toEqual(before);
  });

  test("are the same by root and by name, and by every root of that name", async () => {
    await ground.call("file:write", { root: "mine", path: "a.txt", content: "x" });
    expect(await ground.call("dlfs:read", { drive: "notes", path: "a.txt" })).toMatchObject({ content: "x" });
    expect(await ground.call("file:read", { root: "fixed", path: "a.txt" })).toMatchObject({ content: "x" });
    await ground.call("dlfs:delete-drive", { drive: "notes" });
    expect(await ground.call("file:list", { root: "mine" })).toMatchObject({ total: 0 });
  });

  test("are made by writing, not by looking", async () => {
    await ground.call("file:list", { root: "mine" });
    await ground.call("dlfs:stat", { drive: "other", path: "" });
    await ground.call("dlfs:delete", { drive: "other", path: "a" });
    expect(await ground.call("dlfs:list-drives", {})).toEqual({ drives: [] });
    await ground.call("dlfs:mkdir", { drive: "other", path: "a/b", parents: true });
    expect(await ground.call("dlfs:list-drives", {})).toEqual({ drives: ["other"] });
  });
});

describe("a caller who has not said who it is", () => {
  const nobodies: readonly [string, SurfaceContext][] = [
    ["without credentials", ANONYMOUS],
    ["with the DID of those alone", { callerDID: `${VENUE}:public` }],
    ["without a DID", {}],
    ["with an empty DID", { callerDID: "" }],
    ["named by several tokens", { ...ANONYMOUS, ambiguousCaller: true }],
    ["without a DID, narrowed to nothing", { caps: [] }],
  ];
  const all = [...DLFS, ...FILE].map(([operation, input]) => [operation, input] as const);
  test.each(nobodies)("%s is refused by every operation, before its capabilities are looked at", async (_, who) => {
    for (const [operation, input] of all) {
      const { drive, root }: { drive?: string; root?: string } = input;
      const named = drive ?? root ?? "dlfs";
      expect(await ground.fail(operation, input, who)).toEqual({
        code: "DRIVE_REQUIRES_AUTH",
        message: `DLFS-backed root '${named}' requires authenticated caller`,
        data: { root: named },
      });
    }
  });

  test("is told of a wrong path or drive first", async () => {
    expect((await ground.fail("file:read", { root: "mine", path: "../x" }, ANONYMOUS)).code).toBe("PATH_ESCAPES_ROOT");
    expect((await ground.fail("dlfs:read", { drive: "a", path: ".." }, ANONYMOUS)).code).toBe("PATH_ESCAPES_ROOT");
    expect((await ground.fail("dlfs:list", { drive: "a/b" }, ANONYMOUS)).code).toBe("INVALID_INPUT");
  });

  test("does not see the roots that are drives; others see them as such", async () => {
    const names = async (who: SurfaceContext) => {
      const { roots } = (await ground.call("file:roots", {}, who)) as { roots: { name: string }[] };
      return roots.map(({ name }) => name);
    };
    expect(await names(ANONYMOUS)).toEqual(["tmp"]);
    expect(await names(BOB)).toEqual(["mine", "fixed", "tmp"]);
    expect(await ground.call("file:roots", {}, ALICE)).toMatchObject({
      roots: [
        { name: "mine", path: "dlfs:notes", kind: "dlfs", readOnly: false },
        { name: "fixed", path: "dlfs:notes", kind: "dlfs", readOnly: true },
        { name: "tmp" },
      ],
    });
  });
});

test("a host that names callers by DID alone has them told apart", async () => {
  await ground.call("file:write", { root: "mine", path: "a", content: "1" }, { callerDID: "agent-1" });
  expect(await ground.call("file:stat", { root: "mine", path: "a" }, { callerDID: "agent-2" })).toEqual({
    exists: false,
  });
});

test("the operator has drives of its own, and no others", async () => {
  await ground.call("file:write", { root: "mine", path: "a", content: "1" });
  const operator: SurfaceContext = { callerDID: VENUE, authentication: "local-token" };
  expect(await ground.call("dlfs:list-drives", {}, operator)).toEqual({ drives: [] });
  expect(await ground.call("file:list", { root: "mine" }, operator)).toMatchObject({ total: 0 });
});
