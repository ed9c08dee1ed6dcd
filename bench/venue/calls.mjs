// Small calls and the start.
import { spawnSync } from "node:child_process";
import { expectThat } from "../expect.mjs";
import { shown } from "../harness.mjs";
import { CONNECTIONS, fire, invocation, JSON_TYPE } from "../http.mjs";
import { temporaryDirectory } from "../lifetime.mjs";
import { startBare, startVenue } from "../processes.mjs";
import { inTurns, median, percentile, ratios, timed } from "../timing.mjs";

const INVOKE = {
  path: "/api/v1/invoke",
  headers: JSON_TYPE,
  body: invocation("stat", { root: "docs", path: "a.txt" }),
};
const KEPT_HEADERS = ["x-request-id", "location", "x-content-type-options", "cache-control", "content-type"];
const MAX_SPREAD = 5;

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

export const callParts = [
  { name: "calls", run: measureCalls },
  { name: "start", run: measureStart },
];

function toolCall(revision) {
  const { more, meta } = REVISIONS[revision];
  const accept = "application/json, text/event-stream";
  const params = { ...TOOL, ...meta };
  return {
    path: "/mcp",
    headers: { ...JSON_TYPE, accept, "mcp-protocol-version": revision, ...more },
    body: JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/call", params }),
  };
}

/** `file:stat` by invoke, beside the bare framework that answers the same bytes, and as a tool. */
async function measureCalls({ quick, row }) {
  const [rounds, duration, warmUp] = quick ? [1, 2, 3] : [15, 2, 15];
  const venue = await startVenue({ file: { roots: { docs: temporaryDirectory({ "a.txt": "alpha" }) } } });
  const ask = async ({ path, headers, body }) => {
    const answer = await fetch(`${venue.url}${path}`, { method: "POST", headers, body });
    const text = await answer.text();
    expectThat(/"size":\s*5/.test(text), `Wrong answer: ${text}`);
    return { text, headers: Object.fromEntries(KEPT_HEADERS.map((name) => [name, answer.headers.get(name)])) };
  };
  const { text: body, headers } = await ask(INVOKE);
  const bare = await startBare({ headers, body });
  const load = ({ path, ...request }, url = venue.url) => fire(`${url}${path}`, { ...request, duration });
  const tools = Object.fromEntries(Object.keys(REVISIONS).map((revision) => [revision, toolCall(revision)]));
  for (const call of Object.values(tools)) await ask(call);
  // Until the compiler has seen enough.
  for (const call of [INVOKE, ...Object.values(tools)])
    await fire(`${venue.url}${call.path}`, { ...call, duration: warmUp });
  const results = await inTurns(rounds, {
    ours: () => load(INVOKE),
    bare: () => load(INVOKE, bare.url),
    ...Object.fromEntries(Object.entries(tools).map(([revision, call]) => [revision, () => load(call)])),
  });
  await venue.stop();
  await bare.stop();
  const rates = (name) => results[name].map(({ perSecond }) => perSecond);
  const rank = (name, percent) => median(results[name].map((round) => percentile(round.times, percent)));
  const [p50, p99] = [rank("ours", 50), rank("ours", 99)];
  const besideBare = `${shown(median(rates("ours")))} a second, the framework ${shown(median(rates("bare")))}`;
  row({
    ...{ what: "`file:stat` by invoke, of the requests a second of the bare framework", beside: besideBare },
    ...{ value: median(ratios(rates("ours"), rates("bare"))), unit: "x", least: 0.15 },
  });
  row({
    what: `p99 under ${CONNECTIONS} connections`,
    value: p99,
    beside: `median ${shown(p50, "ms")}`,
    most: MAX_SPREAD * p50,
  });
  for (const revision of Object.keys(REVISIONS)) {
    row({
      what: `the same as a tool, over MCP by HTTP in revision ${revision}, of the calls by invoke`,
      ...{ value: median(ratios(rates(revision), rates("ours"))), unit: "x", least: 0.4 },
      beside: `${shown(median(rates(revision)))} a second; p99 ${shown(rank(revision, 99), "ms")}`,
    });
  }
}

/** From starting the process to the first answer of status, beside a Node that does nothing: both depend on how busy the machine is. */
async function measureStart({ quick, row }) {
  const found = await inTurns(quick ? 1 : 5, {
    idle: () => timed(() => spawnSync(process.execPath, ["-e", "0"])),
    async venue() {
      const venue = await startVenue({});
      await (await fetch(`${venue.url}/api/v1/status`)).json();
      const status = performance.now() - venue.startedMs;
      const body = '{"operation":"file:roots"}';
      await (await fetch(`${venue.url}/api/v1/invoke`, { method: "POST", headers: JSON_TYPE, body })).json();
      const operation = performance.now() - venue.startedMs;
      await venue.stop();
      return { status, operation };
    },
  });
  const middle = (key) => median(found.venue.map((one) => one[key]));
  const idle = median(found.idle);
  const beside = `first operation ${shown(middle("operation"), "ms")}; a Node that does nothing ${shown(idle, "ms")}`;
  row({ what: "start to first answer", value: middle("status"), beside, most: 400 });
}
