import { spawnSync } from "node:child_process";
import { chmodSync, mkdirSync, renameSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { expect, test } from "@jest/globals";
import { findMasks } from "../../../src/backend/host/masks.js";
import { scanMount } from "../../../src/backend/host/runs/scan.js";
import { CallScope } from "../../../src/core/call/scope.js";
import { systemClock } from "../../../src/core/clock.js";
import { runIo } from "../../../src/core/io.js";
import type { Access, PlacePolicy } from "../../../src/core/ports/backend.js";
import { Jail } from "../../../src/jail/jail.js";
import { Locks } from "../../../src/jail/staging/locks.js";
import { MAX_HELD } from "../../../src/jail/walk/descent.js";
import { expectClosedSoon, inArena, openDescriptors } from "../../jail/arena.js";
import { asNobody } from "../../ops/rights.js";

const LEVELS = 4 * MAX_HELD;
const down = (levels: number): string[] => Array(levels).fill("d");

const accessBy = (policy?: PlacePolicy): Access => ({
  verb: "exec",
  real() {},
  create() {},
  require() {},
  holds: () => true,
  place: { root: "r", path: "" },
  scope: new CallScope({ clock: systemClock, timeoutMs: 60_000 }),
  ...(policy === undefined ? {} : { policy }),
});

async function masksBy(root: string, policy?: PlacePolicy): Promise<string[]> {
  const jail = new Jail({ path: root, readOnly: true, crossDevice: false, io: "sync" }, new Locks());
  try {
    const { masks } = await runIo(findMasks(jail, jail.top, accessBy(policy), { isWritable: true }));
    return masks.map(({ path }) => Buffer.from(path).toString()).sort();
  } finally {
    await jail.close();
  }
}

/** Makes `a`, `d` and `z.key` at each of many levels, and looks for entries named `*.key`. */
async function masksIn(root: string, atName: (below: readonly string[], name: string) => void): Promise<string[]> {
  for (let level = 1; level <= LEVELS; level++) {
    mkdirSync(join(root, ...down(level)));
    writeFileSync(join(root, ...down(level), "z.key"), "SECRET");
    writeFileSync(join(root, ...down(level), "a"), "open");
  }
  const denies = (below: readonly string[], name: string): boolean => {
    atName(below, name);
    return name.endsWith(".key");
  };
  return masksBy(root, { denies, anchors: () => [] });
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

/** Makes a directory at each of many levels, deeper than one path can name. */
function makeDeep(root: string, levels: number): void {
  const start = process.cwd();
  process.chdir(root);
  for (let level = 0; level < levels; level++) {
    mkdirSync("d");
    process.chdir("d");
  }
  writeFileSync("z.key", "SECRET");
  process.chdir(start);
}

const isKey: PlacePolicy = { denies: (_below, name) => name.endsWith(".key"), anchors: () => [] };

test.each([600, 1400])("a tree of %d levels is not hidden for its depth, and what is denied in it is", (levels) =>
  inArena(async ({ root }) => {
    makeDeep(root, levels);
    expect(await masksBy(root)).toEqual([]);
    expect(await masksBy(root, isKey)).toEqual([[...down(levels), "z.key"].join("/")]);
  }),
);

test("where a path is too long to be mounted over, what may hold something denied is hidden as a whole", () =>
  inArena(async ({ root }) => {
    makeDeep(root, 2000);
    expect(await masksBy(root)).toEqual([]);
    const [hidden = "", ...more] = await masksBy(root, isKey);
    expect(more).toEqual([]);
    expect(hidden.length).toBeGreaterThan(3000);
    expect(hidden.length).toBeLessThanOrEqual(3072);
    // Node goes down by recursion, which such a tree ends.
    spawnSync("rm", ["-rf", join(root, "d")]);
  }));

interface Searches {
  /** Masks found by looking through everything, and those found after a scan. */
  readonly masks: readonly (readonly string[])[];
  /** Directories in which the search after the scan compared names. */
  readonly searched: readonly string[];
  readonly isThorough: boolean;
}

/** Looks for what to mask twice, the second time after a scan. */
async function searchTwice(root: string, atScan = () => {}): Promise<Searches> {
  const jail = new Jail({ path: root, readOnly: true, crossDevice: false, io: "sync" }, new Locks());
  const searched = new Set<string>();
  const denies = (below: readonly string[], name: string): boolean => {
    searched.add(below.join("/"));
    return name.endsWith(".key");
  };
  const protection: PlacePolicy = { denies: (_, name) => name === ".git", anchors: () => [] };
  const access = { ...accessBy({ denies, anchors: () => [] }), protection };
  const find = async (scan?: Awaited<ReturnType<typeof lookAt>>) => {
    const { masks } = await runIo(findMasks(jail, jail.top, access, { isWritable: true, scan }));
    return masks.map(({ path, kind }) => `${kind} ${Buffer.from(path).toString("latin1")}`).sort();
  };
  const lookAt = async () => runIo(scanMount({ jail, directory: jail.top }, access));
  try {
    const whole = await find();
    const scan = await lookAt();
    atScan();
    searched.clear();
    return { masks: [whole, await find(scan)], searched: [...searched], isThorough: scan.isThorough };
  } finally {
    await jail.close();
  }
}

test("after a scan only directories are searched that hold something to hide or to protect, whatever its name", () =>
  inArena(async ({ root, file }) => {
    for (const path of ["plain/in/a", "a/b/c.key", "a/plain/d", "p/q/.git/config", "s/t/.venue-files/x"]) file(path);
    for (const path of ["u/back\\slash/e.key", "n/m/o.key/f"]) file(path);
    const bytes = Buffer.concat([Buffer.from(`${root}/u/`), Buffer.from([0xff]), Buffer.from("/")]);
    mkdirSync(bytes);
    writeFileSync(Buffer.concat([bytes, Buffer.from("g.key")]), "SECRET");
    const { masks, searched, isThorough } = await searchTwice(root);
    expect(masks[1]).toEqual(masks[0]);
    expect(masks[1]).toEqual(
      expect.arrayContaining([
        "file a/b/c.key",
        "file u/back\\slash/e.key",
        "file u/\xff/g.key",
        "directory n/m/o.key",
      ]),
    );
    expect(masks[1]).toEqual(expect.arrayContaining(["readonly p/q/.git", "directory s/t/.venue-files"]));
    expect(searched).toEqual(expect.arrayContaining(["", "a", "a/b", "p/q", "s/t"]));
    expect(searched.filter((path) => /plain|dir/.test(path))).toEqual([]);
    expect(isThorough).toBe(true);
  }));

test("after a scan everything is searched that it could not look at", () =>
  inArena(async ({ root, file }) => {
    for (const path of ["listed/in/a.key", "shut/b.key", "deep/listed/in/c"]) file(path);
    for (const path of ["listed", "deep/listed"]) chmodSync(join(root, path), 0o444);
    chmodSync(join(root, "shut"), 0);
    const { masks, isThorough } = await asNobody(dirname(root), () => searchTwice(root));
    for (const path of ["listed", "deep/listed", "shut"]) chmodSync(join(root, path), 0o755);
    expect(masks[1]).toEqual(masks[0]);
    expect(masks[1]).toEqual(expect.arrayContaining(["directory deep/listed", "directory listed", "directory shut"]));
    expect(isThorough).toBe(false);
  }));

test("what comes into a directory in which a scan saw something to hide is found after it", () =>
  inArena(async ({ root, file }) => {
    file("a/b.key");
    const { masks } = await searchTwice(root, () => writeFileSync(join(root, "a/c.key"), "SECRET"));
    expect(masks).toEqual([["file a/b.key"], ["file a/b.key", "file a/c.key"]]);
  }));
