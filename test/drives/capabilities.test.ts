import { describe, expect, test } from "@jest/globals";
import type { SurfaceContext } from "../../src/core/ports/adapter.js";
import { ALICE, ANONYMOUS, useDrives } from "./ground.js";

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
    ["the drive, by a root on it", [["dlfs://notes/docs", "*"]], ["file:read", { root: "mine", path: "docs/a" }], true],
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
