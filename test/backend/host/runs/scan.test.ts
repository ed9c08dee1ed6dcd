import { chmodSync, lstatSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "@jest/globals";
import { placeKey, type Scan, type ScanLimits, scanTree } from "../../../../src/backend/host/runs/scan.js";
import { CallScope } from "../../../../src/core/call/scope.js";
import { systemClock } from "../../../../src/core/clock.js";
import { identityOf } from "../../../../src/core/identity.js";
import { runIo } from "../../../../src/core/io.js";
import { Jail } from "../../../../src/jail/jail.js";
import { Locks } from "../../../../src/jail/staging/locks.js";
import { inArena } from "../../../jail/arena.js";

const NO_LIMITS: ScanLimits = { entries: 1000, ms: Number.POSITIVE_INFINITY };

type ScanWith = (limits?: Partial<ScanLimits>) => Promise<Scan>;

function scanning(work: (scan: ScanWith, root: string) => Promise<void>): Promise<void> {
  return inArena(async ({ root, file }) => {
    for (const path of ["a/b/c", "a/d", "e/f", "g"]) file(path, path);
    const jail = new Jail({ path: root, readOnly: true, crossDevice: false, io: "sync" }, new Locks());
    const scope = new CallScope({ clock: systemClock, timeoutMs: Number.POSITIVE_INFINITY });
    const policy = { denies: (_: unknown, name: string) => name === "f" };
    const access = { scope, policy };
    const scan: ScanWith = async (limits) =>
      runIo(scanTree(jail, jail.top, { access, limits: { ...NO_LIMITS, ...limits } }));
    await work(scan, root);
    await jail.close();
  });
}

const PATHS = ["a", "a/b", "a/b/c", "a/d", "e", "g"];

test("a scan sees everything but what is denied", () =>
  scanning(async (scan) => {
    const { entries, isComplete } = await scan();
    expect([...entries.keys()].filter((path) => PATHS.includes(path))).toEqual(PATHS);
    expect([isComplete, entries.has("e/f")]).toEqual([true, false]);
    expect(entries.get("a/b/c")).toMatchObject({ kind: "file", size: 5, mode: expect.any(Number) });
    expect(entries.get("a/b")).toMatchObject({ kind: "directory", modified: expect.any(Number) });
  }));

test("a scan tells denied and unreachable entries, and never among the others", () =>
  scanning(async (scan, root) => {
    mkdirSync(join(root, "back\\slash"));
    writeFileSync(join(root, "back\\slash", "in"), "");
    const identityAt = (...names: string[]) => identityOf(lstatSync(join(root, ...names), { bigint: true }));
    const whole = await scan();
    expect([...whole.unreachable]).toEqual([identityAt("back\\slash"), identityAt("back\\slash", "in")]);
    expect([...whole.denied]).toEqual([placeKey(identityAt("e"), "f")]);
    expect([...whole.entries.keys()].filter((path) => /back|f$/.test(path))).toEqual([]);
    expect((await scan({ entries: 3 })).isComplete).toBe(false);
  }));

test("a scan that ends early knows which directories it has seen whole", () =>
  scanning(async (scan) => {
    const { entries, isComplete, isWhole } = bound(await scan({ entries: 4 }));
    expect([[...entries.keys()], isComplete]).toEqual([["a", "a/b", "a/b/c", "a/d"], false]);
    expect(["", "a", "a/b", "e"].map(isWhole)).toEqual([false, true, true, false]);
    expect(bound(await scan({ entries: 2 })).isWhole("a/b")).toBe(false);
    expect((await scan({ ms: -1 })).isComplete).toBe(false);
  }));

const bound = (scan: Scan) => ({ ...scan, entries: scan.entries, isWhole: (path: string) => scan.isWhole(path) });

test("a scan knows whether it saw everything, where not, and files that give the rights of their owner", () =>
  scanning(async (scan, root) => {
    const facts = async () => {
      const { closed, hasSetId, isThorough } = await scan();
      return [[...closed], hasSetId, isThorough];
    };
    expect(await facts()).toEqual([[], false, true]);
    mkdirSync(join(root, "a/f/in"), { recursive: true });
    mkdirSync(join(root, "e/.venue-files"));
    writeFileSync(join(root, "a/f/in/hidden"), "");
    chmodSync(join(root, "a/f/in/hidden"), 0o4755);
    expect(await facts()).toEqual([["a/f", "e/.venue-files"], false, true]);
    chmodSync(join(root, "e/f"), 0o2755);
    expect(await facts()).toEqual([["a/f", "e/.venue-files"], true, true]);
    mkdirSync(join(root, "back\\slash/f"), { recursive: true });
    expect((await facts())[2]).toBe(false);
    expect((await scan({ entries: 2 })).isThorough).toBe(false);
  }));
