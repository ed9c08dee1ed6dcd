#!/usr/bin/env node
// WebDAV beside `rclone serve webdav`, in turns in one run: large and small files, listings, memory.
import { spawn, spawnSync } from "node:child_process";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { Agent, request } from "node:http";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { adopt, cleanUp, cleanUpWhateverHappens, temporaryDirectory } from "./lifetime.mjs";
import { describeMachine } from "./machine.mjs";
import { startVenue } from "./venue/process.mjs";

const { values } = parseArgs({ options: { quick: { type: "boolean", default: false } } });
const ROUNDS = values.quick ? 3 : 9;
const LARGE = Buffer.alloc(100 * 1024 * 1024, "venue-files ");
const SMALL = Buffer.alloc(4096, "x");
const PORT = 18_733;
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

async function startRclone(folder) {
  if (spawnSync("rclone", ["version"]).status !== 0) return undefined;
  const args = ["serve", "webdav", folder, "--addr", `127.0.0.1:${PORT}`, "--config", join(folder, "../none")];
  const child = spawn("rclone", args, { stdio: "ignore" });
  adopt(child.pid);
  const subject = { url: `http://127.0.0.1:${PORT}`, base: "", pid: child.pid };
  for (let tries = 0; tries < 100; tries++) {
    const isUp = await send(subject, "OPTIONS", "/").then(
      () => true,
      () => false,
    );
    if (isUp) return subject;
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  throw new Error("rclone does not answer");
}

const propfind = (subject, path) => send(subject, "PROPFIND", `${subject.base}/${path}`, { headers: { depth: "1" } });

function list(subject, path, limit) {
  const body = Buffer.from(JSON.stringify({ operation: "file:list", input: { root: "files", path, limit } }));
  const headers = { "content-type": "application/json", authorization: `Bearer ${subject.token}` };
  return send(subject, "POST", "/api/v1/run", { body, headers });
}

const small = (subject) => async (round) => {
  for (let index = 0; index < 500; index++) {
    await send(subject, "PUT", `${subject.base}/small-${round}-${index}`, { body: SMALL });
  }
};

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
  mkdirSync(join(folder, "peer"));
  const root = { path: join(folder, "served"), durability: "none" };
  const venue = await startVenue(folder, { webdav: true, file: { roots: { files: root } } });
  const authorization = `Basic ${Buffer.from(`x:${venue.token}`).toString("base64")}`;
  const own = { url: venue.url, base: "/dav/files", token: venue.token, authorization };
  const peer = await startRclone(join(folder, "peer"));
  const machine = describeMachine(temporaryDirectory());
  const rows = [];
  const add = (what, { ours, theirs, ratio, cpu }, beside, target) => {
    const processor = cpu === undefined ? "" : `${cpu[0].toFixed(0)} ms, ${cpu[1].toFixed(0)} ms`;
    const other = `${beside} ${theirs.toFixed(1)} ms`;
    rows.push(`| ${what} | ${ours.toFixed(1)} ms | ${other} | ${ratio.toFixed(2)}x | ${processor} | ${target} |`);
  };
  for (const [name, entries] of [
    ["thousand", 1000],
    ["many", 10_000],
  ]) {
    const result = await inTurns(
      () => propfind(own, name),
      () => list(own, name, entries),
    );
    add(
      `PROPFIND of ${entries.toLocaleString("en")} entries`,
      result,
      "`file:list` over HTTP",
      entries === 1000 ? "at most 3x" : "",
    );
  }
  if (peer === undefined) process.stderr.write("rclone is not there: no peer\n");
  else {
    const pids = [venue.pid, peer.pid];
    const put = (subject) => (round) => send(subject, "PUT", `${subject.base}/large-${round % 2}`, { body: LARGE });
    const get = (subject) => () => send(subject, "GET", `${subject.base}/large-1`);
    add("PUT of 100 MiB", await inTurns(put(own), put(peer), pids), "rclone", "at most 1.67x");
    add("GET of 100 MiB", await inTurns(get(own), get(peer), pids), "rclone", "at most 1.67x");
    add("500 PUTs of 4 KiB, one after another", await inTurns(small(own), small(peer), pids), "rclone", "at most 1x");
  }
  const grown = await growth(own, venue);
  rows.push(
    `| four PUTs of 100 MiB at once: growth of memory | ${(grown / 2 ** 20).toFixed(0)} MiB | | | | at most 150 MiB |`,
  );
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
