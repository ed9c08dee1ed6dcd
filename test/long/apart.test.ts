import { afterEach, beforeEach, expect, test } from "@jest/globals";
import { systemClock } from "../../src/core/clock.js";
import { appendAtOnce } from "../drive/store/s3/append-at-once.js";
import { type Bucket, openBucket } from "../drive/store/s3/bucket.js";
import { type RoughProxy, startRoughProxy } from "../drive/store/s3/rough-proxy.js";

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

test.each([0, 25, 50, 100])("two venues that are %d ms apart append to one file 60 times each", async (delayMs) => {
  proxy = await startRoughProxy(bucket.fake.endpoint, () => ({ delayMs }));
  const near = await bucket.venue({ now: Date.now }, systemClock);
  const far = await bucket.venue({ now: Date.now, endpoint: proxy.endpoint }, systemClock);
  await appendAtOnce({ near, far }, 60);
  expect(proxy.seen.delayed).toBeGreaterThan(60);
});
