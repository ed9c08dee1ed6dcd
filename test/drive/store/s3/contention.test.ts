import { describe, expect, test } from "@jest/globals";
import type { S3Client } from "../../../../src/drive/store/s3/client/s3-client.js";
import { type Contention, createContention, waitingKey } from "../../../../src/drive/store/s3/roots/contention.js";
import { createRootSwap } from "../../../../src/drive/store/s3/roots/root-swap.js";

/** One bucket, and time that passes only while a venue waits or is told to. */
function ground() {
  const marks = new Map<string, { bytes: Buffer; etag: string }>();
  const time = { now: 1_000_000, asked: 0, isDown: false };
  const get = async (key: string) => {
    time.asked += 1;
    if (time.isDown) throw new Error("the bucket is down");
    return marks.get(key);
  };
  const client = {
    get,
    getChanged: async (key: string, etag: string) => {
      const found = await get(key);
      return found?.etag === etag ? ("same" as const) : found;
    },
    put: async (key: string, bytes: Uint8Array) => {
      if (time.isDown) throw new Error("the bucket is down");
      marks.set(key, { bytes: Buffer.from(bytes), etag: `${marks.size}${Buffer.from(bytes).toString("base64")}` });
    },
  };
  const venue = (options: { random?: () => number; clockAhead?: number } = {}) => {
    const waited: number[] = [];
    const wait = async (ms: number): Promise<void> => {
      waited.push(ms);
      time.now += ms;
    };
    const { random = () => 0, clockAhead = 0 } = options;
    return { waited, ...createContention({ client, now: () => time.now + clockAhead, random, wait }) };
  };
  return { marks, time, venue };
}

const win = (venue: Contention) => venue.settle("alice", false, 1);
const lose = (venue: Contention, ms: number) => venue.settle("alice", true, ms);

describe("between attempts on a root that others swap", () => {
  test("is a wait that grows with each conflict in a row, up to a bound", async () => {
    const { waited, settle } = ground().venue({ random: () => 1 });
    for (let at = 0; at < 1000; at += 1) await settle("alice", true, 0);
    expect(waited.slice(0, 7)).toEqual([10, 20, 40, 80, 160, 300, 300]);
    expect(waited.at(-1)).toBe(300);
  });

  test("is a random part of it, so that two do not meet again", async () => {
    const parts = [0.5, 0, 0.25];
    const { waited, settle } = ground().venue({ random: () => parts.shift() ?? 1 });
    for (let at = 0; at < 3; at += 1) await settle("alice", true, 0);
    expect(waited).toEqual([5, 0, 10]);
  });

  test("is none after a win, which ends the row; owners have their own", async () => {
    const { waited, settle } = ground().venue({ random: () => 1 });
    await settle("alice", true, 0);
    await settle("alice", true, 0);
    await settle("bob", true, 0);
    await settle("alice", false, 0);
    await settle("alice", true, 0);
    expect(waited).toEqual([10, 20, 10, 10]);
  });

  test("is what a swap does that finds another root in place", async () => {
    const { waited, ...contention } = ground().venue({ random: () => 1 });
    const known = { record: { version: "2", bytes: new Uint8Array() }, object: { puts: new Map() } };
    const parts = { client: {} as S3Client, roots: { known: () => known }, uploads: {}, now: () => 0, contention };
    const { swap } = createRootSwap(parts as unknown as Parameters<typeof createRootSwap>[0]);
    const expected = { ...known.record, version: "1" };
    const change = { bytes: new Uint8Array(), packs: [], cells: new Map() };
    for (let at = 0; at < 3; at += 1) expect(await swap("alice", expected, change)).toBe("conflict");
    expect(waited).toEqual([10, 20, 40]);
  });
});

