import { describe, expect, test } from "@jest/globals";
import { createMemoryStore } from "../../src/drive/store/memory.js";
import { useDrives } from "./ground.js";

const SHARED = "quarterly figures of the northern branch, ";
const [ONE, TWO] = [`${SHARED}draft.txt`, `${SHARED}final.txt`];
const LONGEST = ["1", "2"].map((end) => `${"n".repeat(254)}${end}`);

describe("names of a drive that share more than 32 bytes", () => {
  const ground = useDrives();
  const call = (operation: string, input: object) => ground.call(`file:${operation}`, { root: "mine", ...input });
  const entriesOf = async (operation: string, path: string) =>
    (
      (await call(operation, { path })) as {
        readonly entries: readonly { readonly name: string; readonly id: string }[];
      }
    ).entries;
  const names = async () => (await entriesOf("list", "")).map(({ name }) => name);

  test("are names of their own, for every operation", async () => {
    for (const path of [ONE, TWO, ...LONGEST]) await call("write", { path, content: path });
    await call("mkdir", { path: SHARED });
    expect(await names()).toEqual(expect.arrayContaining([SHARED, ONE, TWO, ...LONGEST]));
    for (const path of [ONE, TWO, ...LONGEST]) expect(await call("read", { path })).toMatchObject({ content: path });
    await call("append", { path: ONE, content: "!" });
    await call("delete", { path: TWO });
    expect(await call("stat", { path: TWO })).toEqual({ exists: false });
    expect(await call("read", { path: ONE })).toMatchObject({ content: `${ONE}!` });
    await call("move", { path: ONE, to: TWO });
    await call("copy", { path: TWO, to: ONE });
    await call("delete", { path: LONGEST[0] ?? "" });
    expect(await names()).toEqual(expect.arrayContaining([SHARED, ONE, TWO, LONGEST[1]]));
    expect(await call("read", { path: LONGEST[1] ?? "" })).toMatchObject({ content: LONGEST[1] });
  });

  test("come back by an undo, each for itself", async () => {
    await call("write", { path: ONE, content: "one" });
    await call("write", { path: TWO, content: "two" });
    await call("delete", { path: ONE });
    await call("undo", { id: (await entriesOf("history", ONE))[0]?.id });
    expect(await call("read", { path: ONE })).toMatchObject({ content: "one" });
    expect(await call("read", { path: TWO })).toMatchObject({ content: "two" });
  });

  test("may be as deep as 256", async () => {
    const path = Array.from({ length: 256 }, () => "d").join("/");
    expect(await call("write", { path, content: "deep", parents: true })).toMatchObject({ created: true });
    expect(await call("read", { path })).toMatchObject({ content: "deep" });
  });
});

describe("names of a drive in a store of format 1 that share 32 bytes", () => {
  const ground = useDrives({ store: () => Object.assign(createMemoryStore(), { format: 1 }) });

  test("are refused, and the command that lifts it is named", async () => {
    await ground.call("file:write", { root: "mine", path: ONE, content: "one" });
    for (const [operation, input] of [
      ["file:write", { path: TWO, content: "two" }],
      ["file:append", { path: TWO, content: "two" }],
      ["file:mkdir", { path: TWO }],
      ["file:move", { path: ONE, to: TWO }],
      ["file:copy", { path: ONE, to: TWO }],
    ] as const) {
      const failure = await ground.fail(operation, { root: "mine", ...input });
      expect([operation, failure]).toEqual([operation, expect.objectContaining({ code: "NOT_SUPPORTED" })]);
      expect(failure.message).toContain("run 'venue-files drive upgrade --config FILE'");
      expect(failure.data).toMatchObject({ root: "mine" });
    }
    expect(await ground.call("file:stat", { root: "mine", path: TWO })).toEqual({ exists: false });
    await ground.call("file:write", { root: "mine", path: `elsewhere/${TWO}`, content: "two", parents: true });
  });
});

describe("the name of a new drive", () => {
  const ground = useDrives();

  test.each(["a:b", " a", "a ", "\u3000a"])("is not %j", async (drive) => {
    const refusal = { code: "INVALID_PATH", message: expect.stringContaining("a new one has no ':'") };
    expect(await ground.fail("dlfs:create-drive", { drive })).toMatchObject(refusal);
    expect(await ground.fail("dlfs:write", { drive, path: "f", content: "x" })).toMatchObject(refusal);
    expect(await ground.call("dlfs:list", { drive, path: "" })).toMatchObject({ entries: [] });
    expect(await ground.call("dlfs:delete-drive", { drive })).toMatchObject({ existed: false });
  });

  test("has at most 128 bytes", async () => {
    const drive = "é".repeat(64);
    expect(await ground.call("dlfs:create-drive", { drive })).toMatchObject({ created: true });
    expect(await ground.fail("dlfs:create-drive", { drive: `${drive}a` })).toMatchObject({ code: "INVALID_INPUT" });
    expect(await ground.call("dlfs:list-drives", {})).toEqual({ drives: [drive] });
  });
});
