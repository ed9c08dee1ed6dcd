import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import autocannon from "autocannon";
import { startBare, startVenue } from "./process.mjs";

const CONNECTIONS = 16;
const REQUEST = JSON.stringify({ operation: "v/ops/file/stat", input: { root: "docs", path: "a.txt" } });
const HEADERS = { "content-type": "application/json" };

/**
 * Requests per second of `file:stat` by invoke, beside those of the bare framework answering the same bytes. Rounds of
 * both alternate, so that whatever else the machine does hits both.
 */
export async function measureThroughput(folder, { rounds, seconds, warmUpSeconds }) {
  const docs = join(folder, "docs");
  mkdirSync(docs);
  writeFileSync(join(docs, "a.txt"), "alpha");
  const venue = await startVenue(folder, { file: { roots: { docs } } });
  const answer = await fetch(`${venue.url}/api/v1/invoke`, { method: "POST", headers: HEADERS, body: REQUEST });
  const body = await answer.text();
  if (JSON.parse(body).output?.size !== 5) throw new Error(`Wrong answer: ${body}`);
  const kept = ["x-request-id", "location", "x-content-type-options", "cache-control", "content-type"];
  const headers = Object.fromEntries(kept.map((name) => [name, answer.headers.get(name)]));
  const bare = await startBare(folder, { headers, body });
  const results = { venue: [], bare: [] };
  // Until the compiler has seen enough.
  await fire(venue.url, warmUpSeconds);
  await fire(bare.url, warmUpSeconds);
  for (let round = 0; round < rounds; round += 1) {
    results.venue.push(await fire(venue.url, seconds));
    results.bare.push(await fire(bare.url, seconds));
  }
  await venue.stop();
  await bare.stop();
  const [ours, theirs] = [results.venue, results.bare].map(medianOf);
  const ratios = results.venue.map(({ perSecond }, round) => perSecond / results.bare[round].perSecond);
  return { connections: CONNECTIONS, ours, bare: theirs, ratio: middleOf(ratios) };
}

async function fire(url, seconds) {
  const result = await autocannon({
    url: `${url}/api/v1/invoke`,
    method: "POST",
    headers: HEADERS,
    body: REQUEST,
    connections: CONNECTIONS,
    duration: seconds,
  });
  if (result.non2xx > 0 || result.errors > 0)
    throw new Error(`${result.non2xx} wrong answers, ${result.errors} errors`);
  const { p50, p99 } = result.latency;
  return { perSecond: result.requests.average, p50Ms: p50, p99Ms: p99 };
}

function medianOf(rounds) {
  const middle = (key) => middleOf(rounds.map((round) => round[key]));
  return { perSecond: middle("perSecond"), p50Ms: middle("p50Ms"), p99Ms: middle("p99Ms") };
}

const middleOf = (values) => [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)];
