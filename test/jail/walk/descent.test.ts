import { mkdirSync, renameSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "@jest/globals";
import { type Io, runIo } from "../../../src/core/io.js";
import { identity, ProcHandles, release } from "../../../src/jail/handles.js";
import { Sys } from "../../../src/jail/sys.js";
import { Descent, MAX_HELD } from "../../../src/jail/walk/descent.js";
import { expectClosedSoon, inArena, openDescriptors } from "../arena.js";

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
