import { spawn } from "node:child_process";
import { once } from "node:events";
import { expect } from "@jest/globals";
import { silentLog } from "../../src/core/ports/log.js";
import { createDriveEngine, type DriveEngine } from "../../src/drive/engine/engine.js";
import { createOwnerKeys } from "../../src/drive/keys/owner-keys.js";
import { openEmbeddedStore } from "../../src/drive/store/embedded/embedded.js";
import type { Compiled } from "./store/compiled.js";
import { ENGINE_OWNER, ENGINE_VENUE_KEY, engineClock, fileContent, filePath } from "./store/engine-child-values.js";

export interface Crash {
  readonly compiled: Compiled;
  readonly path: string;
  /** Whether the store flushes to the disk. */
  readonly what: "durable" | "quick";
  /** It is killed as soon as it has told of so many. */
  readonly after: number;
}

/** A process that changes drives is killed in the middle. @returns what it had acknowledged */
export async function writeAndKill({ compiled, path, what, after }: Crash): Promise<number[]> {
  const child = spawn(process.execPath, [compiled.file("test/drive/store/engine-child.ts"), what, path], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  const closed = once(child, "close");
  let text = "";
  child.stdout.on("data", (data) => {
    text += String(data);
    if (text.split("\n").length > after) child.kill("SIGKILL");
  });
  await closed;
  return text.split("\n").slice(0, -1).map(Number);
}

/** As processes count together. @returns their ids */
export async function countTogether(compiled: Compiled, path: string, times: readonly number[]): Promise<string[]> {
  const outputs = times.map(async (number) => {
    const args = [compiled.file("test/drive/store/engine-child.ts"), "count", path, String(number)];
    const child = spawn(process.execPath, args, { stdio: ["ignore", "pipe", "inherit"] });
    let text = "";
    child.stdout.on("data", (data) => {
      text += String(data);
    });
    await once(child, "close");
    return text.trim();
  });
  return Promise.all(outputs);
}

/** The engine on a store that others have left. */
export async function withEngine<T>(path: string, use: (engine: DriveEngine) => Promise<T>): Promise<T> {
  const store = await openEmbeddedStore({ path, flush: false });
  try {
    const keys = createOwnerKeys({ records: store.keys, venueKey: ENGINE_VENUE_KEY, clock: engineClock });
    const engine = createDriveEngine({ store, keys, clock: engineClock, log: silentLog });
    const result = await use(engine);
    await engine.close();
    return result;
  } finally {
    await store.close();
  }
}

/** The store opens, every file that was acknowledged is there and whole, and nothing is damaged. */
export async function expectAll(path: string, acknowledged: readonly number[]): Promise<void> {
  await withEngine(path, async (engine) => {
    expect(await engine.check()).toEqual({ owners: 1, damaged: 0 });
    const owner = engine.owner(ENGINE_OWNER);
    const snapshot = await owner.read("d");
    const lost: number[] = [];
    for (const file of acknowledged) {
      const content = fileContent(file);
      const found = await snapshot.readFile(filePath(file), 0, content.length + 1).catch(() => undefined);
      if (found === undefined || !found.bytes.equals(content)) lost.push(file);
    }
    snapshot.release();
    expect(lost).toEqual([]);
    const report = await owner.verify("d");
    expect(report).toMatchObject({ damaged: [], damagedCount: 0 });
    expect(report.files).toBeGreaterThanOrEqual(acknowledged.length);
    await owner.change("d", (drive) => drive.writeFile(["after"], Buffer.from("goes on")));
  });
}
