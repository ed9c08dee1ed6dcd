import { existsSync, rmSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "@jest/globals";
import { createFileAdapter } from "../../../src/index.js";
import { inArena } from "../arena.js";
import { ROOT, withFiles } from "../files.js";
import { race, sawBoth, type Tally } from "./race.js";
import { fillOutside, makeTree, missingOutside, raceDeletions } from "./race-deletion.js";
import { ROUNDS } from "./race-rounds.js";
import { startRacer } from "./start-racer.js";

const DURATION_MS = 200;
const DELETIONS_MS = 2000;
/** The attack works against the common way within a fraction of this. */
const CONTROL_TREES = 500;

describe.each(Object.entries(ROUNDS))("while a %s is exchanged with a link to the outside", (_kind, kind) => {
  test.each(kind.rounds.map((round) => [round.name, round] as const))("%s stays inside", async (_name, round) => {
    const until = round.neverRefused ? ({ done }: Tally) => done > 0 : sawBoth;
    const tally = await race(round, { engine: "handle walk", pivot: kind.pivot, durationMs: DURATION_MS, until });
    expect(tally.escapes).toBe(0);
    expect(tally.done).toBeGreaterThan(0);
    // A name is always there while two are exchanged, so nothing else can be the matter.
    const codes = round.neverRefused ? [] : ["SYMLINK_ESCAPE"];
    if (tally.method === "renameat2") expect(Object.keys(tally.refused)).toEqual(codes);
  });
});

/** The others are changes, which are walked on every engine. */
const LOOKS = ["list", "list below", "tree", "tree from above", "read", "stat", "grep", "grep from above", "glob"];

describe.each(Object.entries(ROUNDS))(
  "while a %s is exchanged with a link to the outside, by openat2",
  (_kind, kind) => {
    const looks = kind.rounds.filter(({ name }) => LOOKS.includes(name));
    test.each(looks.map((round) => [round.name, round] as const))("%s stays inside", async (_name, round) => {
      const until = round.neverRefused ? ({ done }: Tally) => done > 0 : sawBoth;
      const tally = await race(round, { engine: "openat2", pivot: kind.pivot, durationMs: DURATION_MS, until });
      expect(tally.escapes).toBe(0);
      const codes = round.neverRefused ? [] : ["SYMLINK_ESCAPE"];
      if (tally.method === "renameat2") expect(Object.keys(tally.refused)).toEqual(codes);
    });
  },
);

describe("while a directory is exchanged with a link to the outside, in the thread pool", () => {
  const { pivot, rounds } = ROUNDS.directory;
  const some = rounds.filter(({ name }) =>
    ["list", "read", "grep", "write", "mkdir, parents", "delete"].includes(name),
  );
  test.each(some.map((round) => [round.name, round] as const))("%s stays inside", async (_name, round) => {
    const tally = await race(round, {
      engine: "handle walk in the thread pool",
      pivot,
      durationMs: DURATION_MS,
      until: sawBoth,
    });
    expect(tally.escapes).toBe(0);
  });
});

describe("control: while a directory is exchanged with a link to the outside, real path and then open", () => {
  const { pivot, rounds } = ROUNDS.directory;
  const some = rounds.filter(({ name }) => ["list", "read", "write"].includes(name));
  test.each(some.map((round) => [round.name, round] as const))("%s gets out", async (_name, round) => {
    const tally = await race(round, {
      engine: "naive",
      pivot,
      durationMs: 0,
      until: ({ escapes }) => escapes > 0,
    });
    expect(tally.escapes).toBeGreaterThan(0);
  });
});

describe("removal of a tree in which a directory is exchanged with a link to the outside", () => {
  test("removes nothing outside", async () => {
    const end = performance.now() + DELETIONS_MS;
    const { trees, escapes } = await raceDeletions(
      ({ root }, path) =>
        withFiles(root, async (files) => {
          await files.invoke("delete", { path, recursive: true });
        }),
      (soFar) => soFar.trees > 3 && performance.now() > end,
    );
    expect(trees).toBeGreaterThan(3);
    expect(escapes).toBe(0);
  });

  test("removes nothing outside when a temp root is closed", async () => {
    await inArena(async (arena) => {
      fillOutside(arena);
      const end = performance.now() + DELETIONS_MS / 2;
      for (let round = 0; round < 3 || performance.now() < end; round++) {
        const adapter = await createFileAdapter({ roots: { [ROOT]: { temp: true } } });
        const { roots } = await adapter.invoke("file:roots", {});
        const root = String(roots[0]?.path);
        makeTree({ root, outside: arena.outside });
        const racer = await startRacer(join(root, "tree"), "pivot", "spare");
        await adapter.close();
        await racer.stop();
        expect(missingOutside(arena)).toBe(0);
        expect(existsSync(root)).toBe(false);
      }
    });
  });

  test("control: rmSync removes files outside", async () => {
    const { escapes } = await raceDeletions(removePlainly, (soFar) => soFar.escapes > 0 || soFar.trees > CONTROL_TREES);
    expect(escapes).toBeGreaterThan(0);
  });
});

function removePlainly({ root }: { root: string }, tree: string): void {
  try {
    rmSync(join(root, tree), { recursive: true, force: true });
  } catch {
    // It stumbles over what is exchanged; the harm is done all the same.
  }
}
