import { closeSync, openSync } from "node:fs";
import { expect, test } from "@jest/globals";
import { expectClosedSoon, inArena, openDescriptors } from "../jail/arena.js";
import { openFiles, outcomeOf } from "../jail/files.js";

test("closing does not wait for ever for content that never comes, and what comes too late does nothing", async () => {
  await inArena(async (arena) => {
    const before = openDescriptors();
    const files = await openFiles(arena.root, "handle walk", { limits: { timeoutMs: 100 } });
    let release: () => void = () => {};
    const never = new Promise<void>((resolve) => {
      release = resolve;
    });
    const resolveAsset = async () => {
      await never;
      return { content: Buffer.from("late") };
    };
    const call = outcomeOf(files.invoke("write", { path: "dir/new", asset: "a" }, { resolveAsset }));
    expect((await call).code).toBe("TIMEOUT");
    await files.close();
    const inside = arena.insideNow();
    const outside = arena.outsideNow();
    const taken = Array.from({ length: 50 }, () => openSync(arena.outside, "r"));
    release();
    for (const fd of taken) closeSync(fd);
    await expectClosedSoon(before);
    expect(arena.insideNow()).toEqual(inside);
    expect(arena.outsideNow()).toEqual(outside);
  });
});
