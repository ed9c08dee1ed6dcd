import { mkdirSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "@jest/globals";
import { findMasks } from "../../../src/backend/host/masks.js";
import { CallScope } from "../../../src/core/call/scope.js";
import { systemClock } from "../../../src/core/clock.js";
import { runIo } from "../../../src/core/io.js";
import type { Access } from "../../../src/core/ports/backend.js";
import { Jail } from "../../../src/jail/jail.js";
import { Locks } from "../../../src/jail/staging/locks.js";
import { MAX_HELD } from "../../../src/jail/walk/descent.js";
import { expectClosedSoon, inArena, openDescriptors } from "../../jail/arena.js";

const LEVELS = 4 * MAX_HELD;
const down = (levels: number): string[] => Array(levels).fill("d");

/** Makes `a`, `d` and `z.key` at each of many levels, and looks for entries named `*.key`. */
async function masksIn(root: string, atName: (below: readonly string[], name: string) => void): Promise<string[]> {
  for (let level = 1; level <= LEVELS; level++) {
    mkdirSync(join(root, ...down(level)));
    writeFileSync(join(root, ...down(level), "z.key"), "SECRET");
    writeFileSync(join(root, ...down(level), "a"), "open");
  }
  const jail = new Jail({ path: root, readOnly: true, crossDevice: false, io: "sync" }, new Locks());
  const denies = (below: readonly string[], name: string): boolean => {
    atName(below, name);
    return name.endsWith(".key");
  };
  const access: Access = {
    verb: "exec",
    real() {},
    create() {},
    require() {},
    holds: () => true,
    place: { root: "r", path: "" },
    scope: new CallScope({ clock: systemClock, timeoutMs: 60_000 }),
    policy: { denies, anchors: () => [] },
  };
  try {
    const { masks } = await runIo(findMasks(jail, jail.top, access));
    return masks.map(({ path }) => Buffer.from(path).toString()).sort();
  } finally {
    await jail.close();
  }
}

test("what is denied in a deep tree is found with a few handles", () =>
  inArena(async ({ root }) => {
    const before = openDescriptors().length;
    let most = 0;
    const masks = await masksIn(root, () => {
      most = Math.max(most, openDescriptors().length - before);
    });
    const keys = Array.from({ length: LEVELS }, (_, level) => [...down(level + 1), "z.key"].join("/"));
    expect(masks).toEqual(keys.sort());
    // Besides: the root, and a directory just entered.
    expect(most).toBeLessThanOrEqual(MAX_HELD + 2);
    expect(most).toBeGreaterThan(2);
    expect(openDescriptors().length).toBe(before);
  }));

test("a directory to which the search cannot return is hidden as a whole", () =>
  inArena(async ({ root }) => {
    const before = openDescriptors();
    let isMoved = false;
    const masks = await masksIn(root, (below) => {
      if (isMoved || below.length < LEVELS) return;
      isMoved = true;
      renameSync(join(root, ...down(10)), join(root, "elsewhere"));
      renameSync(join(root, ...down(3)), join(root, "other"));
    });
    expect(isMoved).toBe(true);
    expect(masks).toContain(down(3).join("/"));
    expect(masks).toContain("d/z.key");
    await expectClosedSoon(before);
  }));