describe("a venue that wins", () => {
  test("leaves one that has lost the time of two of its attempts, once for each win of its own", async () => {
    const { venue } = ground();
    const [near, far] = [venue(), venue()];
    await win(near);
    await lose(far, 200);
    await near.look("alice");
    expect(await near.giveWay("alice", true)).toBe(true);
    expect(near.waited).toEqual([420]);
    expect(await near.giveWay("alice", true)).toBe(false);
    await win(near);
    expect(await near.giveWay("alice", true)).toBe(true);
    expect(near.waited).toEqual([420, 420]);
  });

  test("goes on where the root is not its own: the other has had its turn", async () => {
    const { venue } = ground();
    const [near, far] = [venue(), venue()];
    await win(near);
    await lose(far, 200);
    await near.look("alice");
    expect(await near.giveWay("alice", false)).toBe(false);
    expect(near.waited).toEqual([]);
  });

  test("leaves others time at once that have put a root between two of its own, less each time they get by", async () => {
    const { venue } = ground();
    const near = venue();
    expect(await near.giveWay("alice", false)).toBe(false);
    await win(near);
    expect(await near.giveWay("alice", true)).toBe(false);
    for (const ms of [220, 170, 132.5]) {
      expect(await near.giveWay("alice", false)).toBe(false);
      await win(near);
      expect(await near.giveWay("alice", true)).toBe(true);
      expect(near.waited.at(-1)).toBe(ms);
    }
  });

  test("learns from the second conflict in a row how long a whole attempt takes", async () => {
    const { venue, time } = ground();
    const [near, far] = [venue(), venue()];
    await win(near);
    await lose(far, 200);
    time.now += 350;
    await lose(far, 200);
    await near.look("alice");
    await win(near);
    await near.giveWay("alice", true);
    expect(near.waited).toEqual([2 * 350 + 20]);
  });

  test("waits for nobody when nobody has lost for some time, and for no more than a bound", async () => {
    const { venue, time } = ground();
    const [near, far] = [venue(), venue()];
    await win(near);
    await lose(far, 3_600_000);
    await near.look("alice");
    expect(await near.giveWay("alice", true)).toBe(true);
    expect(near.waited).toEqual([3020]);
    time.now += 15_000;
    await win(near);
    expect(await near.giveWay("alice", true)).toBe(false);
  });

  test("takes no old mark for a new one, whatever clock the other has, but what comes anew", async () => {
    const { venue, time } = ground();
    const far = venue({ clockAhead: -3_600_000 });
    await lose(far, 200);
    time.now += 3_600_000;
    const near = venue();
    await win(near);
    await near.look("alice");
    expect(await near.giveWay("alice", true)).toBe(false);
    await lose(far, 200);
    time.now += 50;
    await near.look("alice");
    expect(await near.giveWay("alice", true)).toBe(true);
  });

  test("looks only while it writes again and again, and not for each change", async () => {
    const { venue, time } = ground();
    const near = venue();
    await near.look("alice");
    expect(time.asked).toBe(0);
    await win(near);
    for (let at = 0; at < 10; at += 1) {
      await near.look("alice");
      time.now += 10;
    }
    expect(time.asked).toBe(2);
    time.now += 10_000;
    await near.look("alice");
    expect(time.asked).toBe(2);
  });

  test.each(["", "{", "null", '{"by":1}', '{"by":"x","at":1e999,"ms":5}', '{"by":"x","ms":-5,"at":1000000}'])(
    "and a bucket that is down, or holds %j, keep nobody waiting",
    async (mark) => {
      const { venue, marks, time } = ground();
      const [near, far] = [venue(), venue()];
      await win(near);
      marks.set(waitingKey("alice"), { bytes: Buffer.from(mark), etag: "x" });
      await near.look("alice");
      time.isDown = true;
      time.now += 60;
      await near.look("alice");
      await lose(far, 200);
      await win(near);
      await near.giveWay("alice", true);
      expect(near.waited.reduce((sum, ms) => sum + ms, 0)).toBeLessThanOrEqual(20);
    },
  );
});
