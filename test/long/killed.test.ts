// Processes that are killed, many times: test/ has a few of each.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "@jest/globals";
import { killPatches } from "../backend/host/group/killed-patches.js";
import { compile } from "../drive/store/compiled.js";
import { killAtSteps } from "../drive/store/killed-commits.js";
import { killWhileWriting } from "../jail/staging/killing.js";
import { KilledRoot, type Tree } from "../journal/killed-changes.js";

test("a hundred kills in the middle of writes leave every file whole, and nothing else", async () => {
  await killWhileWriting({ rounds: 100, maxDelayMs: 400 });
  expect.hasAssertions();
});

const KILLS = 150;
const BEFORE: Tree = { a: "one", "d/": "", "d/a": "two", "d/e/": "", "d/e/c": "l".repeat(90_000) };

test("whatever a killed process has changed is in the history, and undoing all of it brings back what was there", async () => {
  for (let kill = 0; kill < KILLS; kill++) {
    const killed = new KilledRoot(BEFORE);
    try {
      await killed.killAfter(Math.random() * 60);
      const { complete } = await killed.undoAll();
      expect([kill, complete]).toEqual([kill, true]);
      expect([kill, killed.tree]).toEqual([kill, BEFORE]);
    } finally {
      killed.remove();
    }
  }
}, 600_000);

test.each([
  ["none", 300],
  ["flush", 200],
] as const)(
  "of many patches whose process is killed none is seen half done (durability %s)",
  async (durability, kills) => {
    const { halves, amid, left } = await killPatches(kills, durability);
    expect(halves).toEqual([]);
    expect(left).toBe(amid);
  },
  3_600_000,
);

test("a drive store loses nothing that was acknowledged, at whatever step of a commit its process is killed", async () => {
  const [compiled, path] = [compile(), mkdtempSync(join(tmpdir(), "vf-crash-"))];
  try {
    expect(await killAtSteps({ compiled, path }, 1)).toBeGreaterThan(40);
  } finally {
    compiled.remove();
    rmSync(path, { recursive: true });
  }
}, 600_000);
