import { setTimeout as delay, setImmediate as nextTurn } from "node:timers/promises";
import { afterEach, beforeEach, describe, expect, jest, test } from "@jest/globals";
import { systemClock } from "../../../../src/core/clock.js";
import { silentLog } from "../../../../src/core/ports/log.js";
import type { DriveChange } from "../../../../src/drive/engine/drives.js";
import type { DriveEngine } from "../../../../src/drive/engine/engine.js";
import { createOwnerKeys } from "../../../../src/drive/keys/owner-keys.js";
import type { CellStore } from "../../../../src/drive/store/cell-store.js";
import type { S3Client } from "../../../../src/drive/store/s3/client/s3-client.js";
import { type Contention, createContention, waitingKey } from "../../../../src/drive/store/s3/roots/contention.js";
import {
  encodeRootObject,
  MAX_PUTS,
  parseRootObject,
  SHARED_NAME,
} from "../../../../src/drive/store/s3/roots/root-object.js";
import { createRootSwap } from "../../../../src/drive/store/s3/roots/root-swap.js";
import { ALICE, clockAt, openEngine, rejection, VENUE_KEY } from "../../engine/engines.js";
import { appendAtOnce } from "./append-at-once.js";
import { append, type Bucket, isRootPut, logOf, openBucket, type Venue } from "./bucket.js";
import { type FakeRequest, type FakeS3, type Fault, startFakeS3 } from "./fake-s3.js";
import { type RoughProxy, startRoughProxy } from "./rough-proxy.js";
import { type Stores, storesOn } from "./stores.js";

jest.setTimeout(300_000);

