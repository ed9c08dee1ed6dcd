import { setImmediate as nextTurn } from "node:timers/promises";
import { afterEach, beforeEach, describe, expect, jest, test } from "@jest/globals";
import { silentLog } from "../../../../src/core/ports/log.js";
import type { DriveEngine } from "../../../../src/drive/engine/engine.js";
import type { CellStore } from "../../../../src/drive/store/cell-store.js";
import { ALICE, clockAt, openEngine } from "../../engine/engines.js";
import { type FakeS3, type Fault, startFakeS3 } from "./fake-s3.js";
import { type Stores, storesOn } from "./stores.js";

/** Many small waits add up on a machine that is busy. */
jest.setTimeout(120_000);

const HOUR = 3_600_000;
const text = (value: string): Uint8Array => new TextEncoder().encode(value);

let fake: FakeS3;
let stores: Stores;
let clock: ReturnType<typeof clockAt>;
let engines: DriveEngine[] = [];

/** A venue of its own on the bucket, as far as drives go. */
async function venue(): Promise<{ engine: DriveEngine; store: CellStore }> {
  const store = await stores.open({ now: clock.nowMs });
  const engine = openEngine({ store, clock, log: silentLog });
  engines.push(engine);
  return { engine, store };
}

const write = (engine: DriveEngine, name: string, content: string | Uint8Array): Promise<unknown> =>
  engine
    .owner(ALICE)
    .change("notes", (draft) => draft.writeFile([name], typeof content === "string" ? text(content) : content));

async function namesIn(engine: DriveEngine): Promise<string[]> {
  const snapshot = await engine.owner(ALICE).read("notes");
  try {
    return (await snapshot.entries([])).map(({ name }) => name);
  } finally {
    snapshot.release();
  }
}

async function contentOf(engine: DriveEngine, name: string): Promise<Buffer> {
  const snapshot = await engine.owner(ALICE).read("notes");
  try {
    return (await snapshot.readFile([name], 0, 1 << 24)).bytes;
  } finally {
    snapshot.release();
  }
}

beforeEach(async () => {
  fake = await startFakeS3();
  clock = clockAt(1_700_000_000_000);
  fake.now = clock.nowMs;
  stores = storesOn(fake.endpoint);
});

afterEach(async () => {
  fake.fault = undefined;
  fake.isReadOnly = false;
  await Promise.all(engines.map((engine) => engine.close()));
  engines = [];
  await stores.dispose();
  await fake.close();
});

describe("venues on one bucket", () => {
  test("keep what all of three write at once, under failures", async () => {
    const all = [await venue(), await venue(), await venue()];
    const faults: Fault[] = [
      "lost",
      "unheard",
      { status: 500, code: "InternalError" },
      { status: 503, code: "SlowDown" },
    ];
    let seen = 0;
    fake.fault = () => {
      seen += 1;
      return seen % 9 === 0 ? faults[(seen / 9) % faults.length] : undefined;
    };
    const written = await Promise.all(
      all.flatMap(({ engine }, who) =>
        [0, 1, 2, 3].map(async (round) => {
          const name = `${who}-${round}.txt`;
          await write(engine, name, round % 2 === 0 ? name : new Uint8Array(90_000).fill(who + round));
          return name;
        }),
      ),
    );
    fake.fault = undefined;
    for (const { engine } of [...all, await venue()]) expect(await namesIn(engine)).toEqual(written.sort());
    expect(await contentOf((await venue()).engine, "2-3.txt")).toEqual(Buffer.alloc(90_000, 5));
  });

  test("see each other's changes at once, and each other's files whole", async () => {
    const [one, other] = [await venue(), await venue()];
    const large = new Uint8Array(300_000).map((_, at) => at % 251);
    await write(one.engine, "large.bin", large);
    expect(await contentOf(other.engine, "large.bin")).toEqual(Buffer.from(large));
    await write(other.engine, "small.txt", "after");
    expect(await namesIn(one.engine)).toEqual(["large.bin", "small.txt"]);
  });

  test("read what another has packed anew while they held an older listing of it", async () => {
    const [one, other] = [await venue(), await venue()];
    const content = (seed: number): Uint8Array => new Uint8Array(70_000).map((_, at) => (at * seed) % 253);
    for (let at = 1; at <= 3; at += 1) await write(one.engine, `${at}.bin`, content(at));
    expect(await namesIn(other.engine)).toHaveLength(3);
    for (let pass = 0; pass < 4; pass += 1) {
      clock.now += 2 * HOUR;
      await one.store.collect({ graceMs: HOUR });
    }
    for (let at = 1; at <= 3; at += 1)
      expect(await contentOf(other.engine, `${at}.bin`)).toEqual(Buffer.from(content(at)));
  });

  test("collect while others write, and everything written is there", async () => {
    const [writer, collector] = [await venue(), await venue()];
    let isWriting = true;
    const collecting = (async () => {
      while (isWriting) {
        await collector.store.collect({ graceMs: HOUR });
        await nextTurn();
      }
    })();
    for (let at = 0; at < 6; at += 1) {
      clock.now += HOUR / 4;
      await write(writer.engine, `${at}.bin`, new Uint8Array(80_000).fill(at));
      if (at > 2)
        await writer.engine
          .owner(ALICE)
          .change("notes", (draft) => draft.remove([`${at - 3}.bin`], { recursive: false }));
    }
    isWriting = false;
    await collecting;
    const fresh = await venue();
    expect(await namesIn(fresh.engine)).toEqual(["3.bin", "4.bin", "5.bin"]);
    for (const at of [3, 4, 5]) expect(await contentOf(fresh.engine, `${at}.bin`)).toEqual(Buffer.alloc(80_000, at));
    for (let pass = 0; pass < 4; pass += 1) {
      clock.now += 2 * HOUR;
      await collector.store.collect({ graceMs: HOUR });
    }
    for (const at of [3, 4, 5]) expect(await contentOf(fresh.engine, `${at}.bin`)).toEqual(Buffer.alloc(80_000, at));
  });
});
