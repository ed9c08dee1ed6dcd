import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { ROOT } from "../jail/files.js";
import { type Child, mounted, mountsPossible, startChild } from "../jail/start-child.js";

const mebibyte = 1024 * 1024;
const place = mkdtempSync(join(tmpdir(), "venue-full-"));
const mount = `mount -t tmpfs -o size=2m tmpfs ${place}`;
const { possible, reason } = mountsPossible(mount);
const maybe = possible ? test : test.skip;

describe(`a full disk${reason}`, () => {
  let child: Child;
  const old = "o".repeat(mebibyte);
  beforeAll(async () => {
    if (!possible) return;
    child = await startChild({
      config: { roots: { [ROOT]: { path: place, durability: "flush" } } },
      under: mounted(mount),
    });
    expect(await child.invoke("write", { path: "old.txt", content: old })).toMatchObject({ code: "ok" });
  });
  afterAll(async () => {
    if (possible) await child.close();
    rmSync(place, { recursive: true, force: true });
  });

  const expectOld = async () => {
    const { output } = await child.invoke("read", { path: "old.txt" });
    expect(output?.["content"] === old).toBe(true);
    const { output: listed } = await child.invoke("list", {});
    expect(listed).toMatchObject({ entries: [{ name: "old.txt" }], total: 1 });
  };

  maybe("refuses a write that does not fit, and keeps the old content", async () => {
    const content = "n".repeat(3 * mebibyte);
    expect(await child.invoke("write", { path: "old.txt", content })).toMatchObject({ code: "NO_SPACE" });
    expect(await child.invoke("write", { path: "new.txt", content })).toMatchObject({ code: "NO_SPACE" });
    await expectOld();
  });

  maybe("takes back an append that does not fit", async () => {
    const content = "n".repeat(3 * mebibyte);
    expect(await child.invoke("append", { path: "old.txt", content })).toMatchObject({ code: "NO_SPACE" });
    expect(await child.invoke("append", { path: "new.txt", content })).toMatchObject({ code: "NO_SPACE" });
    await expectOld();
  });

  maybe("has room again for what fits, so nothing was left behind", async () => {
    const content = "n".repeat(Math.floor(mebibyte * 0.9));
    expect(await child.invoke("write", { path: "new.txt", content })).toMatchObject({ code: "ok" });
    expect(await child.invoke("delete", { path: "new.txt" })).toMatchObject({ code: "ok" });
    await expectOld();
  });
});

describe(`a full disk with something in the trash${reason}`, () => {
  const state = mkdtempSync(join(tmpdir(), "venue-full-state-"));
  const there = mkdtempSync(join(tmpdir(), "venue-full-trash-"));
  afterAll(() => {
    for (const path of [state, there]) rmSync(path, { recursive: true, force: true });
  });

  maybe("gives up the oldest of it where that is enough, and nothing where it is not", async () => {
    const child = await startChild({
      config: { stateDir: state, roots: { [ROOT]: { path: there, durability: "none" } } },
      under: mounted(`mount -t tmpfs -o size=2m tmpfs ${there}`),
    });
    try {
      const content = "x".repeat(Math.floor(0.4 * mebibyte));
      for (const path of ["a", "b", "c", "d"]) {
        expect(await child.invoke("write", { path, content })).toMatchObject({ code: "ok" });
        expect(await child.invoke("delete", { path })).toMatchObject({ code: "ok" });
      }
      for (const path of ["e", "f", "g"])
        expect(await child.invoke("write", { path, content })).toMatchObject({ code: "ok" });
      const huge = "z".repeat(3 * mebibyte);
      expect(await child.invoke("write", { path: "h", content: huge })).toMatchObject({ code: "NO_SPACE" });
      const { output } = await child.invoke("trash", {});
      expect(output).toMatchObject({ entries: [{ path: "d" }] });
    } finally {
      await child.close();
    }
  });
});

describe(`a full disk of the state directory${reason}`, () => {
  const state = mkdtempSync(join(tmpdir(), "venue-full-state-"));
  const there = mkdtempSync(join(tmpdir(), "venue-full-root-"));
  afterAll(() => {
    for (const path of [state, there]) rmSync(path, { recursive: true, force: true });
  });

  const withFullState = async (root: object, work: (child: Child) => Promise<void>): Promise<void> => {
    const child = await startChild({
      config: { stateDir: state, roots: { [ROOT]: { path: there, durability: "none", journal: "on", ...root } } },
      under: mounted(`mount -t tmpfs -o size=512k,mode=700 tmpfs ${state}`),
    });
    try {
      // Each of them replaces what the journal keeps as a value.
      for (let count = 0; count < 40; count++) {
        const content = `${count}`.padEnd(60_000, "x");
        expect(await child.invoke("write", { path: "file", content })).toMatchObject({ code: "ok" });
      }
      await work(child);
    } finally {
      await child.close();
    }
  };

  maybe("stops no change", () =>
    withFullState({}, async (child) => {
      expect(await child.invoke("append", { path: "file", content: "more" })).toMatchObject({ code: "ok" });
      expect(await child.invoke("move", { path: "file", to: "moved" })).toMatchObject({ code: "ok" });
      expect(await child.invoke("delete", { path: "moved" })).toMatchObject({ code: "ok" });
      expect(await child.invoke("list", {})).toMatchObject({ output: { total: 0 } });
    }),
  );
});
