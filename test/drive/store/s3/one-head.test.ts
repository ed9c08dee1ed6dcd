import { setImmediate as nextTurn } from "node:timers/promises";
import { afterEach, beforeEach, describe, expect, jest, test } from "@jest/globals";
import { createOwnerKeys } from "../../../../src/drive/keys/owner-keys.js";
import { MAX_PUTS, parseRootObject, SHARED_NAME } from "../../../../src/drive/store/s3/roots/root-object.js";
import { ALICE, rejection, VENUE_KEY } from "../../engine/engines.js";
import { append, type Bucket, isRootPut, logOf, openBucket, type Venue } from "./bucket.js";
import type { FakeRequest, Fault } from "./fake-s3.js";

jest.setTimeout(120_000);

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
    expect(bucket.fake.requests.filter(({ method, key }) => method === "PUT" && key === "mode").length).toBeGreaterThan(
      0,
    );
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
    let goOn = (): void => {};
    const after = new Promise<void>((resolve) => {
      goOn = resolve;
    });
    bucket.faultyPuts("unheard", { after });
    const puts = bucket.fake.requests.filter(isRootPut).length;
    const second = append(one, "2");
    while (bucket.fake.requests.filter(isRootPut).length < puts + 2) await nextTurn();
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
    let goOn = (): void => {};
    const after = new Promise<void>((resolve) => {
      goOn = resolve;
    });
    bucket.faultyPuts("unheard", { after });
    const puts = bucket.fake.requests.filter(isRootPut).length;
    const second = rejection(append(one, "2"));
    while (bucket.fake.requests.filter(isRootPut).length < puts + 2) await nextTurn();
    for (const other of others) await append(other, ".");
    goOn();
    expect(await second).toBe("STORE_UNAVAILABLE");
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
