import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "@jest/globals";
import { decode, Signed } from "../../../src/drive/index.js";
import { openEmbeddedStore } from "../../../src/drive/store/embedded/embedded.js";
import { bytesOf, missingOf, OWNER, publish, treeOf } from "./cells.js";
import { committedValue, PACK_BYTES } from "./child-values.js";
import { type Compiled, compile } from "./compiled.js";

let compiled: Compiled;
let path: string;
beforeAll(() => {
  compiled = compile();
});
afterAll(() => compiled.remove());
beforeEach(() => {
  path = mkdtempSync(join(tmpdir(), "vf-crash-"));
});
afterEach(() => rmSync(path, { recursive: true }));

interface Child {
  readonly process: ChildProcess;
  /** Lines so far. */
  readonly lines: () => string[];
  readonly ended: Promise<unknown>;
}

function start(what: string, number = ""): Child {
  const child = spawn(process.execPath, [compiled.file("test/drive/store/child.ts"), what, path, number], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  let text = "";
  child.stdout?.on("data", (data) => {
    text += String(data);
  });
  return { process: child, lines: () => text.split("\n").slice(0, -1), ended: once(child, "close") };
}

/** What was acknowledged last is there, or the one after it; whole, and the store goes on. */
async function expectIntact(acknowledged: number): Promise<void> {
  const store = await openEmbeddedStore({ path, packBytes: PACK_BYTES, flush: true });
  try {
    const root = await store.root(OWNER);
    const found = [acknowledged, acknowledged + 1].find((at) => at >= 0 && isRoot(root?.bytes, at));
    if (acknowledged >= 0) expect(found).toBeDefined();
    if (found !== undefined) expect(await missingOf(store, treeOf(committedValue(found)).cells)).toBe(0);
    await publish(store, committedValue(1_000_000));
    expect(await missingOf(store, treeOf(committedValue(1_000_000)).cells)).toBe(0);
    expect(await store.collect({ graceMs: 0 })).toMatchObject({ missing: 0 });
    expect(await missingOf(store, treeOf(committedValue(1_000_000)).cells)).toBe(0);
  } finally {
    await store.close();
  }
}

const isRoot = (bytes: Uint8Array | undefined, at: number): boolean =>
  bytes !== undefined && Buffer.compare(bytes, treeOf(committedValue(at)).root) === 0;

describe("a process that is killed", () => {
  test("at any step of a commit loses nothing that was acknowledged", async () => {
    let steps = 0;
    for (let isEnded = false; !isEnded; steps += 1) {
      rmSync(path, { recursive: true });
      const child = start("steps", String(steps + 1));
      await child.ended;
      const lines = child.lines();
      isEnded = lines.at(-1) === "end";
      await expectIntact(Number(lines.filter((line) => line !== "end").at(-1) ?? -1));
    }
    expect(steps).toBeGreaterThan(40);
  }, 240_000);

  test.each(["durable", "fast", "collecting"])(
    "in the middle of many commits loses nothing that was acknowledged: %s",
    async (what) => {
      for (let round = 0; round < 3; round += 1) {
        rmSync(path, { recursive: true, force: true });
        const child = start(what);
        const stdout = child.process.stdout;
        const target = 20 + 17 * round;
        while (child.lines().length < target && stdout !== null) await once(stdout, "data");
        child.process.kill("SIGKILL");
        await child.ended;
        await expectIntact(Number(child.lines().at(-1)));
      }
    },
    120_000,
  );
});

test("several processes use one store at once", async () => {
  const [times, processes] = [25, 3];
  const children = Array.from({ length: processes }, () => start("count", String(times)));
  expect(await Promise.all(children.map(({ ended }) => ended))).toEqual(children.map(() => [0, null]));
  const store = await openEmbeddedStore({ path });
  try {
    const root = await store.root(OWNER);
    const value = decode(root?.bytes ?? new Uint8Array());
    expect(value instanceof Signed && value.value).toBe(BigInt(times * processes));
    for (const child of children) {
      const pid = Number(child.lines()[0]);
      for (let at = 0; at < times; at += 1) {
        expect(await missingOf(store, treeOf(bytesOf(9000, pid * 1000 + at)).cells)).toBe(0);
      }
    }
    expect(readdirSync(join(path, "packs")).length).toBeGreaterThanOrEqual(processes);
  } finally {
    await store.close();
  }
}, 60_000);
