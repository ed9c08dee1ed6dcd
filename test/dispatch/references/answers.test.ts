import { describe, expect, test } from "@jest/globals";
import { ALICE, useReferences } from "./ground.js";

const ground = useReferences();
const OWN = `${ALICE.callerDID}/dlfs/notes`;

/** The spellings of a place: the one with a root, and those by references. */
const PLACES: readonly [string, string, readonly string[]][] = [
  ["host", "file://host", ["file://host", "file:/host"]],
  ["tmp", "file://tmp", ["file://tmp", "file:/tmp"]],
  ["mine", OWN, ["file://mine", "dlfs/notes", "dlfs://notes", OWN]],
];
const SPELLED = PLACES.flatMap(([root, canonical, all]) => all.map((one) => [one, root, canonical] as const));

describe.each(SPELLED)("by %s, what is in the root %s", (top, root, canonical) => {
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
