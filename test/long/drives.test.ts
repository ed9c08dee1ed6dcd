import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, test } from "@jest/globals";
import fc from "fast-check";
import { mergeCopies } from "../drive/dlfs/merging/copies.js";
import { converges, LONG_NAMES, PLAIN_NAMES, schedules } from "../drive/dlfs/merging/replicas.js";
import { mergeThree } from "../drive/dlfs/merging/three-copies.js";
import { expectAll, killLogging, writeAndKill } from "../drive/engine-crash.js";
import { compile } from "../drive/store/compiled.js";

/** Of each kind. */
const RUNS = { numRuns: 10_000 };

describe("copies of a drive that were changed while apart", () => {
  test.each([
    ["with short names", PLAIN_NAMES],
    ["with names of up to 255 bytes", LONG_NAMES],
  ])("are equal in the end, whatever their clocks said and whenever they heard of each other: %s", (_, names) => {
    fc.assert(fc.property(schedules(names), converges), RUNS);
  });
});

test("three copies with names of 1 to 255 bytes come to one tree, whatever the order", () => {
  expect(mergeThree(10_000, 1)).toBeGreaterThan(5000);
});

describe("a merge of two copies of 100,000 files that differ in 10", () => {
  test.each([
    { directories: 1, size: 10 },
    { directories: 100, size: 200 },
    { directories: 1000, size: 10 },
  ])("visits at most 300 cells: $directories directories, files of $size bytes", (shape) => {
    const { visited, hash, expected } = mergeCopies({ ...shape, files: 100_000, changes: 10 });
    expect(hash).toBe(expected);
    expect(visited).toBeGreaterThan(10);
    expect(visited).toBeLessThanOrEqual(300);
  });
});

describe("a process that is killed while it changes drives", () => {
  test.each([
    { what: "quick", after: 5000, rounds: 6 },
    { what: "durable", after: 500, rounds: 3 },
  ] as const)("has lost nothing that it acknowledged: $what, $after changes and more, $rounds times", async (crash) => {
    const compiled = compile();
    try {
      for (let round = 0; round < crash.rounds; round += 1) {
        const path = mkdtempSync(join(tmpdir(), "vf-engine-"));
        const acknowledged = await writeAndKill({ ...crash, compiled, path, after: crash.after + 37 * round });
        expect(acknowledged.length).toBeGreaterThanOrEqual(crash.after);
        await expectAll(path, acknowledged);
        rmSync(path, { recursive: true });
      }
    } finally {
      compiled.remove();
    }
  });

  test("has swapped the root and written the log as one, 100 times", async () => {
    const compiled = compile();
    const path = mkdtempSync(join(tmpdir(), "vf-engine-"));
    try {
      await killLogging(compiled, path, 100);
    } finally {
      rmSync(path, { recursive: true });
      compiled.remove();
    }
  });
});
