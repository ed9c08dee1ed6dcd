import {
  closeSync,
  constants,
  existsSync,
  mkdirSync,
  openSync,
  readdirSync,
  renameSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "@jest/globals";
import { type Io, runIo } from "../../../src/core/io.js";
import { identity, ProcHandles, release } from "../../../src/jail/handles.js";
import { Sys } from "../../../src/jail/sys.js";
import { Descent, MAX_HELD } from "../../../src/jail/walk/descent.js";
import { type Arena, expectClosedSoon, inArena, openDescriptors, staged } from "../arena.js";
import { codeOf, ENGINES, withFiles } from "../files.js";
import { deepTreeSuite } from "./deep-tree-suite.js";

// More levels than a process may open files, and a path longer than a system call takes. test/long has one of 5,000.
describe("a tree of 2,100 levels", () => deepTreeSuite(2100, { levels: 800, base: 100 }));

describe("a walk far down", () => {
  const LEVELS = 1500;

  /**
   * A directory of many levels, each named `d`, with a file at every hundredth level and a link out at the bottom. Built
   * from both ends of short paths: a path to its bottom would be too long for any call.
   */
  function makeDeep({ root, outside }: Arena, top: string, levels = LEVELS): void {
    let built = join(root, ".building0");
    mkdirSync(built);
    symlinkSync(outside, join(built, "link"));
    for (let level = 1; level < levels; level++) {
      const above = join(root, `.building${level}`);
      mkdirSync(above);
      renameSync(built, join(above, "d"));
      if (level % 100 === 0) writeFileSync(join(above, "file"), "x");
      built = above;
    }
    renameSync(built, join(root, top));
  }

  /** Levels of the directory below `path`, counted by handles. */
  function levelsOf(path: string): number {
    const flags = constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW;
    let fd = openSync(path, flags);
    for (let levels = 1; ; levels++) {
      const names = readdirSync(`/proc/self/fd/${fd}`);
      if (!names.includes("d")) {
        closeSync(fd);
        return levels;
      }
      const next = openSync(`/proc/self/fd/${fd}/d`, flags);
      closeSync(fd);
      fd = next;
    }
  }

  describe.each(ENGINES)("a directory of 1,500 levels, by %s", (engine) => {
    test("is listed, shown and removed, and nothing outside with it", async () => {
      await inArena(async (arena) => {
        makeDeep(arena, "deep");
        expect(levelsOf(join(arena.root, "deep"))).toBe(LEVELS);
        const outside = arena.outsideNow();
        await withFiles(
          arena.root,
          async (files) => {
            expect(await files.invoke("list", { path: "deep" })).toMatchObject({ total: 1, entries: [{ name: "d" }] });
            const tree = await files.invoke("tree", { path: "deep/d/d", maxDepth: 10 });
            expect(tree).toMatchObject({ entries: 10, depthLimited: true });
            const descriptors = openDescriptors();
            expect(await files.invoke("delete", { path: "deep", recursive: true })).toMatchObject({ deleted: true });
            expect(existsSync(join(arena.root, "deep"))).toBe(false);
            expect(staged(arena.root)).toEqual([]);
            await expectClosedSoon(descriptors);
          },
          { engine },
        );
        expect(arena.outsideNow()).toEqual(outside);
      });
    });

    test("is reachable down to 512 segments", async () => {
      await inArena(async (arena) => {
        makeDeep(arena, "d", 600);
        const segments = (count: number): string => Array(count).fill("d").join("/");
        // By links, segments add up that stand in no request.
        arena.link("far", segments(300));
        await withFiles(
          arena.root,
          async (files) => {
            expect(await codeOf(files.invoke("list", { path: segments(512) }))).toBe("ok");
            expect(await codeOf(files.invoke("list", { path: segments(513) }))).toBe("INVALID_PATH");
            await expect(files.invoke("list", { path: segments(513) })).rejects.toMatchObject({
              message: expect.stringMatching(/: too deep$/),
            });
            expect(await codeOf(files.invoke("list", { path: `far/${segments(212)}` }))).toBe("ok");
            const beyond = files.invoke("list", { path: `far/${segments(220)}` });
            await expect(beyond).rejects.toMatchObject({ message: expect.stringMatching(/: too deep$/) });
            await files.invoke("delete", { path: "d", recursive: true });
          },
          { engine },
        );
      });
    });
  });

  test("control: plain rmSync and rm -r by path cannot name the bottom", async () => {
    await inArena(async (arena) => {
      makeDeep(arena, "deep");
      const bottom = join(arena.root, "deep", ...Array(2100).fill("d"));
      expect(() => readdirSync(bottom)).toThrow("ENAMETOOLONG");
      await withFiles(arena.root, (files) => files.invoke("delete", { path: "deep", recursive: true }));
    });
  });
});

describe("a descent", () => {
  const LEVELS = 3 * MAX_HELD;

  /** Goes down `LEVELS` directories named `d`, then runs `work`. Nothing stays open. */
  async function descended(
    work: (at: { descent: Descent; identities: readonly string[]; root: string; handles: ProcHandles }) => Io<void>,
  ): Promise<void> {
    await inArena(async ({ root }) => {
      mkdirSync(join(root, ...Array(LEVELS).fill("d")), { recursive: true });
      const before = openDescriptors();
      const handles = new ProcHandles(new Sys(false));
      const start = handles.openRoot(root);
      const descent = new Descent(handles, start);
      try {
        await runIo(
          (function* () {
            for (let level = 0; level < LEVELS; level++) {
              const next = yield* handles.enter(descent.directory, "d");
              if (typeof next === "string") throw new Error(next);
              descent.push(next, "d");
            }
            yield* work({ descent, identities: descent.identities(), root, handles });
          })(),
        );
      } finally {
        descent.close();
        release(start);
      }
      await expectClosedSoon(before);
    });
  }

  test("holds only the deepest directories open, and returns to the same objects", () =>
    descended(function* ({ descent, identities }) {
      expect(identities).toHaveLength(LEVELS + 1);
      expect(new Set(identities).size).toBe(LEVELS + 1);
      const open = openDescriptors().length;
      for (let level = LEVELS; level > 0; level--) {
        expect(identity(descent.directory)).toBe(identities[level]);
        expect(yield* descent.leave()).toBe(1);
        expect(openDescriptors().length).toBeLessThanOrEqual(open);
      }
      expect(identity(descent.directory)).toBe(identities[0]);
      expect(descent.depth).toBe(0);
      expect(yield* descent.leave()).toBe(0);
    }));

  const levels = (count: number): string => Array(count).fill("d").join("/");

  test("after a directory was moved, its former parent is found by name", () =>
    descended(function* ({ descent, identities, root }) {
      const level = LEVELS - MAX_HELD;
      mkdirSync(join(root, "elsewhere"));
      renameSync(join(root, levels(level)), join(root, "elsewhere/d"));
      while (descent.depth > level) expect(yield* descent.leave()).toBe(1);
      expect(yield* descent.leave()).toBe(1);
      expect(identity(descent.directory)).toBe(identities[level - 1]);
    }));

  test("levels that can no longer be found are reported as lost", () =>
    descended(function* ({ descent, identities, root }) {
      const level = LEVELS - MAX_HELD;
      mkdirSync(join(root, "elsewhere"));
      renameSync(join(root, levels(level)), join(root, "elsewhere/d"));
      renameSync(join(root, levels(4)), join(root, "elsewhere/e"));
      mkdirSync(join(root, levels(4)));
      while (descent.depth > level) expect(yield* descent.leave()).toBe(1);
      expect(yield* descent.leave()).toBe(level - 3);
      expect(descent.depth).toBe(3);
      expect(identity(descent.directory)).toBe(identities[3]);
    }));
});
