import { randomBytes } from "node:crypto";
import { afterEach, beforeEach, describe, expect, jest, test } from "@jest/globals";
import type { DriveEngine } from "../../src/drive/engine/engine.js";
import { ALICE, clockAt, openEngine } from "../drive/engine/engines.js";
import { type FakeS3, startFakeS3 } from "../drive/store/s3/fake-s3.js";
import { type Stores, storesOn } from "../drive/store/s3/stores.js";

/** 100 MiB are hashed. */
jest.setTimeout(120_000);

const MIB = 2 ** 20;

let fake: FakeS3;
let stores: Stores;
const engines: DriveEngine[] = [];

beforeEach(async () => {
  fake = await startFakeS3();
  stores = storesOn(fake.endpoint, { patience: { tries: 4, waitMs: 5, timeoutMs: 30_000 } });
});

afterEach(async () => {
  await Promise.all(engines.splice(0).map((engine) => engine.close()));
  await stores.dispose();
  await fake.close();
});

async function drives() {
  const engine = openEngine({ store: await stores.open(), clock: clockAt(Date.now()) });
  engines.push(engine);
  return engine.owner(ALICE);
}

async function requestsOf(work: () => Promise<unknown>): Promise<number> {
  const before = fake.requests.length;
  await work();
  return fake.requests.length - before;
}

describe("object storage is asked seldom", () => {
  test("at most 20 times for 100 MiB", async () => {
    const owner = await drives();
    const content = randomBytes(100 * MIB);
    const count = await requestsOf(() => owner.change("notes", (draft) => draft.writeFile(["large"], content)));
    expect(count).toBeGreaterThan(0);
    expect(count).toBeLessThanOrEqual(20);
  });

  test("at most 100 times for the listing of 10,000 files by a venue that has nothing", async () => {
    const writer = await drives();
    await writer.change("notes", async (draft) => {
      for (let at = 0; at < 10_000; at++) await draft.writeFile([`file-${at}`], Buffer.from(`${at}`.repeat(40)));
    });
    const reader = await drives();
    let entries = 0;
    const count = await requestsOf(async () => {
      const snapshot = await reader.read("notes");
      entries = (await snapshot.entries([])).length;
      snapshot.release();
    });
    expect(entries).toBe(10_000);
    expect(count).toBeGreaterThan(0);
    expect(count).toBeLessThanOrEqual(100);
  });
});
