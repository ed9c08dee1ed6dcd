#!/usr/bin/env node
// WebDAV beside `rclone serve webdav`, in turns in one run: large and small files, listings, memory.
import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { runBench, shown } from "./harness.mjs";
import { JSON_TYPE, keepAlive, send } from "./http.mjs";
import { filesOf, temporaryDirectory } from "./lifetime.mjs";
import { processorMs } from "./machine.mjs";
import { startOther, startVenue } from "./processes.mjs";
import { growthWhile, inTurns, median, ratios, timed } from "./timing.mjs";

const MIB = 2 ** 20;
const LARGE = Buffer.alloc(100 * MIB, "venue-files ");
const SMALL = Buffer.alloc(4096, "x");
const LISTED = { thousand: 1000, many: 10_000 };
const agent = keepAlive();

let venue;
/** The venue, started at the first part: `{ url, token, request(method, path, more) }`. */
async function ours() {
  if (venue !== undefined) return venue;
  const listed = Object.entries(LISTED).map(([name, count]) =>
    filesOf(count, (index) => `${name}/file-${index}.txt`, "x"),
  );
  const root = { path: temporaryDirectory(Object.assign({}, ...listed)), durability: "none" };
  const started = await startVenue({ webdav: true, file: { roots: { files: root } } });
  const authorization = `Basic ${Buffer.from(`x:${started.token}`).toString("base64")}`;
  venue = { ...started, request: requester(`${started.url}/dav/files`, { authorization }) };
  return venue;
}

const requester =
  (base, fixed) =>
  (method, path, { body, headers } = {}) =>
    send(`${base}/${path}`, { method, body, agent, headers: { ...fixed, ...headers } });

async function startRclone() {
  const folder = temporaryDirectory();
  if (spawnSync("rclone", ["version"]).status !== 0) throw new Error("rclone is not installed");
  const flags = ["--config", join(folder, "none")];
  const commandOf = (port) => ({
    command: "rclone",
    args: ["serve", "webdav", folder, "--addr", `localhost:${port}`, ...flags],
  });
  const answers = async (url) => (await fetch(`${url}/`, { method: "OPTIONS" })).ok;
  const started = await startOther("rclone", commandOf, answers);
  return { ...started, request: requester(started.url, {}) };
}

async function compare({ quick, row }, { what, beside, most }, forms) {
  await inTurns(1, forms);
  const { ours, theirs } = await inTurns(quick ? 3 : 9, {
    ours: (round) => timed(() => forms.ours(round + 1)),
    theirs: (round) => timed(() => forms.theirs(round + 1)),
  });
  const timesOf = `${shown(median(ours), "ms")}, ${beside} ${shown(median(theirs), "ms")}`;
  row({ what, value: median(ratios(ours, theirs)), unit: "x", beside: timesOf, most });
}

async function measureListings(context) {
  const { url, token, request } = await ours();
  for (const [path, entries] of Object.entries(LISTED)) {
    const body = JSON.stringify({ operation: "file:list", input: { root: "files", path, limit: entries } });
    const headers = { ...JSON_TYPE, authorization: `Bearer ${token}` };
    const what = `PROPFIND of ${shown(entries)} entries`;
    const bar = { what, beside: "`file:list` over HTTP", most: entries === 1000 ? 3 : undefined };
    await compare(context, bar, {
      ours: () => request("PROPFIND", path, { headers: { depth: "1" } }),
      theirs: () => send(`${url}/api/v1/run`, { body, headers, agent }),
    });
  }
}

async function measureFiles(context) {
  const [own, rclone] = [await ours(), await startRclone()];
  const both = (run) => ({ ours: (round) => run(own.request, round), theirs: (round) => run(rclone.request, round) });
  const bars = {
    "PUT of 100 MiB": [1.67, (request, round) => request("PUT", `large-${round % 2}`, { body: LARGE })],
    "GET of 100 MiB": [1.67, (request) => request("GET", "large-0")],
    "500 PUTs of 4 KiB, one after another": [
      1,
      async (request, round) => {
        for (let index = 0; index < 500; index++) await request("PUT", `small-${round}-${index}`, { body: SMALL });
      },
    ],
  };
  for (const [what, [most, run]] of Object.entries(bars)) {
    const before = [own, rclone].map(({ pid }) => processorMs(pid));
    await compare(context, { what, beside: "rclone", most }, both(run));
    const busy = [own, rclone].map(({ pid }, index) => processorMs(pid) - before[index]);
    context.row({ what: "… processor time", value: busy[0], beside: `rclone ${shown(busy[1], "ms")}` });
  }
  await rclone.stop();
}

async function measureMemory({ row }) {
  const { request, rssBytes } = await ours();
  const puts = () => Promise.all([0, 1, 2, 3].map((index) => request("PUT", `at-once-${index}`, { body: LARGE })));
  const { growth } = await growthWhile(rssBytes, puts);
  row({ what: "four PUTs of 100 MiB at once: growth of memory", value: growth / MIB, unit: "MiB", most: 150 });
}

await runBench(
  [
    { name: "listings", run: measureListings },
    { name: "files", run: measureFiles },
    { name: "memory", run: measureMemory },
  ],
  {
    async finish() {
      agent.destroy();
      await venue?.stop();
    },
  },
);
