// What one caller waits for while others ask for much, or announce it and never send it.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { connect } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { shown } from "../harness.mjs";
import { invocation, JSON_TYPE, keepAlive, send } from "../http.mjs";
import { adopt, filesOf, temporaryDirectory } from "../lifetime.mjs";
import { startVenue, stopped } from "../processes.mjs";
import { inTurns, median, percentile, ratios, steadily, timed } from "../timing.mjs";

const AUTOCANNON = fileURLToPath(import.meta.resolve("autocannon"));
const IN_FLIGHT = 200;
/** Until all connections of a flood are accepted. */
const SETTLE_MS = 5000;
const MAX_WAIT_MS = 50;

const FLOODS = {
  "greps of 5,000 files": invocation("grep", { root: "docs", path: "tree", pattern: "nowhere" }),
  "trees of 5,000 entries": invocation("tree", { root: "docs", path: "tree", maxDepth: 10, maxEntries: 5000 }),
  "flushed writes of one file": invocation("write", { root: "docs", path: "hot.txt", content: "x".repeat(1000) }),
};
const READ = invocation("read", { root: "docs", path: "small.txt" });

export const floodParts = [
  ...Object.entries(FLOODS).map(([what, body]) => ({
    name: `flood of ${what}`,
    run: (context) => measureFlood(context, what, body),
  })),
  { name: "idle bodies", run: measureIdleBodies },
];

/** How long an anonymous caller waits for a read of 1 KB, one after the other, while the operator keeps many slow calls in flight, in a process of its own. */
async function measureFlood({ quick, row }, what, body) {
  const tree = filesOf(50 * 99, (index) => `tree/${index % 50}/${index}.txt`, "some text here\n".repeat(200));
  const docs = temporaryDirectory({ ...tree, "small.txt": "y".repeat(1000) });
  const venue = await startVenue({ file: { roots: { docs: { path: docs, durability: "flush" } } } });
  const url = `${venue.url}/api/v1/invoke?wait=true`;
  const alone = await readInTurn(url, quick ? 3 : 10);
  const headers = ["content-type=application/json", `authorization=Bearer ${venue.token}`];
  const load = ["-m", "POST", "-c", `${IN_FLIGHT}`, "-d", "3600", "-t", "120", "-b", body];
  const args = [AUTOCANNON, ...load, ...headers.flatMap((header) => ["-H", header]), url];
  const flood = spawn(process.execPath, args, { stdio: "ignore" });
  adopt(flood.pid);
  await sleep(SETTLE_MS);
  const beside = await readInTurn(url, quick ? 3 : 10);
  if (flood.exitCode !== null) throw new Error(`The flood ended by itself: ${flood.exitCode}`);
  await stopped(flood, "SIGKILL");
  await venue.stop();
  const both = (samples) => [percentile(samples, 50), percentile(samples, 99)].map((ms) => shown(ms, "ms"));
  const [p50, p99] = both(alone);
  row({
    what: `a read of 1 KB beside ${IN_FLIGHT} ${what} of another caller, median`,
    ...{ value: median(beside), most: MAX_WAIT_MS },
    beside: `p99 ${both(beside)[1]}; alone ${p50} and ${p99}`,
  });
}

/** The first one opens its connection. */
async function readInTurn(url, seconds) {
  const agent = keepAlive();
  const samples = [];
  const until = performance.now() + seconds * 1000;
  while (performance.now() < until)
    samples.push(await timed(() => send(url, { body: READ, headers: JSON_TYPE, agent, allowed: [201] })));
  agent.destroy();
  return samples;
}

const IDLE = 500;
const PER_SECOND = 200;
/** As large as a body may be, and more of them than fit the memory of the venue. */
const ANNOUNCED = 16_777_216;

/** Latency of ordinary calls at a steady rate, alone and beside connections that announce large bodies and send nothing. */
async function measureIdleBodies({ quick, row }) {
  const [rounds, seconds] = quick ? [1, 3] : [9, 6];
  const venue = await startVenue({ file: { roots: { docs: temporaryDirectory({ "small.txt": "alpha" }) } } });
  const port = new URL(venue.url).port;
  let refused = 0;
  const p99 = async (duration) => {
    const agent = keepAlive();
    const call = () =>
      send(`http://127.0.0.1:${port}/api/v1/invoke`, { body: READ, headers: JSON_TYPE, agent, allowed: [201] }).catch(
        () => {
          refused += 1;
        },
      );
    const samples = await steadily({ count: duration * PER_SECOND, everyMs: 1000 / PER_SECOND }, call);
    agent.destroy();
    return percentile(samples, 99);
  };
  await p99(Math.max(2, seconds / 2));
  const found = await inTurns(rounds, {
    alone: () => p99(seconds),
    async beside() {
      const close = await openIdle(port);
      const value = await p99(seconds);
      close();
      return value;
    },
  });
  await venue.stop();
  const what = `${PER_SECOND} calls a second beside ${IDLE} bodies that are announced and never come`;
  const besides = `p99 ${shown(median(found.beside), "ms")}, alone ${shown(median(found.alone), "ms")}`;
  row({
    what: `p99 of ${what}`,
    value: median(ratios(found.beside, found.alone)),
    unit: "x",
    beside: besides,
    most: 2,
  });
  row({ what: "the same: calls refused", value: refused, unit: "", most: 0 });
}

/** Idle connections that the venue ends are opened again at once. @returns ends them all */
async function openIdle(port) {
  const open = new Set();
  let isOpen = true;
  const add = async (index) => {
    const socket = connect(port, "127.0.0.1").on("error", () => {});
    open.add(socket);
    socket.once("close", () => {
      open.delete(socket);
      if (isOpen) void add(index);
    });
    await once(socket, "connect");
    socket.resume();
    const length = index % 2 === 0 ? `Content-Length: ${ANNOUNCED}` : "Transfer-Encoding: chunked";
    const head = ["POST /api/v1/invoke HTTP/1.1", "Host: localhost", "Content-Type: application/json", length, "", ""];
    socket.write(head.join("\r\n"));
  };
  await Promise.all(Array.from({ length: IDLE }, (_, index) => add(index)));
  return () => {
    isOpen = false;
    for (const socket of open) socket.destroy();
  };
}
