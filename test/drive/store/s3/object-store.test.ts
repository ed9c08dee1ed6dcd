import { jest } from "@jest/globals";
import { storeSuite } from "../suite.js";
import { startFakeS3 } from "./fake-s3.js";
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
