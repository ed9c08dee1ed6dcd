import { createHash } from "node:crypto";
import { chmodSync, statSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "@jest/globals";
import { Ajv } from "ajv";
import { loadOperationSchema } from "../../src/schema/load.js";
import { useGround } from "./ground.js";

const LARGE = "y".repeat(100_000);

describe("versions and file:restore", () => {
  const ground = useGround({ journal: true, root: { deny: ["*.key"] } });
  const { run, fail } = ground;

  /** Writes contents one after the other. @returns ids of the entries, oldest first */
  async function versions(path: string, ...contents: readonly string[]): Promise<string[]> {
    for (const content of contents) await run("write", { path, content });
    const { entries } = await run("history", { path, limit: contents.length });
    return entries.map(({ id }) => id).reverse();
  }

  test("read, stat and the hash are those of a file before and after each change", async () => {
    const [first, second, third] = await versions("f", "one", LARGE, "three");
    const read = async (version: string) => (await run("read", { path: "f", version })).content;
    expect(await read(`${first}:after`)).toBe("one");
    expect(await read(`${second}:before`)).toBe("one");
    expect(await read(`${second}:after`)).toBe(LARGE);
    expect(await read(`${third}:before`)).toBe(LARGE);
    expect(await read(`${third}:after`)).toBe("three");
    const found = await run("stat", { path: "f", version: `${second}:after`, hash: true });
    const hash = `sha256:${createHash("sha256").update(LARGE).digest("hex")}`;
    expect(found).toMatchObject({ exists: true, size: LARGE.length, hash, readOnly: true });
    const lines = await run("read", { path: "f", version: `${third}:after`, offset: 1, length: 2 });
    expect(lines).toMatchObject({ content: "hr", size: 5 });
    expect((await fail("read", { path: "f", version: `${first}:before` })).code).toBe("NOT_FOUND");
  });

  test("an append, a move and a deletion have both sides too", async () => {
    await run("write", { path: "log", content: "a" });
    await run("append", { path: "log", content: "b" });
    await run("move", { path: "log", to: "moved" });
    await run("append", { path: "moved", content: "c" });
    await run("delete", { path: "moved" });
    const { entries } = await run("history", { limit: 5 });
    const [deleted, later, move, append] = entries.map(({ id }) => id);
    const read = async (path: string, version: string) => (await run("read", { path, version })).content;
    expect(await read("moved", `${deleted}:before`)).toBe("abc");
    expect(await read("moved", `${later}:before`)).toBe("ab");
    expect(await read("moved", `${move}:after`)).toBe("ab");
    expect(await read("log", `${move}:before`)).toBe("ab");
    expect(await read("log", `${append}:after`)).toBe("ab");
    expect(await read("log", `${append}:before`)).toBe("a");
    expect((await fail("read", { path: "log", version: `${move}:after` })).code).toBe("NOT_FOUND");
  });

  test("a version is judged by the rights and deny patterns of now, and tells nothing of other paths", async () => {
    const [id] = await versions("open", "x");
    const other = await fail("read", { path: "else", version: `${id}:after` });
    const none = await fail("read", { path: "else", version: `${id?.slice(0, -1)}z:after` });
    expect([other.code, none.code]).toEqual(["INVALID_INPUT", "INVALID_INPUT"]);
    expect(other.message.replace(id ?? "", "ID")).toBe(none.message.replace(`${id?.slice(0, -1)}z`, "ID"));
    const caps = { caps: [{ with: "file://r/else", can: "crud/read" }] };
    expect((await fail("read", { path: "open", version: `${id}:after` }, caps)).code).toBe("CAPABILITY_DENIED");
    expect((await fail("read", { path: "x.key", version: `${id}:after` })).code).toBe("DENIED_BY_POLICY");
    expect((await fail("read", { path: "open", version: "nonsense" })).code).toBe("INVALID_INPUT");
  });

  test("restore blames its own field where it names no version of the path", async () => {
    const [id] = await versions("mine", "x");
    await run("write", { path: "else", content: "y" });
    for (const to of [`${id}:after`, id ?? "", "no id"]) {
      const { code, message, data } = await fail("restore", { path: "else", to });
      expect([code, data]).toMatchObject(["INVALID_INPUT", { pointer: "/to" }]);
      expect(message).toMatch(/^'to' must be |Take 'to' from file:history$/);
    }
  });

  test("what others changed outside is never taken for a version", async () => {
    const [id] = await versions("f", "mine");
    ground.put("f", "theirs");
    expect((await fail("read", { path: "f", version: `${id}:after` })).code).toBe("NOT_FOUND");
  });

  test("restore writes a version back as a new change, by id, side or hash", async () => {
    const [first, second] = await versions("f", "one", "two");
    const restored = await run("restore", { path: "f", to: `${second}:before` });
    const validate = new Ajv({ strict: true }).compile(loadOperationSchema("restore").output);
    expect([validate(restored), validate.errors]).toEqual([true, null]);
    expect(ground.get("f").toString()).toBe("one");
    await run("restore", { path: "f", to: second ?? "" });
    expect(ground.get("f").toString()).toBe("two");
    const hash = `sha256:${createHash("sha256").update("one").digest("hex")}`;
    await run("restore", { path: "f", to: hash });
    expect(ground.get("f").toString()).toBe("one");
    expect((await fail("restore", { path: "f", to: `sha256:${"0".repeat(64)}` })).code).toBe("INVALID_INPUT");
    expect((await fail("restore", { path: "f", to: first ?? "", ifMatch: "aaaaaaaa" })).code).toBe("CONFLICT");
    await run("undo", { last: 1 });
    expect(ground.get("f").toString()).toBe("two");
  });

  test.each([
    ["narrower", 0o600],
    ["wider", 0o664],
  ])("restore keeps the mode of the file that is there: one that is %s", async (_, mode) => {
    ground.put("f", "one");
    chmodSync(join(ground.dir, "f"), 0o640);
    await run("write", { path: "f", content: "two" });
    const { entries } = await run("history", { limit: 1 });
    chmodSync(join(ground.dir, "f"), mode);
    await run("restore", { path: "f", to: `${entries[0]?.id}:before` });
    expect(ground.get("f").toString()).toBe("one");
    expect(statSync(join(ground.dir, "f")).mode & 0o777).toBe(mode);
    // An undo of it puts back what was there.
    await run("undo", { last: 1 });
    expect(statSync(join(ground.dir, "f")).mode & 0o777).toBe(mode);
  });

  test("restore brings a file back that is gone, and needs the rights to read and to write", async () => {
    ground.put("tool", "#!");
    chmodSync(join(ground.dir, "tool"), 0o750);
    const { id } = await run("delete", { path: "tool" });
    const caps = { caps: [{ with: "file://r/", can: "crud/write" }] };
    expect((await fail("restore", { path: "tool", to: `${id}:before` }, caps)).code).toBe("CAPABILITY_DENIED");
    expect(await run("restore", { path: "tool", to: `${id}:before` })).toMatchObject({ created: true });
    expect(statSync(join(ground.dir, "tool")).mode & 0o777).toBe(0o750);
  });
});
