import { closeSync, mkdirSync, openSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { monitorEventLoopDelay } from "node:perf_hooks";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { sortByName } from "../../src/path/order.js";
import { type Arena, makeArena } from "../jail/arena.js";
import { type Files, openFiles } from "../jail/files.js";

const ENTRIES = 300_000;
/** Of the time that reading the directory in one go keeps everybody waiting, no call may take more than this part. */
const SHARE = 0.5;

describe("one directory with very many entries", () => {
  let arena: Arena;
  let files: Files;
  let plainMs: number;
  beforeAll(async () => {
    arena = makeArena();
    mkdirSync(join(arena.root, "big"));
    for (let n = 0; n < ENTRIES; n++) closeSync(openSync(join(arena.root, "big", `file-number-${n}`), "w"));
    files = await openFiles(arena.root, "handle walk", { limits: { timeoutMs: 600_000 } });
    const start = performance.now();
    sortByName(readdirSync(join(arena.root, "big"), { withFileTypes: true }));
    plainMs = performance.now() - start;
  });
  afterAll(async () => {
    await files.close();
    arena.remove();
  });

  const calls: readonly (readonly [string, Record<string, unknown>, Record<string, unknown>])[] = [
    ["list", { path: "big", offset: ENTRIES - 10, limit: 10 }, { total: ENTRIES, truncated: false }],
    ["tree", { path: "big" }, { entries: 500, truncated: true }],
    ["tree", { path: "" }, { entries: 500, truncated: true }],
    ["delete", { path: "big", recursive: true }, { deleted: true }],
  ];
  test.each(calls)("%s %j keeps nobody waiting", async (operation, input, output) => {
    const delay = monitorEventLoopDelay({ resolution: 5 });
    delay.enable();
    expect(await files.invoke(operation, input)).toMatchObject(output);
    delay.disable();
    const longestMs = delay.max / 1e6;
    process.stdout.write(
      `${operation}: ${longestMs.toFixed(0)} ms at a time, plain reading ${plainMs.toFixed(0)} ms\n`,
    );
    expect(longestMs).toBeLessThan(plainMs * SHARE);
  });
});
