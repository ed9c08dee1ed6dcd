import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "@jest/globals";
import { countTogether, expectAll, killLogging, withEngine, writeAndKill } from "../engine-crash.js";
import { type Compiled, compile } from "../store/compiled.js";
import { ENGINE_OWNER } from "../store/engine-child-values.js";

let compiled: Compiled;
let path: string;
beforeAll(() => {
  compiled = compile();
});
afterAll(() => compiled.remove());
beforeEach(() => {
  path = mkdtempSync(join(tmpdir(), "vf-engine-"));
});
afterEach(() => rmSync(path, { recursive: true }));

describe("a process that is killed while it changes drives", () => {
  test.each([
    { what: "quick", after: 600 },
    { what: "durable", after: 60 },
  ] as const)(
    "has lost nothing that it acknowledged: $what, $after changes",
    async ({ what, after }) => {
      const acknowledged = await writeAndKill({ compiled, path, what, after });
      expect(acknowledged.length).toBeGreaterThanOrEqual(after);
      await expectAll(path, acknowledged);
    },
    60_000,
  );

  test("has swapped the root and written the log as one, at whatever moment", async () => {
    await killLogging(compiled, path, 6);
  }, 120_000);
});

test("several processes change the drives of one owner at once, and no change is lost", async () => {
  const [times, processes] = [30, 3];
  const ids = await countTogether(compiled, path, Array(processes).fill(times));
  await withEngine(path, async (engine) => {
    const snapshot = await engine.owner(ENGINE_OWNER).read("d");
    expect((await snapshot.stat(["count"]))?.size).toBe(times * processes);
    const names = new Set((await snapshot.entries([])).map(({ name }) => name));
    for (const id of ids) for (let at = 0; at < times; at += 1) expect(names).toContain(`own-${id}-${at}`);
    snapshot.release();
  });
}, 60_000);
