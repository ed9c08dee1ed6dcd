/** @jest-environment ./test/platforms/macos/environment.mjs */
// What was, asked for by another spelling than it is stored or was stored by.
import "./as-macos.js";
import { symlinkSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "@jest/globals";
import type { SurfaceContext } from "../../../src/core/ports/adapter.js";
import { useGround } from "../../ops/ground.js";

const STORED = "Docs/Cafe\u0301.md";
const SPELLINGS = [STORED, "Docs/Caf\u00e9.md", "DOCS/CAF\u00c9.MD", "docs/cafe\u0301.md"];

describe("changes of a file", () => {
  const ground = useGround({ journal: true });
  const { run, fail } = ground;
  const opsAt = async (path: string) => (await run("history", { path })).entries.map(({ op }) => op);
  async function change(): Promise<string> {
    await run("write", { path: STORED, content: "one", parents: true });
    await run("write", { path: "other.md", content: "other" });
    await run("write", { path: STORED, content: "two" });
    return (await run("history", { path: STORED })).entries[0]?.id ?? "";
  }

  test.each(SPELLINGS)("are found by %j, while it is there and once it is gone", async (path) => {
    await change();
    const [folder = ""] = path.split("/");
    for (const at of [path, folder]) expect((await opsAt(at)).slice(0, 2)).toEqual(["write", "write"]);
    const { entries } = await run("history", { path, limit: 1 });
    expect(entries).toMatchObject([{ path: STORED, undoable: true }]);
    await run("delete", { path: STORED });
    for (const at of [path, folder]) expect((await opsAt(at))[0]).toBe("delete");
    await run("delete", { path: "docs" });
    for (const at of [path, folder]) expect((await run("trash", { path: at })).entries.length).toBeGreaterThan(0);
    expect((await opsAt(path))[0]).toBe("delete");
    expect((await run("history", { path: `${path}x` })).entries).toEqual([]);
    expect((await run("trash", { path: `${path}x` })).entries).toEqual([]);
  });

  test("behind a new spelling of it and of its folder are found by every spelling", async () => {
    await change();
    await run("move", { path: STORED, to: "Docs/CAF\u00c9.md" });
    await run("move", { path: "Docs", to: "DOCS" });
    await run("append", { path: STORED, content: "!" });
    for (const path of SPELLINGS) expect((await opsAt(path)).slice(0, 4)).toEqual(["append", "move", "write", "write"]);
  });

  test.each(SPELLINGS)("are read and restored by %j", async (path) => {
    const id = await change();
    expect(await run("read", { path, version: `${id}:before` })).toMatchObject({ content: "one" });
    await run("delete", { path: STORED });
    expect(await run("read", { path, version: `${id}:after` })).toMatchObject({ content: "two" });
    await run("restore", { path, to: `${id}:before` });
    const { hash } = await run("hash", { path });
    expect(ground.get(path).toString()).toBe("one");
    await run("write", { path, content: "three" });
    await run("restore", { path, to: hash });
    expect(ground.get(path).toString()).toBe("one");
    expect(await fail("read", { path: "other.md", version: `${id}:before` })).toMatchObject({ code: "INVALID_INPUT" });
  });

  test("by the spelling that a move has replaced are its source", async () => {
    await run("write", { path: "a.txt", content: "one" });
    await run("move", { path: "a.txt", to: "A.txt" });
    const [move] = (await run("history", { path: "a.txt" })).entries;
    expect(move).toMatchObject({ op: "move", path: "A.txt", from: "a.txt" });
    expect(await run("read", { path: "A.TXT", version: `${move?.id}:after` })).toMatchObject({ content: "one" });
  });

  test.each(SPELLINGS)("are purged by %j", async (path) => {
    const id = await change();
    expect((await run("purge", { path })).purged).toBeGreaterThan(0);
    expect(await fail("read", { path, version: `${id}:before` })).toMatchObject({ code: "NOT_FOUND" });
    expect((await run("history", { path: "other.md" })).entries[0]).toMatchObject({ undoable: true });
  });

  test("are shown, read and purged by the rights at the stored name alone", async () => {
    const id = await change();
    const only = (path: string, can: "crud/read" | "crud/delete"): SurfaceContext => ({
      caps: [
        { with: `file://r/${path}`, can },
        { with: `file://r/${path}`, can: "crud/read" },
      ],
    });
    // Tests before this one have left changes in a folder that was stored as DOCS.
    const ofStored = (entries: readonly { readonly path: string }[]) =>
      entries.filter(({ path }) => path.startsWith("Docs"));
    for (const can of ["crud/read", "crud/delete"] as const) {
      const { entries } = await run("history", { path: "DOCS" }, only("DOCS/", can));
      expect(ofStored(entries)).toEqual([]);
      expect(ofStored((await run("trash", { path: "DOCS" }, only("DOCS/", can))).entries)).toEqual([]);
      const version = `${id}:before`;
      const read = await fail("read", { path: "DOCS/CAF\u00c9.md", version }, only("DOCS/", can));
      expect(read).toMatchObject({ code: "CAPABILITY_DENIED" });
    }
    await run("purge", { path: "DOCS" }, only("DOCS/", "crud/delete"));
    expect(await run("read", { path: STORED, version: `${id}:before` })).toMatchObject({ content: "one" });
  });

  test("name where a copy came from as that is stored, behind a link too", async () => {
    await run("write", { path: STORED, content: "one", parents: true });
    symlinkSync("DOCS", join(ground.dir, "link"));
    for (const [at, to] of [
      ["DOCS/CAF\u00c9.md", "a.md"],
      ["LINK/caf\u00e9.md", "b.md"],
    ] as const) {
      await run("copy", { path: at, to });
      const [entry] = (await run("history", { path: to })).entries;
      expect(entry).toMatchObject({ op: "copy", from: STORED });
    }
    await run("copy", { path: "docs", to: "folder", recursive: true });
    expect((await run("history", { path: "folder" })).entries[0]).toMatchObject({ op: "copy", from: "Docs" });
  });
});
