import { closeSync, openSync, readdirSync, readFileSync, utimesSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "@jest/globals";
import { CallScope } from "../../src/core/call/scope.js";
import { systemClock } from "../../src/core/clock.js";
import { Jail } from "../../src/jail/jail.js";
import { Locks } from "../../src/jail/staging/locks.js";
import { relPath } from "../../src/path/grammar.js";
import { expectClosedSoon, INSIDE, inArena, openDescriptors, staged } from "./arena.js";
import { ENGINES, openFiles, outcomeOf } from "./files.js";

/** Content that comes when it is released, and tells when it has been asked for. */
function lateContent() {
  let give: () => void = () => {};
  let tell: () => void = () => {};
  const given = new Promise<void>((resolve) => {
    give = resolve;
  });
  const asked = new Promise<void>((resolve) => {
    tell = resolve;
  });
  const resolveAsset = async () => {
    tell();
    await given;
    return { content: Buffer.from("late") };
  };
  return { context: { resolveAsset }, asked, release: () => give() };
}

describe.each(ENGINES)("an adapter that is closed, by %s", (engine) => {
  test("refuses all calls", async () => {
    await inArena(async ({ root }) => {
      const files = await openFiles(root, engine);
      expect(await files.invoke("read", { path: "file.txt" })).toMatchObject({ content: INSIDE });
      await files.close();
      for (const operation of ["read", "list", "stat", "mkdir", "delete"]) {
        expect((await outcomeOf(files.invoke(operation, { path: "file.txt" }))).code).toBe("ABORTED");
      }
      await files.close();
    });
  });

  test("lets a call end whose caller already has an answer, and does not act through a reused descriptor number", async () => {
    await inArena(async (arena) => {
      const { root, outside } = arena;
      const before = openDescriptors();
      const files = await openFiles(root, engine);
      const late = lateContent();
      const caller = new AbortController();
      const context = { ...late.context, signal: caller.signal };
      const call = outcomeOf(files.invoke("write", { path: "dir/new", asset: "a" }, context));
      await late.asked;
      caller.abort();
      expect((await call).code).toBe("ABORTED");
      const outsideBefore = arena.outsideNow();
      let closed = false;
      const closing = files.close().then(() => {
        closed = true;
      });
      await new Promise((resolve) => setImmediate(resolve));
      // Whatever number is free now means the outside.
      const taken = Array.from({ length: 20 }, () => openSync(outside, "r"));
      expect(closed).toBe(false);
      late.release();
      await closing;
      for (const fd of taken) closeSync(fd);
      expect(arena.outsideNow()).toEqual(outsideBefore);
      expect(readdirSync(join(root, "dir")).sort()).toEqual(["file.txt", "inner"]);
      expect(staged(root)).toBeUndefined();
      await expectClosedSoon(before);
    });
  });
});

test.each(ENGINES)("the root itself is reported as it is now, by %s", async (engine) => {
  await inArena(async ({ root }) => {
    const files = await openFiles(root, engine);
    await files.invoke("stat", { path: "" });
    utimesSync(root, 1_000_000, 1_234_567);
    const { modified } = await files.invoke("stat", { path: "" });
    await files.close();
    expect(modified).toBe(1_234_567_000);
  });
});

const callScope = () => new CallScope({ clock: systemClock, timeoutMs: 30_000 });

test("a closed jail starts no walks", async () => {
  await inArena(async ({ root }) => {
    const jail = new Jail({ path: root, readOnly: false, crossDevice: false, io: "sync" }, new Locks());
    const options = { place: { root: "r", path: "file.txt" }, scope: callScope(), followLast: true };
    jail.walk(relPath(["file.txt"]), options).close();
    await jail.close();
    expect(() => jail.walk(relPath(["file.txt"]), options)).toThrow("Operation cancelled");
  });
});

test("a jail stays open until its last walk is closed", async () => {
  await inArena(async ({ root }) => {
    const jail = new Jail({ path: root, readOnly: false, crossDevice: false, io: "sync" }, new Locks());
    const walk = jail.walk(relPath([]), { place: { root: "r", path: "" }, scope: callScope(), followLast: true });
    const closing = jail.close();
    await new Promise((resolve) => setImmediate(resolve));
    expect(readdirSync(walk.directory.path).sort()).toEqual(["dir", "file.txt"]);
    walk.close();
    await closing;
    expect(() => readFileSync(join(jail.top.path, "file.txt"))).toThrow();
  });
});
