import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import { performance } from "node:perf_hooks";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { adopt, disown } from "../lifetime.mjs";

const CLI = fileURLToPath(new URL("../../dist/cli.js", import.meta.url));
const PROBE = new URL("heap-probe.mjs", import.meta.url).href;
const BARE_FILES = fileURLToPath(new URL("../servers/bare-files.mjs", import.meta.url));
const BARE = fileURLToPath(new URL("../servers/bare-fastify.mjs", import.meta.url));

/**
 * Starts `venue-files serve` with a configuration.
 *
 * @param options.probe whether `collected()` is there: memory after a full collection, as `process.memoryUsage` gives it
 * @returns `{ url, token, startMs, rssBytes(), loopCpuMs(), collected(), stop() }`
 */
export async function startVenue(folder, config, { probe = false } = {}) {
  const file = join(folder, "venue.json5");
  writeFileSync(file, JSON.stringify({ port: 0, stateDir: join(folder, "state"), ...config }));
  const flags = probe ? ["--expose-gc", "--import", PROBE] : [];
  const running = await start([...flags, CLI, "serve", "--config", file], folder, /listens on (http\S+)\n/);
  const token = readFileSync(join(folder, "state/local-token"), "utf8").trim();
  return { ...running, token };
}

/** Starts the bare framework, which answers every POST with the same bytes. */
export function startBare(folder, answer) {
  const file = join(folder, "answer.json");
  writeFileSync(file, JSON.stringify(answer));
  return start([BARE, file], folder, /listens on (http\S+)\n/);
}

/** Starts the bare framework over node:fs/promises, which lists directories below a folder. */
export function startBareFiles(folder, root) {
  return start([BARE_FILES, root], folder, /listens on (http\S+)\n/);
}

/** How long another venue may take to its first answer, in ms. */
const START_MS = 60_000;
const POLL_MS = 200;

/**
 * Starts another venue that reads a file of `{ venues: [{ port, file: { roots } }] }`, as the reference does.
 *
 * @param command its command line, with `{config}` for that file
 * @param call an invocation that it can answer once it is ready
 * @returns `{ url, stop() }`
 */
export async function startOtherVenue(folder, { command, docs, call }) {
  const port = await freePort();
  const config = join(folder, "other.json");
  const venue = { name: "other", hostname: "localhost", port, store: "memory", file: { roots: { docs } } };
  writeFileSync(config, JSON.stringify({ venues: [venue] }));
  const [program, ...args] = command.split(" ").map((word) => word.replace("{config}", config));
  const child = spawn(program, args, { cwd: folder, stdio: ["ignore", "ignore", "inherit"] });
  adopt(child.pid);
  const ended = once(child, "exit");
  const url = `http://localhost:${port}`;
  const until = performance.now() + START_MS;
  while (!(await answers(`${url}/api/v1/invoke?wait=true`, call))) {
    if (child.exitCode !== null || performance.now() > until)
      throw new Error(`The other venue does not answer: ${command}`);
    await sleep(POLL_MS);
  }
  return {
    url,
    async stop() {
      child.kill("SIGTERM");
      await ended;
      disown(child.pid);
    },
  };
}

async function freePort() {
  const server = createServer().listen(0, "localhost");
  await once(server, "listening");
  const { port } = server.address();
  server.close();
  await once(server, "close");
  return port;
}

const answers = (url, call) =>
  fetch(url, { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(call) }).then(
    ({ ok }) => ok,
    () => false,
  );

async function start(args, cwd, pattern) {
  const startedMs = performance.now();
  const child = spawn(process.execPath, args, { cwd, stdio: ["ignore", "pipe", "inherit", "ipc"] });
  adopt(child.pid);
  let written = "";
  child.stdout.setEncoding("utf8");
  const url = await new Promise((resolve, reject) => {
    child.stdout.on("data", (chunk) => {
      written += chunk;
      const match = pattern.exec(written);
      if (match !== null) resolve(match[1]);
    });
    child.once("exit", (code) => reject(new Error(`The server ended with ${code}: ${written}`)));
  });
  return {
    url,
    startedMs,
    pid: child.pid,
    /** Resident memory now, in bytes; Linux only. */
    rssBytes: () => Number(/VmRSS:\s+(\d+) kB/.exec(readFileSync(`/proc/${child.pid}/status`, "utf8"))?.[1]) * 1024,
    /** Time that its event loop has run on a processor, in ms; Linux only. Unlike time on the wall, not that of others. */
    loopCpuMs: () => Number(readFileSync(`/proc/${child.pid}/task/${child.pid}/schedstat`, "utf8").split(" ")[0]) / 1e6,
    async collected() {
      const answer = once(child, "message");
      child.send("collect");
      const [memory] = await answer;
      return memory;
    },
    async stop() {
      child.kill("SIGTERM");
      await once(child, "exit");
      disown(child.pid);
    },
  };
}
