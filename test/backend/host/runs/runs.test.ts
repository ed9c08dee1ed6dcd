import { chmodSync, lstatSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "@jest/globals";
import { differencesOf } from "../../../../src/backend/host/runs/differences.js";
import {
  parentOf,
  placeKey,
  type Scan,
  type ScanLimits,
  type SeenEntry,
  type SeenTree,
  scanTree,
} from "../../../../src/backend/host/runs/scan.js";
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
    const scan: ScanWith = async (limits) => runIo(scanTree(jail, jail.top, access, { ...NO_LIMITS, ...limits }));
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

/** Entries by path: a name that ends with "/" is a directory. The number is the inode, the text behind it the content. */
function scan(entries: Readonly<Record<string, string>>, partial?: readonly string[]): SeenTree {
  const seen = Object.entries(entries).map(([path, state]): [string, SeenEntry] => {
    const kind = path.endsWith("/") ? "directory" : "file";
    const version = `0:${state}:${path.length}`;
    return [path.replace(/\/$/, ""), { kind, size: 0, modified: 0, mode: 0o644, version }];
  });
  return { entries: new Map(seen), isWhole: (path) => partial?.includes(path) !== true };
}

function told(before: SeenTree, after: SeenTree, apart: readonly string[] = []): string[] {
  const isApart = (path: string): boolean => apart.includes(path);
  return differencesOf(before, after, isApart).map(({ action, path, from, files }) =>
    [action, ...(from === undefined ? [] : [from]), path, ...(files === undefined ? [] : [files])].join(" "),
  );
}

describe("differences of two scans", () => {
  test("a tree that was made or deleted is one, unless something was moved into it or is told of by others", () => {
    const tree = { "t/": "1:a", "t/s/": "2:b", "t/s/f": "3:c", "t/g": "4:d" };
    expect(told(scan({}), scan(tree))).toEqual(["created t 2"]);
    expect(told(scan(tree), scan({}))).toEqual(["deleted t 2"]);
    expect(told(scan({ old: "3:c" }), scan(tree))).toEqual([
      "created t",
      "created t/s",
      "moved old t/s/f",
      "created t/g",
    ]);
    expect(told(scan({}), scan(tree), ["t/g"])).toEqual(["created t", "created t/s 1", "created t/g"]);
    expect(told(scan({}), scan(tree), ["t"])).toEqual(["created t", "created t/s 1", "created t/g"]);
  });

  test("a name that is of another kind now is free before it is used again", () => {
    expect(told(scan({ "a/": "1:a", "a/f": "2:b" }), scan({ a: "3:c" }))).toEqual(["deleted a 1", "created a"]);
    expect(told(scan({ a: "3:c" }), scan({ "a/": "1:a", "a/f": "2:b" }))).toEqual(["deleted a", "created a 1"]);
    // Where it was, nothing could be moved back to.
    expect(told(scan({ "a/": "1:a", "a/f": "2:b" }), scan({ a: "3:c", g: "2:b" }))).toEqual([
      ...["deleted a 1", "created a", "created g"],
    ]);
  });

  test("in a moved directory paths are those of now, and of a move those of its moment", () => {
    const before = scan({ "d/": "1:a", "d/k/": "2:b", "d/k/f": "3:c", "d/k/g": "4:d", "d/k/h": "5:e" });
    const after = scan({ "e/": "1:a", "e/k/": "2:x", "e/k/f": "3:y", "e/k/i": "4:d" });
    expect(told(before, after)).toEqual(["moved d e", "modified e/k/f", "moved e/k/g e/k/i", "deleted e/k/h"]);
  });

  test("an inode that was used again is no move", () => {
    expect(told(scan({ a: "1:a" }), scan({ b: "1:b" }))).toEqual(["created b", "deleted a"]);
    expect(told(scan({ a: "1:a" }), scan({ "b/": "1:a" }))).toEqual(["created b", "deleted a"]);
  });

  test("nothing is told of where one of the scans has not looked", () => {
    const one = { "d/": "1:a", "d/f": "2:b" };
    const other = { "d/": "1:a", "d/g": "3:c", "d/n/": "4:d" };
    expect(told(scan(one, ["d"]), scan(other))).toEqual(["deleted d/f"]);
    expect(told(scan(one), scan(other, ["d"]))).toEqual(["created d/g", "created d/n"]);
    expect(parentOf("d/f")).toBe("d");
  });
});
