import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import autocannon from "autocannon";
import { startBare, startVenue } from "./process.mjs";

const CONNECTIONS = 16;
const REQUEST = JSON.stringify({ operation: "v/ops/file/stat", input: { root: "docs", path: "a.txt" } });
const HEADERS = { "content-type": "application/json" };

/** Starts a venue with one small file. */
function serveFile(folder) {
  const docs = join(folder, "docs");
  mkdirSync(docs);
  writeFileSync(join(docs, "a.txt"), "alpha");
  return startVenue(folder, { file: { roots: { docs } } });
}

/**
 * Requests per second of `file:stat` by invoke, beside those of the bare framework answering the same bytes. Rounds of
 * both alternate, so that whatever else the machine does hits both.
 */
export async function measureThroughput(folder, { rounds, seconds, warmUpSeconds }) {
  const venue = await serveFile(folder);
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

/** The same call as a tool, over MCP by HTTP. */
const TOOL = { name: "file_stat", arguments: { path: "a.txt" } };
const META = Object.fromEntries(
  [
    ["protocolVersion", "2026-07-28"],
    ["clientInfo", { name: "bench", version: "1" }],
    ["clientCapabilities", {}],
  ].map(([name, value]) => [`io.modelcontextprotocol/${name}`, value]),
);
/** What its request has besides, by revision. */
const REVISIONS = {
  "2025-11-25": { more: {}, meta: {} },
  "2026-07-28": { more: { "mcp-method": "tools/call", "mcp-name": TOOL.name }, meta: { _meta: META } },
};

/** Calls per second of a tool over MCP by HTTP. */
export async function measureToolCalls(folder, revision, { rounds, seconds, warmUpSeconds }) {
  const venue = await serveFile(folder);
  const { more, meta } = REVISIONS[revision];
  const accept = "application/json, text/event-stream";
  const headers = { ...HEADERS, accept, "mcp-protocol-version": revision, ...more };
  const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/call", params: { ...TOOL, ...meta } });
  const text = await (await fetch(`${venue.url}/mcp`, { method: "POST", headers, body })).text();
  if (!text.includes('"size":5')) throw new Error(`Wrong answer: ${text}`);
  const request = { path: "/mcp", headers, body };
  await fire(venue.url, warmUpSeconds, request);
  const results = [];
  for (let round = 0; round < rounds; round += 1) results.push(await fire(venue.url, seconds, request));
  await venue.stop();
  return medianOf(results);
}

const INVOKE = { path: "/api/v1/invoke", headers: HEADERS, body: REQUEST };

async function fire(url, seconds, { path, headers, body } = INVOKE) {
  const times = [];
  const load = { url: `${url}${path}`, method: "POST", headers, body, connections: CONNECTIONS, duration: seconds };
  const result = await new Promise((resolve, reject) => {
    const run = autocannon(load, (error, done) => (error ? reject(error) : resolve(done)));
    // Its own percentiles are of whole milliseconds.
    run.on("response", (_client, _status, _bytes, ms) => times.push(ms));
  });
  if (result.non2xx > 0 || result.errors > 0)
    throw new Error(`${result.non2xx} wrong answers, ${result.errors} errors`);
  const sorted = Float64Array.from(times).sort();
  const percentile = (part) => sorted[Math.max(0, Math.ceil(part * sorted.length) - 1)];
  return { perSecond: result.requests.average, p50Ms: percentile(0.5), p99Ms: percentile(0.99) };
}

function medianOf(rounds) {
  const middle = (key) => middleOf(rounds.map((round) => round[key]));
  return { perSecond: middle("perSecond"), p50Ms: middle("p50Ms"), p99Ms: middle("p99Ms") };
}

const middleOf = (values) => [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)];
