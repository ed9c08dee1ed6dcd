import fs from "node:fs";
import { join } from "node:path";
import { afterEach, expect, jest, test } from "@jest/globals";
import { HostBackend } from "../../../src/backend/host/host.js";
import { TempHome } from "../../../src/backend/host/temp.js";
import { Usage } from "../../../src/backend/quota.js";
import { CallScope } from "../../../src/core/call/scope.js";
import { type Clock, systemClock } from "../../../src/core/clock.js";
import { Jail } from "../../../src/jail/jail.js";
import { Locks } from "../../../src/jail/staging/locks.js";
import { relPath } from "../../../src/path/grammar.js";
import { inArena, openDescriptors, staged } from "../arena.js";
import { type Files, openFiles, ROOT } from "../files.js";
import { withChild } from "../start-child.js";
import { down, makeDeepTree } from "./deep-tree.js";

/** A descent holds 16 directories; a copy has four: to its source and its target, and below each of them. */
const MAX_DESCRIPTORS = 80;

afterEach(() => {
  jest.restoreAllMocks();
});

/**
 * Runs `work`, and counts the turns of the event loop that others had meanwhile, the descriptors that were open at most, and
 * how often something was opened.
 */
async function observed(work: () => unknown): Promise<{ turns: number; descriptors: number; opened: number }> {
  const before = openDescriptors().length;
  const { openSync } = fs;
  let most = before;
  let opened = 0;
  jest.spyOn(fs, "openSync").mockImplementation((...args: Parameters<typeof openSync>) => {
    const fd = openSync(...args);
    // The kernel puts together a path of thousands of levels for each descriptor that is looked at.
    if (++opened % 200 === 0) most = Math.max(most, openDescriptors().length);
    return fd;
  });
  let turns = 0;
  let isOver = false;
  const tick = (): void => {
    if (isOver) return;
    turns++;
    setImmediate(tick);
  };
  setImmediate(tick);
  await work();
  isOver = true;
  jest.restoreAllMocks();
  expect(openDescriptors().length).toBe(before);
  return { turns, descriptors: most - before, opened };
}

/** A clock that goes on 1 ms at each look, however fast the machine is: work breathes as often as it looks. */
function steppingClock(): Clock {
  let now = 0;
  return { ...systemClock, monotonicMs: () => ++now };
}

const patient = { timeoutMs: 60_000 };
const LIMITS = { timeoutMs: 240_000 };

type Walks = Readonly<Record<string, (files: Files) => Promise<unknown>>>;

/** A tree whose walks are watched, and the level at which they begin. */
interface Watched {
  readonly levels: number;
  readonly base: number;
}

/** Every hundredth level has a file, and so has the bottom. */
const filesBelow = (base: number, levels: number): number => Math.floor((levels - base) / 100) + 1;

/** Walks of what lies below so many levels. */
function walksOf({ levels, base }: Watched): Walks {
  const FILES = filesBelow(base, levels);
  return {
    tree: (files) => files.invoke("tree", { path: down(base), maxDepth: 10 }),
    glob: async (files) => {
      const found = await files.invoke("glob", { path: down(base), pattern: "**/file", limit: 1, ...patient });
      expect(found).toMatchObject({ totalMatches: FILES - 1, countIsComplete: true });
    },
    grep: async (files) => {
      const found = await files.invoke("grep", {
        path: down(base),
        pattern: "x",
        output: "count",
        limit: 1,
        ...patient,
      });
      expect(found).toMatchObject({ totalMatches: FILES, countIsComplete: true });
    },
    du: async (files) => {
      const sum = await files.invoke("du", { path: down(base), ...patient });
      expect(sum).toMatchObject({ files: FILES, directories: levels - base, complete: true });
    },
    copy: async (files) => {
      await files.invoke("copy", { path: down(base), to: `other/${down(base - 2)}/copied`, recursive: true });
      const sum = await files.invoke("du", { path: `other/${down(base - 2)}/copied`, ...patient });
      expect(sum).toMatchObject({ files: FILES, directories: levels - base });
    },
    delete: async (files) => {
      await files.invoke("delete", { path: down(2), recursive: true });
      expect(await files.invoke("stat", { path: down(2) })).toEqual({ exists: false });
    },
  };
}

/**
 * What trees need that are deeper than a process may open files, and whose paths are longer than a system call takes.
 */
