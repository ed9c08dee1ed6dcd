import { beforeEach, describe, expect, test } from "@jest/globals";
import type { SurfaceContext } from "../../src/core/ports/adapter.js";
import { ALICE, ANONYMOUS, BOB, useDrives, VENUE } from "./ground.js";

describe("capabilities on drives", () => {
  const ground = useDrives();

  const capped = (...caps: readonly [string, string][]): SurfaceContext => ({
    ...ALICE,
    caps: caps.map(([resource, can]) => ({ with: resource, can })),
  });

  const denial = (can: string, resource: string) => ({
    code: "CAPABILITY_DENIED",
    data: { required: { with: resource, can }, denied_by: ["agent_caps"] },
  });

  describe("caps of the operations on drives", () => {
    const read = ["dlfs:read", { drive: "notes", path: "docs/a" }] as const;
    const rows: readonly [string, [string, string][], readonly [string, object], boolean][] = [
      ["every drive", [["dlfs://", "crud"]], read, true],
      ["the drive", [["dlfs://notes", "crud/read"]], read, true],
      ["the directory", [["dlfs://notes/docs/", "crud/read"]], read, true],
      ["a name that only begins like it", [["dlfs://notes/doc", "crud"]], read, false],
      ["a drive that only begins like it", [["dlfs://note", "crud"]], read, false],
      ["a longer name", [["dlfs://notes/docs-private", "crud"]], read, false],
      ["writing", [["dlfs://notes", "crud/write"]], read, false],
      ["every root", [["file://", "crud"]], read, false],
      ["a root of that name", [["file://notes", "crud"]], read, false],
      [
        "the drive, by a root on it",
        [["dlfs://notes/docs", "*"]],
        ["file:read", { root: "mine", path: "docs/a" }],
        true,
      ],
      [
        "another place of the drive, by a root",
        [["dlfs://notes/x", "*"]],
        ["file:read", { root: "mine", path: "docs/a" }],
        false,
      ],
      ["another drive, by a root", [["dlfs://other", "*"]], ["file:read", { root: "mine", path: "docs/a" }], false],
      ["writing, by a root", [["dlfs://notes", "crud/write"]], ["file:read", { root: "mine", path: "docs/a" }], false],
      [
        "a drive of another",
        [["did:key:z6MkBob/dlfs/notes", "*"]],
        ["file:read", { root: "mine", path: "docs/a" }],
        false,
      ],
      ["a drive of a root's name", [["dlfs://mine", "*"]], ["file:read", { root: "mine", path: "docs/a" }], false],
      ["the root", [["file://mine/docs", "crud/read"]], ["file:read", { root: "mine", path: "docs/a" }], true],
    ];
    test.each(rows)("%s", async (_, caps, [operation, input], isAllowed) => {
      await ground.call("dlfs:write", { drive: "notes", path: "docs/a", content: "x", parents: true });
      if (isAllowed) expect(await ground.call(operation, input, capped(...caps))).toMatchObject({ content: "x" });
      else expect((await ground.fail(operation, input, capped(...caps))).code).toBe("CAPABILITY_DENIED");
    });

    test.each(["dlfs://", "dlfs/", `${ALICE.callerDID}/dlfs/`, "dlfs://tmp", "dlfs/tmp/"])(
      "on drives (%s) give nothing in roots that are none, and keep the rules of those that are",
      async (resource) => {
        const who = capped([resource, "*"]);
        for (const operation of ["read", "stat", "list", "tree", "delete"]) {
          for (const path of ["", "a"]) {
            const failure = await ground.fail(`file:${operation}`, { root: "tmp", path }, who);
            expect(failure.code).toBe("CAPABILITY_DENIED");
          }
        }
        const fixed = await ground.fail("file:write", { root: "fixed", path: "a", content: "x" }, who);
        expect(fixed.code).toBe(resource.includes("tmp") ? "CAPABILITY_DENIED" : "READ_ONLY_ROOT");
      },
    );

    test("are judged on the path that `..` leads to", async () => {
      const who = capped(["dlfs://notes/docs", "crud"]);
      const failure = await ground.fail("dlfs:read", { drive: "notes", path: "docs/../secret" }, who);
      expect(failure).toMatchObject(denial("crud/read", "dlfs://notes/secret"));
      expect(failure.message).toContain("dlfs:read requires crud/read on dlfs://notes/secret");
      expect(failure.message).toContain("crud on dlfs://notes/docs");
    });

    const deeds: readonly [string, object, string, string][] = [
      ["dlfs:list", { drive: "notes", path: "a" }, "crud/read", "dlfs://notes/a"],
      ["dlfs:tree", { drive: "notes" }, "crud/read", "dlfs://notes/"],
      ["dlfs:stat", { drive: "notes", path: "a" }, "crud/read", "dlfs://notes/a"],
      ["dlfs:write", { drive: "notes", path: "a", content: "" }, "crud/write", "dlfs://notes/a"],
      ["dlfs:append", { drive: "notes", path: "a", content: "" }, "crud/write", "dlfs://notes/a"],
      ["dlfs:mkdir", { drive: "notes", path: "a" }, "crud/write", "dlfs://notes/a"],
      ["dlfs:delete", { drive: "notes", path: "a" }, "crud/delete", "dlfs://notes/a"],
      ["dlfs:create-drive", { drive: "notes" }, "crud/write", "dlfs://notes/"],
      ["dlfs:delete-drive", { drive: "notes" }, "crud/delete", "dlfs://notes/"],
      ["dlfs:create-drive", { name: "notes" }, "crud/write", "dlfs://notes/"],
      ["dlfs:delete-drive", { name: "notes" }, "crud/delete", "dlfs://notes/"],
      ["dlfs:list-drives", {}, "crud/read", "dlfs://"],
    ];
    test.each(deeds)("%s: %j needs %s on %s", async (operation, input, can, resource) => {
      expect(await ground.fail(operation, input, capped())).toMatchObject(denial(can, resource));
      const others = ["crud/read", "crud/write", "crud/delete"].filter((ability) => ability !== can);
      const who = capped(...others.map((ability): [string, string] => ["dlfs://", ability]));
      expect(await ground.fail(operation, input, who)).toMatchObject(denial(can, resource));
      await ground.call(operation, input, capped([resource, can])).catch((error: { code: string }) => {
        expect(error.code).toBe("NOT_FOUND");
      });
    });

    test("list-drives shows the drives in which the caller holds anything", async () => {
      for (const drive of ["a", "b", "ab"]) await ground.call("dlfs:create-drive", { drive });
      const list = (...caps: [string, string][]) => ground.call("dlfs:list-drives", {}, capped(...caps));
      expect(await list(["dlfs://a/x", "crud/read"])).toEqual({ drives: ["a"] });
      expect(await list(["dlfs://b", "crud/write"], ["dlfs://none", "crud/read"])).toEqual({ drives: ["b"] });
      expect(await list(["dlfs://", "crud"])).toEqual({ drives: ["a", "ab", "b"] });
    });

    test("each parent that is made needs writing on its own path", async () => {
      const input = { drive: "notes", path: "a/b/c", content: "x", parents: true };
      const failure = await ground.fail("dlfs:write", input, capped(["dlfs://notes/a/b/c", "crud"]));
      expect(failure).toMatchObject(denial("crud/write", "dlfs://notes/a"));
      expect(await ground.call("dlfs:list-drives", {})).toEqual({ drives: [] });
      await ground.call("dlfs:write", input, capped(["dlfs://notes/a", "crud"]));
    });

    test("a read-only root is refused after them", async () => {
      const input = { root: "fixed", path: "a", content: "x" };
      expect((await ground.fail("file:write", input)).code).toBe("READ_ONLY_ROOT");
      expect((await ground.fail("file:write", input, capped())).code).toBe("CAPABILITY_DENIED");
    });
  });

  describe("public capabilities", () => {
    test("give nothing in drives, though they name every root", async () => {
      expect((await ground.fail("file:list", { root: "mine" }, ANONYMOUS)).code).toBe("DRIVE_REQUIRES_AUTH");
    });
  });

  describe("the audit", () => {
    test("names the drive and the path, the caller, and what went in or out", async () => {
      await ground.call("dlfs:write", { drive: "notes", path: "/a/./b", content: "12345", parents: true });
      await ground.call("dlfs:list-drives", {});
      await ground.call("dlfs:create-drive", { drive: "more" });
      await ground.fail("dlfs:read", { drive: "notes", path: "a/b" }, ANONYMOUS);
      await ground.call("file:read", { root: "mine", path: "a/b" });
      expect(
        ground.audit.map(({ operation, caller, resource, outcome, bytes }) => [
          operation,
          caller,
          resource,
          outcome,
          bytes,
        ]),
      ).toEqual([
        ["dlfs:write", ALICE.callerDID, "dlfs://notes/a/b", "OK", 5],
        ["dlfs:list-drives", ALICE.callerDID, "dlfs://", "OK", 0],
        ["dlfs:create-drive", ALICE.callerDID, "dlfs://more/", "OK", 0],
        ["dlfs:read", ANONYMOUS.callerDID, "dlfs://notes/a/b", "DRIVE_REQUIRES_AUTH", 0],
        ["file:read", ALICE.callerDID, "file://mine/a/b", "OK", 5],
      ]);
    });
  });
});

