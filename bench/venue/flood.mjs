import { mkdirSync, writeFileSync } from "node:fs";
import { Agent, request } from "node:http";
import { join } from "node:path";
import { performance } from "node:perf_hooks";
import { setTimeout as sleep } from "node:timers/promises";
import autocannon from "autocannon";
import { startVenue } from "./process.mjs";

/** Until all connections of the flood are accepted, and each has been answered. */
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
 * slow calls in flight. The operator's client has a thread of its own.
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
  const venue = await startVenue(folder, { file: { roots: { docs: { path: docs, durability: "flush" } } } });
  const found = [];
  for (const [what, call] of Object.entries(FLOODS)) {
    const alone = await readInTurn(venue.url, seconds);
    const flood = autocannon({
      url: `${venue.url}/api/v1/invoke?wait=true`,
      method: "POST",
      headers: { ...JSON_HEADERS, authorization: `Bearer ${venue.token}` },
      body: JSON.stringify(call),
      connections: inFlight,
      duration: 3600,
      timeout: 120,
      workers: 1,
    });
    await sleep(SETTLE_MS);
    const beside = await readInTurn(venue.url, seconds);
    flood.stop();
    const { non2xx, requests } = await flood;
    if (non2xx > 0 || requests.total === 0) throw new Error(`${what}: ${non2xx} wrong answers of ${requests.total}`);
    found.push({ what, inFlight, alone, beside });
  }
  await venue.stop();
  return found;
}

async function readInTurn(url, seconds) {
  const agent = new Agent({ keepAlive: true });
  const times = [];
  await read(url, agent);
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
