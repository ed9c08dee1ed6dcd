#!/usr/bin/env node
// Two instances of one venue with a PostgreSQL of the bench's own: what the record of another instance's job costs, and a call beside
// that of instances that share nothing. Needs `initdb` and `postgres` on the path, and the bucket of scripts/s3-server.sh.
import { execFileSync, spawn } from "node:child_process";
import { chmodSync, chownSync, mkdirSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { runBench, shown, times } from "./harness.mjs";
import { invocation, JSON_TYPE, keepAlive, send } from "./http.mjs";
import { adopt, temporaryDirectory } from "./lifetime.mjs";
import { CLI, started } from "./processes.mjs";
import { inTurns, median, percentile, ratios, timings } from "./timing.mjs";

const NOBODY = 65_534;
const TOKEN = "a-token-of-the-bench-with-40-characters-";
const MOST_PASSED_ON = 3;
const MOST_CPU = 1.1;

async function freePort() {
  const server = createServer().listen(0, "127.0.0.1");
  await new Promise((resolve) => server.once("listening", resolve));
  const { port } = server.address();
  await new Promise((resolve) => server.close(resolve));
  return port;
}

/** @returns the URL of an empty database */
async function startEngine() {
  const folder = temporaryDirectory();
  const user = process.getuid() === 0 ? { uid: NOBODY, gid: NOBODY } : {};
  if (user.uid !== undefined) chownSync(folder, NOBODY, NOBODY);
  chmodSync(folder, 0o700);
  const run = { ...user, cwd: "/", stdio: "ignore" };
  execFileSync("initdb", ["-D", folder, "-U", "venue", "-A", "trust", "--no-sync"], run);
  const port = await freePort();
  const settings = [`unix_socket_directories=${folder}`, "listen_addresses=127.0.0.1"].flatMap((one) => ["-c", one]);
  adopt(spawn("postgres", ["-D", folder, "-p", `${port}`, ...settings], run).pid);
  return `postgres://venue@127.0.0.1:${port}/postgres`;
}

const { S3_TEST_ENDPOINT: endpoint, S3_TEST_BUCKET: bucket } = process.env;

function configFile(folder, shared) {
  const given = {
    ...{ port: 0, seed: "5e".repeat(32), stateDir: join(folder, "state"), rateLimit: false },
    drives: { store: { s3: { bucket, endpoint, prefix: "bench/" } } },
    storage: { content: "s3", s3: { bucket, endpoint, prefix: "bench/" } },
    file: { roots: { tmp: { temp: true, perInstance: true } } },
    auth: { tokens: [{ name: "bench", token: { env: "BENCH" }, caps: [{ with: "file://tmp/", can: "crud" }] }] },
    ...shared,
  };
  mkdirSync(folder);
  writeFileSync(join(folder, "venue.json5"), JSON.stringify(given));
  return join(folder, "venue.json5");
}

async function startPair(folder, name, shared, env) {
  const at = [1, 2].map((number) => configFile(join(folder, `${name}-${number}`), shared));
  return Promise.all(at.map((file) => started([CLI, "serve", "--config", file], { cwd: folder, env })));
}

const headers = { ...JSON_TYPE, authorization: `Bearer ${TOKEN}` };
const STAT = { body: invocation("stat", { root: "tmp", path: "" }), headers };

async function measure({ quick, row }) {
  const folder = temporaryDirectory();
  const env = { ...process.env, BENCH: TOKEN, ENGINE: await startEngine() };
  const shared = { shared: { postgres: { url: { env: "ENGINE" } } } };
  const prepare = ["cluster", "init", "--config", configFile(join(folder, "init"), shared)];
  for (let left = 100; left > 0; left--) {
    try {
      execFileSync(process.execPath, [CLI, ...prepare], { env, stdio: "ignore" });
      break;
    } catch (error) {
      if (left === 1) throw error;
      await sleep(100);
    }
  }
  const [pair, apart] = [await startPair(folder, "one", shared, env), await startPair(folder, "two", {}, env)];
  const [owner, other] = pair;
  const agent = keepAlive();
  const { text } = await send(`${owner.url}/api/v1/invoke`, { ...STAT, agent, kept: true });
  const path = `/api/v1/jobs/${JSON.parse(text).id}`;
  const read = ({ url }) => send(`${url}${path}`, { method: "GET", headers, agent });
  // Until the other one knows where the owner is.
  for (let left = 100; left > 0 && (await read(other).catch(() => undefined)) === undefined; left--) await sleep(100);
  const count = quick ? 500 : 3000;
  const p95 = (to) => async () => percentile(await timings(count, () => read(to)), 95);
  const found = await inTurns(quick ? 3 : 7, { passedOn: p95(other), local: p95(owner) });
  const beside = `${shown(median(found.passedOn), "ms")}; local ${shown(median(found.local), "ms")}`;
  const value = median(ratios(found.passedOn, found.local));
  row({
    what: "GET of a job that another instance has, p95, of local",
    value,
    unit: "x",
    beside,
    most: MOST_PASSED_ON,
  });

  const cpu = (instances) => async () => {
    const before = instances.map((one) => one.loopCpuMs());
    const call = ({ url }) => send(`${url}/api/v1/invoke`, { ...STAT, agent });
    for (let index = 0; index < count; index++) await Promise.all(instances.map(call));
    return instances.reduce((sum, one, index) => sum + one.loopCpuMs() - before[index], 0);
  };
  const spent = await inTurns(quick ? 3 : 7, { shared: cpu(pair), apart: cpu(apart) });
  const ratio = median(ratios(spent.shared, spent.apart));
  const each = `${shown(median(spent.shared) / (2 * count), "ms")} a call; ${times(ratio)}`;
  row({
    what: "processor time of file:stat by invoke, 2 instances",
    value: ratio,
    unit: "x",
    beside: each,
    most: MOST_CPU,
  });
  agent.destroy();
  for (const one of [...pair, ...apart]) await one.stop();
}

await runBench([{ name: "cluster", run: measure }]);
