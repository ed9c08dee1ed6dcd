import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, writeFileSync } from "node:fs";
import { Agent, request } from "node:http";
import { join } from "node:path";
import { performance } from "node:perf_hooks";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { adopt, disown } from "../lifetime.mjs";
import { startVenue } from "./process.mjs";

const AUTOCANNON = fileURLToPath(import.meta.resolve("autocannon"));
/** Until all connections of the flood are accepted. */
const SETTLE_MS = 5000;

const FLOODS = {
  "greps of 5,000 files": { operation: "v/ops/file/grep", input: { root: "docs", path: "tree", pattern: "nowhere" } },
  "trees of 5,000 entries": {
    operation: "v/ops/file/tree",
    input: { root: "docs", path: "tree", maxDepth: 10, maxEntries: 5000 },
  },
  "flushed writes of one file": {
    operation: "v/ops/file/write",
    input: { root: "docs", path: "hot.txt", content: "x".repeat(1000) },
  },
};

const READ = JSON.stringify({ operation: "v/ops/file/read", input: { root: "docs", path: "small.txt" } });
const JSON_HEADERS = { "content-type": "application/json" };

/**
 * How long an anonymous caller waits for a read of 1 KB, one after the other, alone and while the operator keeps many
 * slow calls in flight, in a process of its own.
 *
 * @returns for each kind of call `{ what, inFlight, alone, beside }`, both with `{ p50Ms, p99Ms }`
 */
export async function measureFloods(folder, { seconds, inFlight }) {
  const docs = join(folder, "docs");
  for (let branch = 0; branch < 50; branch++) {
    mkdirSync(join(docs, "tree", `${branch}`), { recursive: true });
    for (let file = 0; file < 99; file++)
      writeFileSync(join(docs, "tree", `${branch}`, `${file}.txt`), "some text here\n".repeat(200));
  }
  writeFileSync(join(docs, "small.txt"), "y".repeat(1000));
  const found = [];
  for (const [what, call] of Object.entries(FLOODS)) {
    // One for each: calls go on after their client has gone.
    const venue = await startVenue(folder, { file: { roots: { docs: { path: docs, durability: "flush" } } } });
    const alone = await readInTurn(venue.url, seconds);
    const flood = startFlood(venue, call, inFlight);
    await sleep(SETTLE_MS);
    const beside = await readInTurn(venue.url, seconds);
    await flood.stop();
    await venue.stop();
    found.push({ what, inFlight, alone, beside });
  }
  return found;
}

function startFlood({ url, token }, call, inFlight) {
  const headers = Object.entries({ ...JSON_HEADERS, authorization: `Bearer ${token}` }).map((header) =>
    header.join("="),
  );
  const options = ["-m", "POST", "-c", inFlight, "-d", 3600, "-t", 120, "-b", JSON.stringify(call)];
  const args = [
    AUTOCANNON,
    ...options,
    ...headers.flatMap((header) => ["-H", header]),
    `${url}/api/v1/invoke?wait=true`,
  ];
  const child = spawn(process.execPath, args.map(String), { stdio: "ignore" });
  adopt(child.pid);
  return {
    async stop() {
      if (child.exitCode !== null) throw new Error(`The flood ended by itself: ${child.exitCode}`);
      child.kill("SIGKILL");
      await once(child, "exit");
      disown(child.pid);
    },
  };
}

/** The first one opens its connection. */
async function readInTurn(url, seconds) {
  const agent = new Agent({ keepAlive: true });
  const times = [];
  const until = performance.now() + seconds * 1000;
  while (performance.now() < until) {
    const begun = performance.now();
    await read(url, agent);
    times.push(performance.now() - begun);
  }
  agent.destroy();
  times.sort((a, b) => a - b);
  return { p50Ms: times[Math.floor(times.length / 2)], p99Ms: times[Math.floor(times.length * 0.99)] };
}

function read(url, agent) {
  return new Promise((resolve, reject) => {
    const asked = request(`${url}/api/v1/invoke?wait=true`, { method: "POST", headers: JSON_HEADERS, agent });
    asked.once("error", reject).once("response", (response) => {
      if (response.statusCode !== 201) reject(new Error(`a read was answered with ${response.statusCode}`));
      response.resume().once("end", resolve);
    });
    asked.end(READ);
  });
}
