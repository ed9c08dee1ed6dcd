import { spawn } from "node:child_process";
import { once } from "node:events";
import { expect } from "@jest/globals";
import { silentLog } from "../../src/core/ports/log.js";
import { createDriveEngine, type DriveEngine } from "../../src/drive/engine/engine.js";
import { createOwnerKeys } from "../../src/drive/keys/owner-keys.js";
import { openEmbeddedStore } from "../../src/drive/store/embedded/embedded.js";
import type { Compiled } from "./store/compiled.js";
import {
  ENGINE_OWNER,
  ENGINE_VENUE_KEY,
  engineClock,
  fileContent,
  filePath,
  loggedNames,
} from "./store/engine-child-values.js";

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

/**
 * A process that changes and logs is killed again and again on one store. After each start the log tells of everything
 * that was acknowledged, in an unbroken chain for each file whose end is what the drive holds.
 */
export async function killLogging(compiled: Compiled, path: string, kills: number): Promise<void> {
  const acknowledged = new Set<number>();
  for (let kill = 0; kill < kills; kill += 1) {
    const args = [compiled.file("test/drive/store/engine-child.ts"), "logged", path, String(kill * 10_000)];
    const child = spawn(process.execPath, args, { stdio: ["ignore", "pipe", "inherit"] });
    const closed = once(child, "close");
    // Killed at any moment of a change: with its acknowledgement, or some time after it.
    const [after, delay] = [1 + Math.floor(Math.random() * 40), Math.random() < 0.5 ? 0 : Math.random() * 8];
    let text = "";
    child.stdout.on("data", (data) => {
      text += String(data);
      if (text.split("\n").length > after) setTimeout(() => child.kill("SIGKILL"), delay);
    });
    await closed;
    for (const line of text.split("\n").slice(0, -1)) acknowledged.add(Number(line));
    await withEngine(path, (engine) => expectLogAgrees(engine, acknowledged));
  }
}

async function expectLogAgrees(engine: DriveEngine, acknowledged: ReadonlySet<number>): Promise<void> {
  const owner = engine.owner(ENGINE_OWNER);
  const contentOf = async (node: Uint8Array | undefined): Promise<string | undefined> =>
    node && (await owner.log.read(node, 0, 16)).bytes.toString().split(" ", 1)[0];
  const told = new Set<string>();
  const newest = new Map<string, string | undefined>();
  const earlier = new Map<string, string | undefined>();
  for (let before: string | undefined; ; ) {
    const page = await owner.log.page({ before, limit: 256 });
    expect(page.isDamaged).toBe(false);
    for (const { entry, ...nodes } of page.entries) {
      const [name = ""] = entry.path;
      const [old, fresh] = [await contentOf(nodes.before), await contentOf(nodes.after)];
      if (newest.has(name)) expect(fresh).toBe(earlier.get(name));
      else newest.set(name, fresh);
      earlier.set(name, old);
      told.add(`${name} ${fresh}`);
    }
    if (page.next === undefined) break;
    before = page.next;
  }
  for (const first of earlier.values()) expect(first).toBeUndefined();
  const lost = [...acknowledged].filter(
    (change) => !loggedNames(change).every((name) => told.has(`${name} ${change}`)),
  );
  expect(lost).toEqual([]);
  const snapshot = await owner.read("d");
  for (const { name } of await snapshot.entries([])) {
    const { bytes } = await snapshot.readFile([name], 0, 16);
    expect([name, bytes.toString().split(" ", 1)[0]]).toEqual([name, newest.get(name)]);
    newest.delete(name);
  }
  snapshot.release();
  expect([...newest]).toEqual([]);
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