describe("one head", () => {
  let bucket: Bucket;

  beforeEach(async () => {
    bucket = await openBucket();
  });

  afterEach(() => bucket.dispose());

  describe("the way a bucket is used", () => {
    const modeIn = (): string | undefined => bucket.fake.objects.get("mode")?.bytes.toString();

    test("is said by the first venue, and is what all others do", async () => {
      await bucket.venue();
      expect(modeIn()).toBe("conditional 2\n");
      await append(await bucket.venue(), "1");
      expect(modeIn()).toBe("conditional 2\n");
      expect(bucket.rootNames()).toEqual([SHARED_NAME]);
    });

    test("is said once, though many open it at the same time", async () => {
      await Promise.all(Array.from({ length: 4 }, () => bucket.venue()));
      expect(modeIn()).toBe("conditional 2\n");
      expect(
        bucket.fake.requests.filter(({ method, key }) => method === "PUT" && key === "mode").length,
      ).toBeGreaterThan(0);
    });

    test("is not open to a venue whose requests lose their conditions", async () => {
      await append(await bucket.venue(), "1");
      bucket.fake.isConditional = false;
      const message = expect.stringContaining("reach the object storage without what ignores them");
      await expect(bucket.open()).rejects.toMatchObject({ code: "STORE_UNAVAILABLE", message });
      expect(modeIn()).toBe("conditional 2\n");
    });

    test("is not guessed where it is one of a newer version", async () => {
      bucket.fake.objects.set("mode", { bytes: Buffer.from("quorum\n"), at: bucket.clock.now });
      await expect(bucket.open()).rejects.toMatchObject({ code: "STORE_UNAVAILABLE" });
    });

    test.each(["ignores", "refuses"])("is not open where the store %s conditions: nothing is written", async (how) => {
      bucket.fake.isConditional = how === "refuses";
      bucket.fake.fault = ({ method, isConditional }) =>
        how === "refuses" && method === "PUT" && isConditional ? { status: 501, code: "NotImplemented" } : undefined;
      const message = expect.stringContaining("does not keep the conditions of puts (If-Match, If-None-Match: *)");
      await expect(bucket.open()).rejects.toMatchObject({ code: "STORE_UNAVAILABLE", message });
      expect(bucket.keysOf("")).toEqual([]);
    });
  });

  describe("of changes that meet", () => {
    test("none is lost", async () => {
      const venues = [await bucket.venue(), await bucket.venue(), await bucket.venue()];
      const texts = Array.from({ length: 24 }, (_, at) => `${String.fromCharCode(97 + at)}`);
      const results = await Promise.all(
        texts.map((text, at) =>
          rejection(append(venues[at % 3] ?? (venues[0] as Venue), text)).then((code) => ({ text, code })),
        ),
      );
      const kept = results.filter(({ code }) => code === undefined).map(({ text }) => text);
      expect(results.filter(({ code }) => code !== undefined && code !== "CONFLICT")).toEqual([]);
      expect(kept.length).toBeGreaterThan(0);
      for (const one of venues) expect([...(await logOf(one))].sort()).toEqual(kept);
      expect(bucket.rootNames()).toEqual([SHARED_NAME]);
    });

    test("one creates what must not be there", async () => {
      const venues = [await bucket.venue(), await bucket.venue()];
      await append(venues[0] as Venue, "1");
      const create = ({ engine }: Venue, who: string): Promise<string> =>
        engine.owner(ALICE).change("notes", async (draft) => {
          if ((await draft.stat(["only"])) !== undefined) return "late";
          await draft.writeFile(["only"], Buffer.from(who));
          return who;
        });
      const results = await Promise.all(venues.map((one, at) => create(one, `venue-${at}`)));
      expect(results.filter((who) => who === "late")).toHaveLength(1);
    });

    test("those that never get through are a conflict, and nothing of them is there", async () => {
      // Waits between conflicts are a random part of up to 300 ms: here the shortest ones.
      const random = jest.spyOn(Math, "random").mockReturnValue(0);
      const [one, other] = [await bucket.venue(), await bucket.venue()];
      random.mockRestore();
      await append(one, "1");
      let round = 0;
      // Between each reading and its put, the other one has changed something.
      let isOther = false;
      bucket.fake.fault = (request) => {
        if (!isRootPut(request) || isOther) return undefined;
        isOther = true;
        round += 1;
        bucket.clock.now += 3100;
        const after = append(other, ".").finally(() => {
          isOther = false;
        });
        return { after };
      };
      const code = await rejection(append(one, "lost"));
      bucket.fake.fault = undefined;
      expect(code).toBe("CONFLICT");
      // As many as begin within 15 s.
      expect(round).toBe(5);
      expect(await logOf(one)).toBe(`1${".".repeat(round)}`);
    });
  });

  describe("a put of which no answer came", () => {
    /** Appends by a put of which no answer comes. @returns once it has been sent again, which is held until `goOn` */
    async function appendUnheard(venue: Venue, text: string) {
      let goOn = (): void => {};
      const after = new Promise<void>((resolve) => {
        goOn = resolve;
      });
      bucket.faultyPuts("unheard", { after });
      const puts = bucket.fake.requests.filter(isRootPut).length;
      const appended = append(venue, text);
      while (bucket.fake.requests.filter(isRootPut).length < puts + 2) await nextTurn();
      return { appended, goOn };
    }

    test.each<[string, Fault[]]>([
      ["was not done", ["lost"]],
      ["was done", ["unheard"]],
      ["was done, as nothing says for a while", ["unheard", "lost", { status: 503, code: "SlowDown" }]],
    ])("is one change, when it %s", async (_, faults) => {
      const one = await bucket.venue();
      await append(one, "1");
      bucket.faultyPuts(...faults);
      await append(one, "2");
      bucket.fake.fault = undefined;
      expect(await logOf(one)).toBe("12");
      expect(await logOf(await bucket.venue())).toBe("12");
    });

    test("is known as done though another venue has gone on from it", async () => {
      const [one, other] = [await bucket.venue(), await bucket.venue()];
      await append(one, "1");
      const { appended: second, goOn } = await appendUnheard(one, "2");
      await append(other, "3");
      goOn();
      await second;
      expect(await logOf(one)).toBe("123");
      const [head] = bucket.keysOf("roots/");
      const { puts: numbers } = parseRootObject(bucket.fake.objects.get(head ?? "")?.bytes ?? Buffer.alloc(0));
      expect([...numbers.values()]).toEqual([2, 1]);
    });

    test("is no success, nor done again, where so many have gone on that nothing tells", async () => {
      const patience = { tries: 4, waitMs: 5, timeoutMs: 60_000 };
      const one = await bucket.venue({ patience });
      const others = await Promise.all(Array.from({ length: MAX_PUTS }, () => bucket.venue()));
      await append(one, "1");
      const { appended: second, goOn } = await appendUnheard(one, "2");
      for (const other of others) await append(other, ".");
      goOn();
      expect(await rejection(second)).toBe("STORE_UNAVAILABLE");
      expect(await logOf(one)).toBe(`12${".".repeat(MAX_PUTS)}`);
    });

    test("is no success while nothing can be said, and comes true at most once", async () => {
      const one = await bucket.venue();
      await append(one, "1");
      bucket.faultyPuts("lost", "lost", "lost", "unheard");
      await append(one, "2");
      bucket.faultyPuts("lost", "lost", "lost", "lost");
      expect(await rejection(append(one, "3"))).toBe("STORE_UNAVAILABLE");
      bucket.fake.fault = undefined;
      await append(one, "4");
      expect(await logOf(one)).toBe("124");
    });
  });

  test("a root that comes with the entity tag of the next one is asked for again", async () => {
    const [one, other] = [await bucket.venue(), await bucket.venue()];
    await append(one, "1");
    await append(other, "2");
    const isRootGet = ({ method, key }: FakeRequest): boolean => method === "GET" && key.startsWith("roots/");
    const faults: Fault[] = [{ etag: `"${"a".repeat(32)}"` }, { etag: `"${"b".repeat(32)}"` }];
    bucket.fake.fault = (request) => (isRootGet(request) ? faults.shift() : undefined);
    const [gets, puts] = [isRootGet, isRootPut].map((is) => bucket.fake.requests.filter(is).length);
    await append(one, "3");
    expect(await logOf(other)).toBe("123");
    expect(bucket.fake.requests.filter(isRootPut).length).toBe((puts ?? 0) + 1);
    // Twice in vain, once for the change, once by the other one.
    expect(bucket.fake.requests.filter(isRootGet).length).toBe((gets ?? 0) + 4);
  });

  describe("an owner's first key", () => {
    test("is one, though two venues make it at the same time", async () => {
      const venues = [await bucket.venue(), await bucket.venue()];
      for (let round = 0; round < 5; round += 1) {
        const did = `did:key:z6MkNew${round}`;
        await Promise.all(venues.map((one) => append(one, "x", did)));
        for (const one of venues) expect(await logOf(one, did)).toBe("xx");
        expect(await venues[0]?.store.keys.list(did)).toHaveLength(1);
      }
      expect(bucket.keysOf("roots/")).toHaveLength(5);
    });

    test("is finished by whoever comes by, when the one who began is gone", async () => {
      const store = await bucket.open();
      const keys = createOwnerKeys({ records: store.keys, venueKey: VENUE_KEY, clock: bucket.clock });
      const key = await keys.create(ALICE);
      for (const name of bucket.keysOf("keys/")) if (name.endsWith(key.publicKey)) bucket.fake.objects.delete(name);
      const other = await bucket.venue();
      await append(other, "1");
      expect(await other.store.keys.list(ALICE)).toMatchObject([{ publicKey: key.publicKey }]);
    });

    test("leaves nothing behind that is sealed as it was, once it is sealed anew", async () => {
      const { keys } = await bucket.open();
      const [publicKey, old, next] = ["ab".repeat(32), Buffer.from("sealed before"), Buffer.from("sealed anew")];
      await keys.put(ALICE, { publicKey, bytes: old }, { onlyFirst: true });
      expect(bucket.keysOf("keys/").filter((key) => bucket.fake.objects.get(key)?.bytes.includes(old))).toHaveLength(2);
      await keys.put(ALICE, { publicKey, bytes: next });
      expect(bucket.keysOf("keys/").filter((key) => bucket.fake.objects.get(key)?.bytes.includes(old))).toEqual([]);
      await keys.put(ALICE, { publicKey: "cd".repeat(32), bytes: old }, { onlyFirst: true });
      expect(await keys.list(ALICE)).toEqual([{ publicKey, bytes: next }]);
    });
  });
});

