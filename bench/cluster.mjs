#!/usr/bin/env node
// Two instances of one venue with a PostgreSQL of the bench's own: what the record of another instance's job costs, and a call beside
// that of instances that share nothing. Needs `initdb` and `postgres` on the path, and the bucket of scripts/s3-server.sh.
import { execFileSync, spawn } from "node:child_process";
import { chmodSync, chownSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { runBench, shown } from "./harness.mjs";
import { invocation, JSON_TYPE, keepAlive, send } from "./http.mjs";
import { adopt, temporaryDirectory } from "./lifetime.mjs";
import { CLI, freePort, startVenue } from "./processes.mjs";
import { inTurns, median, percentile, ratios, timings } from "./timing.mjs";

const NOBODY = 65_534;
const TOKEN = "a-token-of-the-bench-with-40-characters-";
const MOST_PASSED_ON = 3;
const MOST_CPU = 1.1;

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

const CONFIG = {
  ...{ seed: "5e".repeat(32), rateLimit: false },
  drives: { store: { s3: { bucket, endpoint, prefix: "bench/" } } },
  storage: { content: "s3", s3: { bucket, endpoint, prefix: "bench/" } },
  file: { roots: { tmp: { temp: true, perInstance: true } } },
  auth: { tokens: [{ name: "bench", token: { env: "BENCH" }, caps: [{ with: "file://tmp/", can: "crud" }] }] },
};

const startPair = (config, env) => Promise.all([startVenue(config, { env }), startVenue(config, { env })]);

const headers = { ...JSON_TYPE, authorization: `Bearer ${TOKEN}` };
const STAT = { body: invocation("stat", { root: "tmp", path: "" }), headers };

/** Does what others are not ready for yet. */
async function once(work) {
  for (let left = 100; ; left--) {
    try {
      return await work();
    } catch (error) {
      if (left === 0) throw error;
      await sleep(100);
    }
  }
}

async function measure({ quick, row }) {
  const env = { ...process.env, BENCH: TOKEN, ENGINE: await startEngine() };
  const shared = { ...CONFIG, shared: { postgres: { url: { env: "ENGINE" } } } };
  const folder = temporaryDirectory({ "venue.json5": JSON.stringify({ ...shared, stateDir: "state" }) });
  const prepare = ["cluster", "init", "--config", join(folder, "venue.json5")];
  await once(() => execFileSync(process.execPath, [CLI, ...prepare], { env, stdio: "ignore" }));
  const [pair, apart] = [await startPair(shared, env), await startPair(CONFIG, env)];
  const [owner, other] = pair;
  const agent = keepAlive();
  const { text } = await send(`${owner.url}/api/v1/invoke`, { ...STAT, agent, kept: true });
  const path = `/api/v1/jobs/${JSON.parse(text).id}`;
  const read = ({ url }) => send(`${url}${path}`, { method: "GET", headers, agent });
  // Until the other one knows where the owner is.
  await once(() => read(other));
  const count = quick ? 500 : 3000;
  const p95 = (to) => async () => percentile(await timings(count, () => read(to)), 95);
  const found = await inTurns(quick ? 3 : 7, { passedOn: p95(other), local: p95(owner) });
  const beside = `${shown(median(found.passedOn), "ms")}; local ${shown(median(found.local), "ms")}`;
  const value = median(ratios(found.passedOn, found.local));
  row({ what: "GET of a job of another instance, p95, of local", value, unit: "x", beside, most: MOST_PASSED_ON });

  const cpu = (instances) => async () => {
    const before = instances.map((one) => one.loopCpuMs());
    const call = ({ url }) => send(`${url}/api/v1/invoke`, { ...STAT, agent });
    for (let index = 0; index < count; index++) await Promise.all(instances.map(call));
    return instances.reduce((sum, one, index) => sum + one.loopCpuMs() - before[index], 0);
  };
  const spent = await inTurns(quick ? 3 : 7, { shared: cpu(pair), apart: cpu(apart) });
  const ratio = median(ratios(spent.shared, spent.apart));
  const each = `${shown(median(spent.shared) / (2 * count), "ms")} a call`;
  const what = "processor time of file:stat by invoke, 2 instances";
  row({ what, value: ratio, unit: "x", beside: each, most: MOST_CPU });
  agent.destroy();
  for (const one of [...pair, ...apart]) await one.stop();
}

await runBench([{ name: "cluster", run: measure }]);