describe("deny patterns of a drive", () => {
  const ground = useDrives({ mine: { deny: [".env", "private/**"] } });

  beforeEach(async () => {
    // By the drive itself, which knows no roots.
    for (const path of ["dir/.env", "private/a", "dir/file"]) {
      await ground.call("dlfs:write", { drive: "notes", path, content: "x", parents: true }, ALICE);
    }
  });

  describe("a root that is a drive and protects", () => {
    const kept = useDrives({ mine: { protect: ["@git", "locked/**"] } });
    const refusal = (name: string, path: string) => ({
      code: "DENIED_BY_POLICY",
      message: `Cannot ${name} "${path}": protected by policy of root "mine" (may be read, not changed). Do not retry`,
      data: { root: "mine", path },
    });

    test("lets its paths be read and not changed, nor directories that hold them", async () => {
      for (const path of ["dir/.git/config", "locked/a"]) {
        await kept.call("dlfs:write", { drive: "notes", path, content: "x", parents: true }, ALICE);
        expect(await kept.call("file:read", { root: "mine", path }, ALICE)).toMatchObject({ content: "x" });
        for (const [name, more] of [
          ["write", { content: "y" }],
          ["append", { content: "y" }],
          ["delete", {}],
          ["move", { to: "elsewhere" }],
        ] as const) {
          expect(await kept.fail(`file:${name}`, { root: "mine", path, ...more }, ALICE)).toEqual(refusal(name, path));
        }
      }
      expect(await kept.fail("file:delete", { root: "mine", path: "dir", recursive: true }, ALICE)).toEqual(
        refusal("delete", "dir"),
      );
      expect(await kept.fail("file:move", { root: "mine", path: "dir", to: "d" }, ALICE)).toEqual(
        refusal("move", "dir"),
      );
      const copied = await kept.call("file:copy", { root: "mine", path: "dir", to: "d", recursive: true }, ALICE);
      expect(copied).toMatchObject({ files: 0, hidden: { policy: 1 } });
      const out = { root: "mine", path: "dir", toRoot: "tmp", to: "d" };
      expect(await kept.fail("file:move", out, ALICE)).toEqual(refusal("move", "dir"));
    });

    test("takes in no directory that holds such a path", async () => {
      const input = { root: "tmp", path: "repo/.git/x", content: "x", parents: true };
      await kept.call("file:write", input, ALICE);
      const moved = { root: "tmp", path: "repo", toRoot: "mine", to: "repo" };
      expect(await kept.fail("file:move", moved, ALICE)).toMatchObject({ code: "DENIED_BY_POLICY" });
      expect(await kept.call("file:list", { root: "mine" }, ALICE)).toMatchObject({ total: 0 });
    });
  });

  describe("a root that is a drive", () => {
    test.each(["dir/.env", "none/.env", "private", "private/none"])("denies %s by its policy", async (path) => {
      for (const [name, more] of [
        ["read", {}],
        ["write", { content: "x", parents: true }],
        ["delete", { recursive: true }],
      ] as const) {
        expect(await ground.fail(`file:${name}`, { root: "mine", path, ...more }, ALICE)).toEqual({
          code: "DENIED_BY_POLICY",
          message: expect.stringMatching(
            new RegExp(
              `^Cannot ${name} "${path}": denied by policy of root "mine" \\("(.env|private/..)" in file.roots.mine.deny`,
            ),
          ),
          data: { root: "mine", path },
        });
      }
    });

    test("leaves it out of lists and trees, and keeps directories that hold some of it", async () => {
      expect(await ground.call("file:list", { root: "mine" }, ALICE)).toMatchObject({
        total: 1,
        entries: [{ name: "dir" }],
      });
      expect(await ground.call("file:tree", { root: "mine" }, ALICE)).toMatchObject({
        tree: "mine/\n\tdir/\n\t\tfile\n",
      });
      const failed = await ground.fail("file:delete", { root: "mine", path: "dir", recursive: true }, ALICE);
      expect(failed).toMatchObject({ code: "DENIED_BY_POLICY", data: { path: "dir" } });
      await ground.call("dlfs:read", { drive: "notes", path: "dir/.env" }, ALICE);
    });
  });
});

describe("drives of several callers", () => {
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
      expect((await ground.fail("file:read", { root: "mine", path: "../x" }, ANONYMOUS)).code).toBe(
        "PATH_ESCAPES_ROOT",
      );
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
});
