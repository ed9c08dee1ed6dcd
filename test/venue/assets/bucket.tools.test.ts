import { randomUUID } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "@jest/globals";
import { silentLog } from "../../../src/core/ports/log.js";
import { openAssetBucket } from "../../../src/venue/assets/bucket.js";
import type { AssetStore } from "../../../src/venue/assets/store.js";
import { describeWhere } from "../../needs.js";
import { ALICE, assetsOf, BOB, body, DID, PAGE, wanting, whole } from "./fixture.js";
import { describeAssetStore } from "./store-suite.js";

const { S3_TEST_ENDPOINT: endpoint, S3_TEST_BUCKET: bucket = "drives", AWS_REGION: region = "us-east-1" } = process.env;
const { AWS_ACCESS_KEY_ID: accessKeyId = "", AWS_SECRET_ACCESS_KEY: secretAccessKey = "" } = process.env;
const NO_S3 = "no S3 server is named by S3_TEST_ENDPOINT (npm run test:tools starts one)";

describeWhere(endpoint !== undefined, NO_S3)("assets on a real S3 server", () => {
  const folder = mkdtempSync(join(tmpdir(), "asset-bucket-"));
  const stores: AssetStore[] = [];
  afterAll(async () => {
    await Promise.all(stores.map((store) => store.close()));
    rmSync(folder, { recursive: true });
  });

  async function open(prefix = `test-${randomUUID()}`): Promise<AssetStore> {
    const place = { bucket, endpoint, region, prefix, credentials: { accessKeyId, secretAccessKey } };
    const store = await openAssetBucket({ ...place, did: DID, folder, log: silentLog });
    stores.push(store);
    return store;
  }

  describeAssetStore("a real bucket", () => open());

  test("are one list for instances that add at the same time, and content is read at the other at once", async () => {
    const prefix = `test-${randomUUID()}`;
    const instance = async () =>
      assetsOf({ store: await open(prefix), maxContentSize: 50_000_000, maxTotalBytes: 1e8 });
    const [one, two] = [await instance(), await instance()];
    const names = Array.from({ length: 10 }, (_, at) => `asset ${at}`);
    await Promise.all(names.flatMap((name) => [one.register({ name }, ALICE), two.register({ name }, BOB)]));
    const bytes = Buffer.alloc(9 << 20, "0123456789");
    const id = await one.register(wanting(bytes), ALICE);
    await one.putContent(id, body(bytes), ALICE);
    expect((await whole((await two.content(id)).open())).equals(bytes)).toBe(true);
    const three = await instance();
    for (const each of [one, two]) expect(each.list(PAGE)).toEqual(three.list(PAGE));
    expect([three.size, three.totalBytes]).toEqual([11, one.totalBytes]);
    expect([ALICE, BOB].map((caller) => three.listOwn(PAGE, caller).total)).toEqual([11, 10]);
  });
});
