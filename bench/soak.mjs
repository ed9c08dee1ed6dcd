#!/usr/bin/env node
// A soak: many clients with mixed operations against one venue for twenty minutes, or fewer with --minutes. It fails on a wrong answer,
// and with --check when the heap after a collection or the resident size still grows after a warm-up.
import { createHash, randomBytes } from "node:crypto";
import { expectEqual } from "./expect.mjs";
import { runBench, shown } from "./harness.mjs";
import { JSON_TYPE, keepAlive, send } from "./http.mjs";
import { startVenue } from "./processes.mjs";
import { median } from "./timing.mjs";

const MB = 1e6;
const SAMPLE_MS = 1000;
/** Collections in a run, spread evenly: few, for each of them makes the resident size smaller too. */
const COLLECTIONS = 16;
/** The last quarter may be so much above the second; the first is the warm-up. Allocators are not exact, collections are. */
const MAX_GROWTH = { "heap after a collection": 1.1, "resident size": 1.15 };

const pick = (list) => list[Math.floor(Math.random() * list.length)];
const upTo = (count) => Math.floor(Math.random() * count);

/** Steps of a client, the frequent ones twice. Each has its own folder `name` and knows the files it made. */
const STEPS = [
  ...Array(2).fill(async ({ invoke, name, known }) => {
    const path = `${name}/${upTo(50)}.txt`;
    const content = randomBytes(1 + upTo(20_000)).toString("hex");
    const { output } = await invoke("write", { path, content });
    expectEqual(output?.written, content.length, "written");
    known.push(path);
  }),
  ...Array(2).fill(async ({ invoke, known }) => {
    const path = pick(known);
    if (path !== undefined) await invoke("read", { path, ...pick([{}, { offset: 10, length: 100 }]) });
  }),
  ({ invoke, known }) => invoke("stat", { path: pick(known) ?? "nothing" }),
  ({ invoke, name }) => invoke("list", { path: name }),
  ({ invoke, name }) => invoke("tree", { path: name, info: "size" }),
  ({ invoke, name }) => invoke("append", { path: `${name}/log.txt`, content: "line\n" }),
  ({ invoke, name }) => invoke("read", { path: `${name}/../../escape` }),
  async function remove({ invoke, name, known }) {
    const path = known.shift();
    if (path !== undefined) await invoke("delete", { path });
    await invoke("delete", { path: `${name}/log.txt` });
  },
  async function writeAsset({ ask, invoke, name }) {
    // Few different ones: assets are never deleted.
    const body = Buffer.alloc(50_000, `asset ${upTo(20)}`);
    const sha256 = createHash("sha256").update(body).digest("hex");
    const id = JSON.parse(await ask("POST", "/api/v1/assets", { value: { name: sha256, content: { sha256 } } }));
    await ask("PUT", `/api/v1/assets/${id}/content`, { body });
    await invoke("write", { path: `${name}/asset.bin`, asset: id });
  },
  async function lookAtJobs({ ask }) {
    const { items } = JSON.parse(await ask("GET", "/api/v1/jobs?limit=5"));
    if (items[0] !== undefined) await ask("GET", `/api/v1/jobs/${items[0]}`, { allowed: [200, 404] });
  },
  async function followJob({ ask, invoke, name }) {
    const { id } = await invoke("list", { path: name });
    await ask("GET", `/api/v1/jobs/${id}/sse`, { allowed: [200, 404] });
  },
  async function callTool({ ask, name }) {
    const params = { name: "file_list", arguments: { root: "tmp", path: name } };
    const headers = { accept: "application/json, text/event-stream" };
    await ask("POST", "/mcp", { value: { jsonrpc: "2.0", id: 1, method: "tools/call", params }, headers });
  },
];

/** One client, with a connection of its own: mixed calls one after the other. */
async function runClient(venue, name, run) {
  const agent = keepAlive();
  const ask = async (method, path, { value, body = JSON.stringify(value), headers, allowed = [200, 201] } = {}) => {
    const request = { method, body, headers: { ...(value && JSON_TYPE), ...headers }, agent, kept: true, allowed };
    const { text } = await send(`${venue.url}${path}`, request);
    run.requests += 1;
    return text;
  };
  const invoke = async (operation, input) => {
    const value = { operation: `file:${operation}`, input: { root: "tmp", ...input } };
    return JSON.parse(await ask("POST", "/api/v1/invoke", { value }));
  };
  const client = { name, known: [], ask, invoke };
  await invoke("mkdir", { path: name });
  while (Date.now() < run.until) await pick(STEPS)(client);
  agent.destroy();
}

async function measureSoak({ values, quick, row }) {
  const minutes = Number(values.minutes ?? (quick ? 1 : 20));
  const clients = Number(values.clients);
  const venue = await startVenue(
    {
      audit: { file: "audit.jsonl" },
      file: { roots: { tmp: { temp: true } } },
      // A shorter run keeps fewer jobs than the default, so that it is past its warm-up after a quarter too.
      jobs: { max: Math.min(10_000, Math.max(100, Math.round(500 * minutes))) },
    },
    { probe: true },
  );
  const samples = { "heap after a collection": [], "resident size": [] };
  let collecting = Promise.resolve();
  const collect = async () => {
    const { heapUsed, external } = await venue.collected();
    samples["heap after a collection"].push(heapUsed + external);
  };
  const timers = [
    setInterval(() => samples["resident size"].push(venue.rssBytes()), SAMPLE_MS),
    setInterval(
      () => {
        collecting = collecting.then(collect);
      },
      (minutes * 60_000) / COLLECTIONS,
    ),
  ];
  const run = { until: Date.now() + minutes * 60_000, requests: 0 };
  await Promise.all(Array.from({ length: clients }, (_, index) => runClient(venue, `c${index}`, run)));
  for (const timer of timers) clearInterval(timer);
  await collecting;
  await venue.stop();
  row({ what: `requests of ${clients} clients in ${minutes} minutes`, value: run.requests, unit: "" });
  for (const [what, series] of Object.entries(samples)) {
    const quarter = Math.floor(series.length / 4);
    const [early, late] = [median(series.slice(quarter, 2 * quarter)), median(series.slice(-quarter))];
    const [from, to, most] = [early, late, Math.max(...series)].map((bytes) => shown(bytes / MB, "MB"));
    const beside = `${from} in the second quarter, ${to} in the last, ${most} at most`;
    row({ what: `growth of ${what}`, value: late / early, unit: "x", beside, most: MAX_GROWTH[what] });
  }
}

await runBench([{ name: "soak", run: measureSoak }], {
  own: {
    minutes: { type: "string", help: "how long" },
    clients: { type: "string", default: "64", help: "how many at once" },
  },
});
