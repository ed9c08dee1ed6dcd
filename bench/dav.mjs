#!/usr/bin/env node
// WebDAV beside `rclone serve webdav` and mod_dav of Apache, in turns in one run: large and small files, listings, memory.
// Usage: npm run bench:dav [-- --quick] [--only listings|files|memory]
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { Agent, request } from "node:http";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { startPeers } from "./dav/peers.mjs";
import { cleanUp, cleanUpWhateverHappens, temporaryDirectory } from "./lifetime.mjs";
import { describeMachine } from "./machine.mjs";
import { startVenue } from "./venue/process.mjs";

const options = { quick: { type: "boolean", default: false }, only: { type: "string", default: "" } };
const { values } = parseArgs({ options });
const does = (part) => values.only === "" || values.only === part;
const ROUNDS = values.quick ? 3 : 9;
const LARGE = Buffer.alloc(100 * 1024 * 1024, "venue-files ");
const SMALL = Buffer.alloc(4096, "x");
const agent = new Agent({ keepAlive: true });

/** Sends one request and reads its answer. @returns bytes of the answer */
function send({ url, authorization }, method, path, { body, headers = {} } = {}) {
  const length = body === undefined ? {} : { "content-length": body.length };
  const all = { ...(authorization === undefined ? {} : { authorization }), ...length, ...headers };
  return new Promise((resolve, reject) => {
    const sent = request(`${url}${path}`, { method, agent, headers: all }, (response) => {
      let bytes = 0;
      response.on("data", (chunk) => {
        bytes += chunk.length;
      });
      response.on("end", () => {
        if (response.statusCode < 400) resolve(bytes);
        else reject(new Error(`${method} ${path}: ${response.statusCode}`));
      });
      response.on("error", reject);
    });
    sent.on("error", reject);
    sent.end(body);
  });
}

async function timed(work) {
  const started = performance.now();
  await work();
  return performance.now() - started;
}

const median = (numbers) => numbers.toSorted((a, b) => a - b)[Math.floor(numbers.length / 2)];

/** Processor time of a process so far, in ms; Linux only. */
function cpuMs(pid) {
  const fields = readFileSync(`/proc/${pid}/stat`, "utf8")
    .replace(/^.*\) /s, "")
    .split(" ");
  return (Number(fields[11]) + Number(fields[12])) * 10;
}

/** Times of two subjects in turns. @returns medians in ms, and the median of the ratios of the rounds */
async function inTurns(ours, theirs, pids) {
  const rounds = [];
  await ours(0);
  await theirs(0);
  const before = pids?.map(cpuMs);
  for (let round = 1; round <= ROUNDS; round++) {
    const [first, second] = round % 2 === 0 ? [ours, theirs] : [theirs, ours];
    const [one, other] = [await timed(() => first(round)), await timed(() => second(round))];
    rounds.push(round % 2 === 0 ? [one, other] : [other, one]);
  }
  return {
    ours: median(rounds.map(([own]) => own)),
    theirs: median(rounds.map(([, other]) => other)),
    ratio: median(rounds.map(([own, other]) => own / other)),
    cpu: pids?.map((pid, index) => (cpuMs(pid) - before[index]) / ROUNDS),
  };
}

const propfind = (subject, path) => send(subject, "PROPFIND", `${subject.base}/${path}`, { headers: { depth: "1" } });

function list(subject, path, limit) {
  const body = Buffer.from(JSON.stringify({ operation: "file:list", input: { root: "files", path, limit } }));
  const headers = { "content-type": "application/json", authorization: `Bearer ${subject.token}` };
  return send(subject, "POST", "/api/v1/run", { body, headers });
}

const put = (subject) => (round) =>
  send(subject, "PUT", `${subject.base}/${subject.mark}-${round % 2}`, { body: LARGE });
const get = (subject) => () => send(subject, "GET", `${subject.base}/${subject.mark}-1`);

