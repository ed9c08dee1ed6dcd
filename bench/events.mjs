#!/usr/bin/env node
// What followers cost: 200 writes a second over HTTP, alone and beside 64 streams of `/api/v1/events`; and whether a
// follower that keeps up loses anything.
import { fork } from "node:child_process";
import { once } from "node:events";
import { setTimeout as sleep } from "node:timers/promises";
import { runBench, shown, times } from "./harness.mjs";
import { keepAlive, send } from "./http.mjs";
import { adopt, temporaryDirectory } from "./lifetime.mjs";
import { startVenue, stopped } from "./processes.mjs";
import { inTurns, median, percentile, ratios, steadily } from "./timing.mjs";

const EVERY_MS = 5;
const STREAMS = 64;
const MOST = 1.1;
const FOLLOWERS = new URL("servers/event-followers.mjs", import.meta.url).pathname;

/** Streams in a process of their own, so that their work is not timed with the calls. */
async function openFollowers(url) {
  const child = fork(FOLLOWERS, [url, `${STREAMS}`]);
  adopt(child.pid);
  const heard = async () => {
    child.send("heard");
    return (await once(child, "message"))[0];
  };
  await heard();
  return {
    /** @returns how many of so many events the stream with the fewest misses after ten seconds, or once it has all */
    async missed(count) {
      for (let left = 100; left > 0 && (await heard()) < count; left--) await sleep(100);
      return Math.max(0, count - (await heard()));
    },
    close: () => stopped(child),
  };
}

async function measureFollowers({ quick, row }) {
  const count = quick ? 200 : 1000;
  const caps = [{ with: "file://docs/", can: "crud" }];
  const auth = { public: { enabled: true, caps } };
  const venue = await startVenue({ file: { roots: { docs: temporaryDirectory() } }, auth });
  const agent = keepAlive();
  const writes = async (name) => {
    const before = venue.loopCpuMs();
    const put = (index) => send(`${venue.url}/api/v1/files/docs/${name}${index}`, { method: "PUT", body: "x", agent });
    const samples = await steadily({ count, everyMs: EVERY_MS }, put);
    return { p50: median(samples), p95: percentile(samples, 95), cpu: venue.loopCpuMs() - before };
  };
  await writes("warm");
  let missed = 0;
  const found = await inTurns(quick ? 1 : 5, {
    alone: (round) => writes(`alone${round}-`),
    async beside(round) {
      const followers = await openFollowers(venue.url);
      const result = await writes(`beside${round}-`);
      missed += await followers.missed(count);
      await followers.close();
      return result;
    },
  });
  agent.destroy();
  await venue.stop();
  const ratio = (key) => median(ratios(...["beside", "alone"].map((name) => found[name].map((one) => one[key]))));
  const p50 = `${shown(median(found.beside.map((one) => one.p50)), "ms")}; p95 ${times(ratio("p95"))}`;
  row({
    what: `a write of 200 a second beside ${STREAMS} streams, median`,
    value: ratio("p50"),
    unit: "x",
    beside: p50,
    most: MOST,
  });
  row({ what: "the same: processor time of the venue's event loop", value: ratio("cpu"), unit: "x", most: MOST });
  row({ what: "the same: events that a stream missed", value: missed, unit: "", most: 0 });
}

await runBench([{ name: "followers", run: measureFollowers }]);
