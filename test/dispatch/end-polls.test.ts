import fs, { mkdtempSync, realpathSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, jest, test } from "@jest/globals";
import { assembleAdapter } from "../../src/adapter/adapter.js";
import { parseFileConfig } from "../../src/config/load.js";
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

test("a poll that the end of the adapter answers has missed nothing, and watches nothing anew", async () => {
  const home = realpathSync(mkdtempSync(join(tmpdir(), "venue-files-close-")));
  const watch = jest.spyOn(fs, "watch");
  try {
    const config = parseFileConfig({ roots: { docs: home } }, { baseDir: home });
    const adapter = await assembleAdapter(config, { discloseHostPaths: false });
    const poll = (more: object) => adapter.invoke("file:watch" as string, { root: "docs", ...more });
    const { cursor } = (await poll({})) as unknown as { cursor: string };
    const waiting = poll({ cursor, waitMs: 30_000 });
    await adapter.invoke("file:stat" as string, { root: "docs", path: "" });
    const watched = watch.mock.calls.length;
    await adapter.close();
    expect(await waiting).toMatchObject({ events: [], overflow: false });
    expect(watch).toHaveBeenCalledTimes(watched);
  } finally {
    watch.mockRestore();
    rmSync(home, { recursive: true });
  }
});
