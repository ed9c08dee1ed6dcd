import { setTimeout as delay } from "node:timers/promises";
import { afterEach, beforeEach, describe, expect, jest, test } from "@jest/globals";
import { systemClock } from "../../../../src/core/clock.js";
import { encodeRootObject, parseRootObject } from "../../../../src/drive/store/s3/roots/root-object.js";
import { ALICE } from "../../engine/engines.js";
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
