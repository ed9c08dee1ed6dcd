// Processes that commit to a store and are killed, and what the next one finds.
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { rmSync } from "node:fs";
import { expect } from "@jest/globals";
import { openEmbeddedStore } from "../../../src/drive/store/embedded/embedded.js";
import { missingOf, OWNER, publish, treeOf } from "./cells.js";
import { committedValue, PACK_BYTES } from "./child-values.js";
import type { Compiled } from "./compiled.js";

/** The compiled program, and the folder of the store. */
interface Place {
  readonly compiled: Compiled;
  readonly path: string;
}

interface Child {
  readonly process: ChildProcess;
  /** Lines so far. */
  readonly lines: () => string[];
  readonly ended: Promise<unknown>;
}

/** @param place where the program and the store are */
export function start({ compiled, path }: Place, what: string, number = ""): Child {
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
export async function expectIntact(path: string, acknowledged: number): Promise<void> {
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

/** Kills a process at every `stride`th step of its commits. @returns the number of its steps */
export async function killAtSteps(place: Place, stride: number): Promise<number> {
  for (let step = 1; ; step += stride) {
    rmSync(place.path, { recursive: true });
    const child = start(place, "steps", String(step));
    await child.ended;
    const lines = child.lines();
    await expectIntact(place.path, Number(lines.filter((line) => line !== "end").at(-1) ?? -1));
    if (lines.at(-1) === "end") return step;
  }
}