const small = (subject) => async (round) => {
  for (let index = 0; index < 500; index++) {
    await send(subject, "PUT", `${subject.base}/${subject.mark}-small-${round}-${index}`, { body: SMALL });
  }
};

async function listings(own, add) {
  for (const [name, entries] of [
    ["thousand", 1000],
    ["many", 10_000],
  ]) {
    const result = await inTurns(
      () => propfind(own, name),
      () => list(own, name, entries),
    );
    const target = entries === 1000 ? "at most 3x" : "";
    add(`PROPFIND of ${entries.toLocaleString("en")} entries`, result, "`file:list` over HTTP", target);
  }
}

/** Growth of resident memory while four large files come at once. */
async function growth(subject, venue) {
  const before = venue.rssBytes();
  let peak = before;
  const timer = setInterval(() => {
    peak = Math.max(peak, venue.rssBytes());
  }, 50);
  await Promise.all(
    [0, 1, 2, 3].map((index) => send(subject, "PUT", `${subject.base}/at-once-${index}`, { body: LARGE })),
  );
  clearInterval(timer);
  return peak - before;
}

async function main() {
  cleanUpWhateverHappens();
  const folder = temporaryDirectory();
  for (const [name, count] of [
    ["served/thousand", 1000],
    ["served/many", 10_000],
  ]) {
    mkdirSync(join(folder, name), { recursive: true });
    for (let index = 0; index < count; index++) writeFileSync(join(folder, name, `file-${index}.txt`), "x");
  }
  const root = { path: join(folder, "served"), durability: "none" };
  const venue = await startVenue(folder, { webdav: true, file: { roots: { files: root } } });
  const authorization = `Basic ${Buffer.from(`x:${venue.token}`).toString("base64")}`;
  const own = { url: venue.url, base: "/dav/files", token: venue.token, authorization };
  const peers = does("files") ? await startPeers(temporaryDirectory()) : [];
  const machine = describeMachine(temporaryDirectory());
  const rows = [];
  const add = (what, { ours, theirs, ratio, cpu }, beside, target) => {
    const processor = cpu === undefined ? "" : `${cpu[0].toFixed(0)} ms, ${cpu[1].toFixed(0)} ms`;
    const other = `${beside} ${theirs.toFixed(1)} ms`;
    rows.push(`| ${what} | ${ours.toFixed(1)} ms | ${other} | ${ratio.toFixed(2)}x | ${processor} | ${target} |`);
  };
  if (does("listings")) await listings(own, add);
  if (does("files") && peers.length === 0) process.stderr.write("neither rclone nor Apache is there: no peer\n");
  for (const peer of peers) {
    const pids = [venue.pid, peer.pid];
    const beside = (subject) => ({ ...subject, mark: peer.name });
    const [ours, theirs] = [beside(own), beside(peer)];
    add("PUT of 100 MiB", await inTurns(put(ours), put(theirs), pids), peer.name, "at most 1.67x");
    add("GET of 100 MiB", await inTurns(get(ours), get(theirs), pids), peer.name, "at most 1.67x");
    add(
      "500 PUTs of 4 KiB, one after another",
      await inTurns(small(ours), small(theirs), pids),
      peer.name,
      "at most 1x",
    );
  }
  if (does("memory")) {
    const grown = ((await growth(own, venue)) / 2 ** 20).toFixed(0);
    rows.push(`| four PUTs of 100 MiB at once: growth of memory | ${grown} MiB | | | | at most 150 MiB |`);
  }
  const lines = [
    `${machine.cores} cores (${machine.cpu}), ${machine.kernel}, Node ${machine.node}, ${machine.fileSystem}; load ${machine.load.toFixed(1)} before; ${ROUNDS} rounds, \`durability: "none"\`.`,
    "",
    "| what | venue | beside | time | processor time of both | target |",
    "|---|---|---|---|---|---|",
    ...rows,
  ];
  process.stdout.write(`${lines.join("\n")}\n`);
  agent.destroy();
  await venue.stop();
  cleanUp();
}

await main();