export function deepTreeSuite(LEVELS: number, watched: Watched = { levels: LEVELS, base: 512 }): void {
  test(`needs few descriptors and lets others run: ${watched.levels} levels`, async () => {
    await inArena(async ({ root }) => {
      makeDeepTree(root, "d", watched.levels);
      makeDeepTree(root, "other", watched.base);
      const files = await openFiles(root, "handle walk", { limits: LIMITS, clock: steppingClock() });
      try {
        for (const [name, work] of Object.entries(walksOf(watched))) {
          const { turns, descriptors, opened } = await observed(() => work(files));
          expect([name, descriptors <= MAX_DESCRIPTORS, descriptors]).toEqual([name, true, descriptors]);
          // Each directory is entered from the one above, and left for it: the way from the root is not gone anew.
          if (name === "copy") expect([opened < watched.levels * 12, opened]).toEqual([true, opened]);
          if (name !== "tree") expect([name, turns > watched.levels / 250]).toEqual([name, true]);
        }
        expect(staged(root)).toEqual([]);
      } finally {
        for (const path of ["d", "other"]) await files.invoke("delete", { path, recursive: true });
        await files.close();
      }
    });
  });

  test("is walked, many times at once, by a process that may open 1,024 files", async () => {
    const { base } = watched;
    await inArena(async ({ root }) => {
      makeDeepTree(root, "d", LEVELS);
      makeDeepTree(root, "other", base);
      const under = ["sh", "-ec", 'ulimit -n 1024; exec "$@"', "sh"];
      const config = { roots: { [ROOT]: { path: root, durability: "none" as const } }, limits: LIMITS };
      await withChild({ config, under }, async (child) => {
        const path = down(base);
        const same = { path, ...patient };
        const answers = await Promise.all([
          ...Array.from({ length: 3 }, () => child.invoke("du", same)),
          child.invoke("glob", { ...same, pattern: "**/bottom" }),
          child.invoke("grep", { ...same, pattern: "x", output: "count" }),
          child.invoke("copy", { path, to: `other/${down(base - 2)}/copied`, recursive: true }),
        ]);
        expect(answers.map(({ code }) => code)).toEqual(answers.map(() => "ok"));
        for (const { output } of answers.slice(0, 3))
          expect(output).toMatchObject({ files: filesBelow(base, LEVELS), complete: true });
        for (const path of ["d", "other"]) {
          expect(await child.invoke("delete", { path, recursive: true })).toMatchObject({ code: "ok" });
        }
      });
      expect(fs.readdirSync(root).sort()).toEqual(["dir", "file.txt"]);
    });
  });

  test("is searched after commands: set-id bits are cleared at the bottom too, and everything is counted", async () => {
    await inArena(async ({ root }) => {
      makeDeepTree(root, "d", LEVELS);
      const jail = new Jail({ path: root, readOnly: false, crossDevice: false, io: "sync" }, new Locks());
      const usage = new Usage({ bytes: 1_000_000, files: 1000 });
      const rules = { durable: false, hardLinks: false, maxCopyBytes: 0, usage };
      const backend = new HostBackend(jail, rules);
      const bottom = await climbTo(join(root, "d"));
      try {
        const place = { root: ROOT, path: "" };
        const scope = new CallScope({ clock: systemClock, timeoutMs: 60_000 });
        const access = { place, verb: "exec", scope, real() {}, create() {}, require() {}, holds: () => true };
        const user = { uid: process.getuid?.() ?? 0, gid: process.getgid?.() ?? 0 };
        const mounted = await backend.mount(relPath([]), { writable: true, keepsStage: false, user }, access);
        fs.chmodSync(`/proc/self/fd/${bottom}/bottom`, 0o4755);
        const { turns, descriptors } = await observed(() => mounted.settle());
        expect(descriptors).toBeLessThanOrEqual(MAX_DESCRIPTORS);
        // The steps of two walks, 256 a turn.
        expect(turns).toBeGreaterThan(((2 * LEVELS) / 256) * 0.75);
        expect(fs.statSync(`/proc/self/fd/${bottom}/bottom`).mode & 0o7777).toBe(0o755);
        // What the arena holds stands beside.
        expect(usage.facts()).toMatchObject({ usedFiles: LEVELS / 100 + 3 });
        await mounted.close();
      } finally {
        fs.closeSync(bottom);
        await backend.close();
        const files = await openFiles(root);
        await files.invoke("delete", { path: "d", recursive: true });
        await files.close();
      }
    });
  });

  test("is removed with its temp root without blocking other work", async () => {
    const home = new TempHome();
    const path = home.create("deep-");
    makeDeepTree(path, "d", LEVELS);
    const { turns, descriptors } = await observed(() => home.discard(path));
    expect(fs.existsSync(path)).toBe(false);
    expect(descriptors).toBeLessThanOrEqual(MAX_DESCRIPTORS);
    expect(turns).toBeGreaterThan(LEVELS / 250);
    const other = home.create("deep-");
    makeDeepTree(other, "d", 1000);
    expect((await observed(() => home.remove())).turns).toBeGreaterThan(5);
    expect(fs.existsSync(other)).toBe(false);
  });
}

/** The deepest directory `d` below a path, opened. */
async function climbTo(path: string): Promise<number> {
  const flags = fs.constants.O_RDONLY | fs.constants.O_DIRECTORY;
  for (let fd = fs.openSync(path, flags); ; ) {
    const below = `/proc/self/fd/${fd}/d`;
    if (!fs.existsSync(below)) return fd;
    const next = fs.openSync(below, flags);
    fs.closeSync(fd);
    fd = next;
  }
}
