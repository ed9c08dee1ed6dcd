import { beforeEach, describe, expect, test } from "@jest/globals";
import { createMemoryStore } from "../../src/drive/store/memory.js";
import { type Tap, tapped } from "../drive/engine/engines.js";
import { useDrives } from "./ground.js";

/** So long that it is a cell of its own, which is read only with the file. */
const content = (name: string): string => name.padEnd(4000, ".");

describe("a drive whose store has lost a cell, by operations on files", () => {
  let tap: Tap;
  const ground = useDrives({
    // What was written last is in memory, and is read although the store has lost it.
    cacheBytes: 0,
    store: () => {
      const watched = tapped(createMemoryStore());
      tap = watched.tap;
      return watched.store;
    },
  });
  const at = (path: string) => ({ root: "mine", path });
  const damaged = (path: string, shown = path) => ({
    code: "STORE_DAMAGED",
    message: `Drive store is damaged: notes:${shown}`,
    data: at(path),
  });

  beforeEach(async () => {
    for (const folder of ["one", "two"]) {
      for (let file = 0; file < 12; file += 1) {
        const path = `${folder}/${folder}-${file}`;
        await ground.call("file:write", { ...at(path), content: content(path), parents: true });
      }
    }
  });

  test("a file of which content is gone: it is named, and all others are read, changed and listed", async () => {
    const lost = tap.puts.filter(({ bytes }) => Buffer.from(bytes).includes("one/one-7."));
    expect(lost).toHaveLength(1);
    for (const { hash } of lost) tap.lost.add(hash);
    expect(await ground.fail("file:read", at("one/one-7"))).toMatchObject(damaged("one/one-7"));
    expect(await ground.call("file:read", at("one/one-8"))).toMatchObject({ content: content("one/one-8") });
    expect(await ground.call("file:list", at("one"))).toMatchObject({ total: 12 });
    await ground.call("file:write", { ...at("one/new"), content: "x" });
    await ground.call("file:write", { ...at("one/one-7"), content: "mended" });
    expect(await ground.call("file:read", at("one/one-7"))).toMatchObject({ content: "mended" });
  });

  test("a directory of which names are gone: it is named, and what lies beside it is served", async () => {
    const nodes = tap.puts.filter(({ bytes }) => bytes[0] === 0x84 && Buffer.from(bytes).includes("two-11"));
    expect(nodes.length).toBeGreaterThan(0);
    for (const { hash } of nodes) tap.lost.add(hash);
    expect(await ground.fail("file:list", at("two"))).toMatchObject(damaged("two"));
    expect(await ground.fail("file:read", at("two/two-11"))).toMatchObject(damaged("two/two-11"));
    expect(await ground.fail("file:tree", { root: "mine", path: "" })).toMatchObject(damaged("", "two"));
    expect(await ground.call("file:list", at(""))).toMatchObject({ total: 2 });
    expect(await ground.call("file:read", at("one/one-3"))).toMatchObject({ content: content("one/one-3") });
    await ground.call("file:write", { ...at("one/new"), content: "x" });
  });
});
