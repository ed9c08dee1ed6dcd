import { expect, test } from "@jest/globals";
import { createOwnerKeys } from "../../../src/drive/keys/owner-keys.js";
import { createMemoryStore } from "../../../src/drive/store/memory.js";
import { ALICE, clockAt, openEngine, type TestEngine, VENUE_KEY } from "./engines.js";

const addOne = (engine: TestEngine) =>
  engine.owner(ALICE).change("d", async (drive) => {
    const before = await drive.stat(["count"]);
    await drive.writeFile(["count"], new Uint8Array((before?.size ?? 0) + 1));
  });

test("two processes that make the first key of an owner at the same time lose none of their first changes", async () => {
  const store = createMemoryStore();
  let goOn = () => {};
  const gate = new Promise<void>((resolve) => {
    goOn = resolve;
  });
  let reach = () => {};
  const reached = new Promise<void>((resolve) => {
    reach = resolve;
  });
  // It has found no key, and its own counts as the older one.
  const keys = createOwnerKeys({
    records: {
      ...store.keys,
      async put(...all) {
        reach();
        await gate;
        await store.keys.put(...all);
      },
    },
    venueKey: VENUE_KEY,
    clock: clockAt(500),
  });
  const slow = openEngine({ store, keys });
  const fast = openEngine({ store });
  const second = addOne(slow);
  await reached;
  await addOne(fast);
  goOn();
  await second;
  const snapshot = await openEngine({ store }).owner(ALICE).read("d");
  expect((await snapshot.stat(["count"]))?.size).toBe(2);
  snapshot.release();
});
