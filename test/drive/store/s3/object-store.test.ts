import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, jest } from "@jest/globals";
import S3rver from "s3rver";
import { storeSuite } from "../suite.js";
import { BUCKET, startFakeS3 } from "./fake-s3.js";
import { storesOn } from "./stores.js";

/** Many small waits add up on a machine that is busy. */
jest.setTimeout(120_000);

storeSuite("object", async (now) => {
  const fake = await startFakeS3(7);
  fake.now = now;
  const stores = storesOn(fake.endpoint, { now });
  return {
    store: await stores.open(),
    passes: 2,
    reopen: () => stores.open(),
    async dispose() {
      await stores.dispose();
      await fake.close();
    },
  };
});

storeSuite("merging object", async (now) => {
  const fake = await startFakeS3(7);
  fake.now = now;
  fake.isConditional = false;
  const stores = storesOn(fake.endpoint, { now });
  return {
    store: await stores.open(),
    // The clock jumps so far that the store takes another name, and its old roots have to go first.
    passes: 3,
    reopen: () => stores.open(),
    async dispose() {
      await stores.dispose();
      await fake.close();
    },
  };
});

describe("with s3rver for object storage", () => {
  let server: S3rver;
  let directory: string;
  let endpoint: string;
  let stores = 0;
  beforeAll(async () => {
    directory = mkdtempSync(join(tmpdir(), "vf-s3rver-"));
    server = new S3rver({
      port: 0,
      address: "127.0.0.1",
      silent: true,
      directory,
      configureBuckets: [{ name: BUCKET }],
    });
    endpoint = `http://127.0.0.1:${(await server.run()).port}`;
  });
  afterAll(async () => {
    await server.close();
    rmSync(directory, { recursive: true, force: true });
  });

  storeSuite("shared", async (now) => {
    stores += 1;
    const credentials = { accessKeyId: "S3RVER", secretAccessKey: "S3RVER" };
    const opened = storesOn(endpoint, { now, credentials, region: "us-east-1", prefix: `store-${stores}` });
    return { store: await opened.open(), passes: 3, reopen: () => opened.open(), dispose: () => opened.dispose() };
  });
});
