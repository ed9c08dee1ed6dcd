// Servers in processes of their own.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { adopt, disown, temporaryDirectory } from "./lifetime.mjs";
import { memoryOf, threadMs } from "./machine.mjs";

const at = (path) => fileURLToPath(new URL(path, import.meta.url));

export const CLI = at("../dist/cli.js");
const LISTENS = /listens on (http\S+)/;
/** How long a server of others may take to its first answer, in ms. */
const START_MS = 60_000;
const POLL_MS = 200;

/**
 * Starts `venue-files serve` with a configuration.
 *
 * @param options.probe whether `collected()` is there: memory after a full collection, as `process.memoryUsage` gives it
 * @returns what {@link started} gives, with `token`
 */
export async function startVenue(config, { probe = false, env } = {}) {
  const file = "venue.json5";
  const folder = temporaryDirectory({ [file]: JSON.stringify({ port: 0, stateDir: "state", ...config }) });
  const flags = probe ? ["--expose-gc", "--import", new URL("servers/heap-probe.mjs", import.meta.url).href] : [];
  const running = await started([...flags, CLI, "serve", "--config", file], { cwd: folder, env });
  return { ...running, token: readFileSync(join(folder, "state/local-token"), "utf8").trim() };
}

/** Starts the bare framework, which answers every POST with the same bytes. */
export const startBare = (answer) => started([at("servers/bare-fastify.mjs"), JSON.stringify(answer)]);

/** Starts the bare framework over node:fs/promises, which lists directories below a folder. */
export const startBareFiles = (root) => started([at("servers/bare-files.mjs"), root]);

/**
 * Starts a Node program that says on its output where it listens.
 *
 * @returns `{ url, startedMs, pid, rssBytes(), loopCpuMs(), ask(message), collected(), stop() }`
 */
export async function started(args, { cwd, env = process.env } = {}) {
  const startedMs = performance.now();
  const child = spawn(process.execPath, args, { cwd, env, stdio: ["ignore", "pipe", "inherit", "ipc"] });
  adopt(child.pid);
  const ask = async (message) => {
    child.send(message);
    return (await once(child, "message"))[0];
  };
  return {
    url: await found(child, LISTENS),
    startedMs,
    pid: child.pid,
    rssBytes: () => memoryOf(child.pid).now,
    /** Time that its event loop has run on a processor, in ms. Unlike time on the wall, not that of others. */
    loopCpuMs: () => threadMs(child.pid),
    ask,
    collected: () => ask("collect"),
    stop: () => stopped(child),
  };
}

/** What a pattern finds in the output of a process, as soon as it is there. */
export async function found(child, pattern) {
  let written = "";
  return new Promise((resolve, reject) => {
    child.stdout.on("data", (chunk) => {
      written += chunk;
      const match = pattern.exec(written);
      if (match !== null) resolve(match[1]);
    });
    child.once("exit", (code) => reject(new Error(`A server ended with ${code}: ${written}`)));
  });
}

export async function stopped(child, signal = "SIGTERM") {
  child.kill(signal);
  if (child.exitCode === null && child.signalCode === null) await once(child, "exit");
  disown(child.pid);
}

/**
 * Starts a server of others on a free port.
 *
 * @param commandOf gives `{ command, args }` for a port
 * @param probe says whether it answers: `(url) => Promise<boolean>`
 */
export async function startOther(name, commandOf, probe) {
  const port = await freePort();
  const { command, args, cwd } = commandOf(port);
  const child = spawn(command, args, { cwd, stdio: ["ignore", "ignore", "inherit"] });
  adopt(child.pid);
  const url = `http://localhost:${port}`;
  const until = performance.now() + START_MS;
  while (!(await probe(url).catch(() => false))) {
    if (child.exitCode !== null || performance.now() > until) throw new Error(`${name} does not answer`);
    await sleep(POLL_MS);
  }
  return { name, url, pid: child.pid, stop: () => stopped(child) };
}

export async function freePort() {
  const server = createServer().listen(0, "localhost");
  await once(server, "listening");
  const { port } = server.address();
  server.close();
  await once(server, "close");
  return port;
}
