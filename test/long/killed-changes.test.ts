import { expect, test } from "@jest/globals";
import { KilledRoot, type Tree } from "../journal/killed-changes.js";

const KILLS = 150;
const BEFORE: Tree = { a: "one", "d/": "", "d/a": "two", "d/e/": "", "d/e/c": "l".repeat(90_000) };

test("whatever a killed process has changed is in the history, and undoing all of it brings back what was there", async () => {
  for (let kill = 0; kill < KILLS; kill++) {
    const killed = new KilledRoot(BEFORE);
    try {
      await killed.killAfter(Math.random() * 60);
      const { complete } = await killed.history();
      expect([kill, complete]).toEqual([kill, true]);
      await killed.undoAll();
      expect([kill, killed.tree]).toEqual([kill, BEFORE]);
    } finally {
      killed.remove();
    }
  }
}, 600_000);
