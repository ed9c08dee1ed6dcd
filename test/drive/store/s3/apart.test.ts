import { setTimeout as delay } from "node:timers/promises";
import { afterEach, beforeEach, describe, expect, jest, test } from "@jest/globals";
import { systemClock } from "../../../../src/core/clock.js";
import { appendAtOnce } from "./append-at-once.js";
import { append, type Bucket, openBucket, type Venue } from "./bucket.js";
import { type RoughProxy, startRoughProxy } from "./rough-proxy.js";

jest.setTimeout(300_000);

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
      return far.store.roots(account);
    });
    const read = await Promise.allSettled(reading);
    isOver = true;
    await changing;
    expect(read.filter(({ status }) => status === "rejected")).toEqual([]);
  });

  test.each([
    ["of a bucket with conditional puts", true],
    ["of one without", false],
  ])(
    "%s are no damage when each is gone before it is read, but are when one stays and cannot be read",
    async (_, is) => {
      bucket.fake.isConditional = is;
      const venue = await bucket.venue({ now: Date.now }, systemClock);
      const forms: Buffer[] = [];
      for (const text of ["one", "two"]) {
        await append(venue, text);
        const [key = ""] = bucket.keysOf("roots/");
        forms.push(bucket.fake.objects.get(key)?.bytes ?? Buffer.alloc(0));
      }
      const account = await owner(venue);
      const [key = ""] = bucket.keysOf("roots/");
      const other = await bucket.venue({ now: Date.now }, systemClock);
      let gone = 0;
      // Replaced while it is listed, and gone when it is asked for.
      bucket.fake.fault = (request) => {
        if (request.method !== "GET" || gone === 12) return undefined;
        if (request.key === "") bucket.fake.objects.set(key, { bytes: forms[gone % 2] as Buffer, at: Date.now() });
        if (request.key === key) {
          gone += 1;
          if (gone < 12) bucket.fake.objects.delete(key);
        }
        return undefined;
      };
      expect(await other.store.roots(account)).toHaveLength(1);
      expect(gone).toBe(12);
      bucket.fake.fault = undefined;
      for (const manifest of bucket.keysOf("manifests/")) bucket.fake.objects.delete(manifest);
      const third = await bucket.venue({ now: Date.now }, systemClock);
      await expect(third.store.roots(account)).rejects.toMatchObject({ code: "STORE_DAMAGED" });
    },
  );

  test("without end are said to change, and are no damage", async () => {
    const venue = await bucket.venue({ now: Date.now }, systemClock);
    await append(venue, "one");
    const account = await owner(venue);
    const [key = ""] = bucket.keysOf("roots/");
    const { bytes = Buffer.alloc(0) } = bucket.fake.objects.get(key) ?? {};
    let count = 0;
    bucket.fake.fault = (request) => {
      if (request.key === "") bucket.fake.objects.set(key, { bytes: Buffer.from(`${++count}`), at: Date.now() });
      if (request.key === key) bucket.fake.objects.delete(key);
      return undefined;
    };
    const other = await bucket.venue({ now: Date.now }, systemClock);
    await expect(other.store.roots(account)).rejects.toMatchObject({ code: "STORE_UNAVAILABLE" });
    bucket.fake.fault = undefined;
    bucket.fake.objects.set(key, { bytes, at: Date.now() });
    expect(await other.store.roots(account)).toHaveLength(1);
  });
});

test("two venues that append to one file at once both get on, though one is far from the bucket", async () => {
  await appendAtOnce({ near: await venueAt(0), far: await venueAt(40) }, 12);
});