/** One bucket, and time that passes only while a venue waits or is told to. */
function ground() {
  const marks = new Map<string, { bytes: Buffer; etag: string }>();
  const time = { now: 1_000_000, asked: 0, isDown: false };
  const client = {
    getChanged: async (key: string, etag: string | undefined) => {
      time.asked += 1;
      if (time.isDown) throw new Error("the bucket is down");
      const found = marks.get(key);
      return etag !== undefined && found?.etag === etag ? ("same" as const) : found;
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

describe("venues that are apart", () => {
  let bucket: Bucket;
  let proxy: RoughProxy | undefined;

  beforeEach(async () => {
    bucket = await openBucket();
    bucket.fake.now = Date.now;
  });

  afterEach(async () => {
    await bucket.dispose();
    await proxy?.close();
  });

  /** A venue whose requests need some time to the bucket. */
  async function venueAt(delayMs: number): Promise<Venue> {
    if (delayMs === 0) return bucket.venue({ now: Date.now }, systemClock);
    proxy = await startRoughProxy(bucket.fake.endpoint, () => ({ delayMs }));
    return bucket.venue({ now: Date.now, endpoint: proxy.endpoint }, systemClock);
  }

  describe("roots that change all the time", () => {
    const owner = async (venue: Venue): Promise<string> => {
      for await (const one of venue.store.owners()) return one;
      throw new Error("there is no owner");
    };

    test("are read by many at once in a venue that opens the drive", async () => {
      const near = await venueAt(0);
      await append(near, "-;");
      const account = await owner(near);
      const far = await venueAt(60);
      let isOver = false;
      const changing = (async () => {
        while (!isOver) await append(near, ".");
      })();
      const reading = Array.from({ length: 80 }, async (_, at) => {
        await delay(15 * at);
        return far.store.root(account);
      });
      const read = await Promise.allSettled(reading);
      isOver = true;
      await changing;
      expect(read.filter(({ status }) => status === "rejected")).toEqual([]);
    });

    test("are no damage when their manifest is gone before it is read, but are when one stays and cannot be read", async () => {
      const venue = await bucket.venue({ now: Date.now }, systemClock);
      const forms: Buffer[] = [];
      const content = (seed: number): Uint8Array => new Uint8Array(90_000).map((_, at) => (at * seed) % 251);
      for (const seed of [3, 5]) {
        await venue.engine.owner(ALICE).change("notes", (draft) => draft.writeFile(["large"], content(seed)));
        const [key = ""] = bucket.keysOf("roots/");
        forms.push(bucket.fake.objects.get(key)?.bytes ?? Buffer.alloc(0));
      }
      const account = await owner(venue);
      const [key = ""] = bucket.keysOf("roots/");
      const manifests = bucket.keysOf("manifests/").map((name) => [name, bucket.fake.objects.get(name)] as const);
      const other = await bucket.venue({ now: Date.now }, systemClock);
      let gone = 0;
      // Replaced, and its manifest collected, as soon as it was asked for.
      bucket.fake.fault = (request) => {
        if (request.method !== "GET" || gone === 12) return undefined;
        if (request.key === key) bucket.fake.objects.set(key, { bytes: forms[gone % 2] as Buffer, at: Date.now() });
        if (request.key.startsWith("manifests/")) {
          gone += 1;
          for (const [name, object] of manifests) {
            if (gone < 12) bucket.fake.objects.delete(name);
            else if (object !== undefined) bucket.fake.objects.set(name, object);
          }
        }
        return undefined;
      };
      expect(await other.store.root(account)).toBeDefined();
      expect(gone).toBe(12);
      bucket.fake.fault = undefined;
      for (const manifest of bucket.keysOf("manifests/")) bucket.fake.objects.delete(manifest);
      const third = await bucket.venue({ now: Date.now }, systemClock);
      await expect(third.store.root(account)).rejects.toMatchObject({ code: "STORE_DAMAGED" });
    });

    test("without end are said to change, and are no damage; one that is gone is", async () => {
      const venue = await bucket.venue({ now: Date.now }, systemClock);
      await append(venue, "one");
      const account = await owner(venue);
      const [key = ""] = bucket.keysOf("roots/");
      const { bytes = Buffer.alloc(0) } = bucket.fake.objects.get(key) ?? {};
      const object = parseRootObject(bytes);
      let count = 0;
      bucket.fake.fault = (request) => {
        const manifest = (++count).toString(16).padStart(64, "0");
        if (request.key === key)
          bucket.fake.objects.set(key, { bytes: encodeRootObject({ ...object, manifest }), at: Date.now() });
        return undefined;
      };
      const other = await bucket.venue({ now: Date.now }, systemClock);
      await expect(other.store.root(account)).rejects.toMatchObject({ code: "STORE_UNAVAILABLE" });
      bucket.fake.fault = undefined;
      bucket.fake.objects.set(key, { bytes, at: Date.now() });
      expect(await other.store.root(account)).toBeDefined();
      bucket.fake.objects.delete(key);
      await expect(other.store.root(account)).rejects.toMatchObject({ code: "STORE_DAMAGED" });
    });
  });

  test("two venues that append to one file at once both get on, though one is far from the bucket", async () => {
    await appendAtOnce({ near: await venueAt(0), far: await venueAt(40) }, 12);
  });
});

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

describe("venues on one bucket", () => {
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

const MEBI = 1 << 20;

async function* streamOf(content: Uint8Array): AsyncGenerator<Uint8Array> {
  yield content;
}

const change = ({ engine }: Venue, work: (draft: DriveChange) => Promise<unknown>): Promise<unknown> =>
  engine.owner(ALICE).change("notes", work);

const kindOf = ({ method, key }: FakeRequest): string => `${method} ${key.split("/")[0]}`;

describe("a change that is overtaken again and again", () => {
  let bucket: Bucket;

  beforeEach(async () => {
    bucket = await openBucket();
  });

  afterEach(() => bucket.dispose());

  const contentOf = (bytes: number): Uint8Array => new Uint8Array(bytes).map((_, at) => (at * 31 + (at >> 8)) % 251);

  /** Lets another venue change something each time before a root of this venue is put, so many times. */
  function overtake(venue: Venue, times: number): { readonly done: number } {
    const seen = { done: 0 };
    let isOther = false;
    bucket.fake.fault = (request) => {
      if (!isRootPut(request) || isOther || seen.done === times) return undefined;
      isOther = true;
      seen.done += 1;
      const after = append(venue, ".").finally(() => {
        isOther = false;
      });
      return { after };
    };
    return seen;
  }

  /** The requests of some work, by kind, those of the venue that overtakes it included. */
  async function requestsOf(work: () => Promise<unknown>): Promise<Map<string, number>> {
    const from = bucket.fake.requests.length;
    await work();
    const counts = new Map<string, number>();
    for (const kind of bucket.fake.requests.slice(from).map(kindOf)) counts.set(kind, (counts.get(kind) ?? 0) + 1);
    return counts;
  }

  const OVERTAKEN = 5;

  test.each([
    ["content that fits in one pack", 300_000],
    ["content of several packs", 17 * MEBI],
  ])("uploads %s once, and then only the root", async (_, bytes) => {
    const [one, other] = [await bucket.venue(), await bucket.venue()];
    await append(one, "1");
    const alone = await requestsOf(() =>
      change(one, (draft) => draft.writeFile(["first"], contentOf(bytes).reverse())),
    );
    await append(other, ".");
    const seen = overtake(other, OVERTAKEN);
    const content = contentOf(bytes);
    const contended = await requestsOf(() => change(one, (draft) => draft.writeFile(["large"], content)));
    bucket.fake.fault = undefined;
    expect(seen.done).toBe(OVERTAKEN);
    for (const kind of ["PUT packs", "PUT manifests"]) expect(contended.get(kind)).toBe(alone.get(kind));
    // Each try puts the root once, and so does each change that came before it.
    expect(contended.get("PUT roots")).toBe(2 * OVERTAKEN + 1);
    expect(await logOf(one)).toBe(`1${".".repeat(OVERTAKEN + 1)}`);
    const snapshot = await (await bucket.venue()).engine.owner(ALICE).read("notes");
    expect(Buffer.compare((await snapshot.readFile(["large"], 0, bytes)).bytes, content)).toBe(0);
    snapshot.release();
  });

  test("uploads nothing but the root where all of it fits there", async () => {
    const [one, other] = [await bucket.venue(), await bucket.venue()];
    await append(one, "1");
    overtake(other, OVERTAKEN);
    const requests = await requestsOf(() => append(one, "2"));
    bucket.fake.fault = undefined;
    expect(requests.get("PUT packs")).toBeUndefined();
    expect(requests.get("PUT manifests")).toBeUndefined();
    expect(requests.get("PUT roots")).toBe(2 * OVERTAKEN + 1);
    expect(await logOf(other)).toBe(`1${".".repeat(OVERTAKEN)}2`);
  });

  test("leaves no cells of the tries that lost in the root", async () => {
    const [one, other] = [await bucket.venue(), await bucket.venue()];
    await append(one, "1");
    const carried = (): number => {
      const [head] = bucket.keysOf("roots/");
      return parseRootObject(bucket.fake.objects.get(head ?? "")?.bytes ?? Buffer.alloc(0)).carried.size;
    };
    // Branches of this one change; twice, since the first one makes the file.
    await change(one, (draft) => draft.writeFile(["sized"], contentOf(20_000)));
    const before = carried();
    await change(one, (draft) => draft.writeFile(["sized"], contentOf(20_001)));
    const ofOne = carried() - before;
    expect(ofOne).toBeGreaterThan(0);
    const dots = carried();
    for (let at = 0; at < 4; at += 1) await append(other, ".");
    const ofFour = carried() - dots;
    overtake(other, 4);
    const start = carried();
    await change(one, (draft) => draft.writeFile(["sized"], contentOf(20_002)));
    bucket.fake.fault = undefined;
    expect(carried() - start).toBeLessThanOrEqual(ofOne + ofFour + 1);
  });

  test("uploads what came as a stream once", async () => {
    const [one, other] = [await bucket.venue(), await bucket.venue()];
    await append(one, "1");
    const content = contentOf(300_000);
    const staged = await one.engine.owner(ALICE).stage(streamOf(content));
    overtake(other, OVERTAKEN);
    const requests = await requestsOf(() => change(one, (draft) => draft.writeFile(["large"], staged)));
    bucket.fake.fault = undefined;
    expect(requests.get("PUT packs")).toBeUndefined();
    expect(requests.get("PUT roots")).toBe(2 * OVERTAKEN + 1);
    const snapshot = await other.engine.owner(ALICE).read("notes");
    expect(Buffer.compare((await snapshot.readFile(["large"], 0, content.length)).bytes, content)).toBe(0);
    expect((await snapshot.readFile(["log"], 0, 100)).bytes.toString()).toBe(`1${".".repeat(OVERTAKEN)}`);
    snapshot.release();
  });
});
