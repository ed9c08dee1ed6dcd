import { expect, test } from "@jest/globals";
import { type Scan, type ScanLimits, scanTree } from "../../../../src/backend/host/runs/scan.js";
import { CallScope } from "../../../../src/core/call/scope.js";
import { systemClock } from "../../../../src/core/clock.js";
import { runIo } from "../../../../src/core/io.js";
import { Jail } from "../../../../src/jail/jail.js";
import { Locks } from "../../../../src/jail/staging/locks.js";
import { inArena } from "../../../jail/arena.js";

const NO_LIMITS: ScanLimits = { entries: 1000, ms: Number.POSITIVE_INFINITY };

function scanning(work: (scan: (limits?: Partial<ScanLimits>) => Promise<Scan>) => Promise<void>): Promise<void> {
  return inArena(async ({ root, file }) => {
    for (const path of ["a/b/c", "a/d", "e/f", "g"]) file(path, path);
    const jail = new Jail({ path: root, readOnly: true, crossDevice: false, io: "sync" }, new Locks());
    const scope = new CallScope({ clock: systemClock, timeoutMs: Number.POSITIVE_INFINITY });
    const policy = { denies: (_: unknown, name: string) => name === "f" };
    const access = { scope, policy };
    await work(async (limits) => runIo(scanTree(jail, jail.top, { access, limits: { ...NO_LIMITS, ...limits } })));
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

test("a scan that ends early knows which directories it has seen whole", () =>
  scanning(async (scan) => {
    const { entries, isComplete, isWhole } = bound(await scan({ entries: 4 }));
    expect([[...entries.keys()], isComplete]).toEqual([["a", "a/b", "a/b/c", "a/d"], false]);
    expect(["", "a", "a/b", "e"].map(isWhole)).toEqual([false, true, true, false]);
    expect(bound(await scan({ entries: 2 })).isWhole("a/b")).toBe(false);
    expect((await scan({ ms: -1 })).isComplete).toBe(false);
  }));

const bound = (scan: Scan) => ({ ...scan, entries: scan.entries, isWhole: (path: string) => scan.isWhole(path) });
