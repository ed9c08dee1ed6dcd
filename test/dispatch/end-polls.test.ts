import { expect, test } from "@jest/globals";
import { EventLog } from "../../src/feed/event-log.js";
import { useGround } from "../ops/ground.js";

const eventLog = new EventLog();
const on = useGround({ eventLog });

test("a poll of changes that waits answers with what there is when the adapter is about to close; later ones do not wait", async () => {
  const { cursor } = await on.run("watch", {});
  // As long as a test may take: an answer at the end of the wait would be too late.
  const waiting = on.run("watch", { cursor, waitMs: 30_000 });
  await on.run("stat", { path: "" });
  eventLog.end();
  expect(await waiting).toMatchObject({ overflow: false });
  expect(await on.run("watch", { cursor, waitMs: 30_000 })).toMatchObject({ overflow: false });
});
