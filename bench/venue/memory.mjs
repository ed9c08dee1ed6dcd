import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { request } from "node:http";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { adopt, disown } from "../lifetime.mjs";
import { startVenue } from "./process.mjs";

const CLI = fileURLToPath(new URL("../../dist/cli.js", import.meta.url));
/** For how long a client that reads nothing is watched. */
const STALLED_MS = 5000;

/** The greatest resident memory of a process so far, and that now, in bytes; Linux only. */
function memoryOf(pid) {
  const status = readFileSync(`/proc/${pid}/status`, "utf8");
  const of = (key) => Number(new RegExp(`${key}:\\s+(\\d+) kB`).exec(status)?.[1]) * 1024;
  return { peak: of("VmHWM"), now: of("VmRSS") };
}

/** Large files to be read, each of its own text. */
function makeFiles(folder, { files, bytes }) {
  const docs = join(folder, "docs");
  mkdirSync(docs);
  for (let index = 0; index < files; index += 1) {
    writeFileSync(
      join(docs, `${index}.txt`),
      `${`${index} line of text\n`.repeat(100)}`.repeat(bytes / 1500).slice(0, bytes),
    );
  }
  return docs;
}

/** Growth of the peak while so many reads are made at once over HTTP. `senders` of them have an address of their own. */
export async function measureHttpReads(folder, { reads, bytes, senders }) {
  const docs = makeFiles(folder, { files: reads, bytes });
  const limits = { maxReadBytes: Math.max(bytes, 8_388_608), timeoutMs: 300_000 };
  const venue = await startVenue(folder, { file: { roots: { docs }, limits }, jobs: { inlineWaitMs: 4000 } });
  await read(venue, { path: "0.txt", length: 1000, localAddress: "127.0.0.1" });
  const before = memoryOf(venue.pid).now;
  const all = Array.from({ length: reads }, (_, index) =>
    read(venue, { path: `${index}.txt`, localAddress: `127.0.0.${2 + (index % senders)}`, expected: bytes }),
  );
  await Promise.all(all);
  const { peak } = memoryOf(venue.pid);
  await venue.stop();
  return { reads, bytes, senders, before, peak, growth: peak - before };
}

function read({ url }, { path, length, localAddress, expected }) {
  const input = { root: "docs", path, mode: "text", ...(length === undefined ? {} : { offset: 0, length }) };
  const body = JSON.stringify({ operation: "file:read", input, wait: true, private: true });
  return new Promise((resolve, reject) => {
    const headers = { "content-type": "application/json", "content-length": Buffer.byteLength(body) };
    const asked = request(new URL("/api/v1/invoke", url.replace("localhost", "127.0.0.1")), {
      ...{ method: "POST", headers, localAddress, agent: false },
    });
    asked.once("error", reject).once("response", (response) => {
      let got = 0;
      let tail = "";
      response.on("data", (chunk) => {
        got += chunk.length;
        tail = (tail + chunk.toString("latin1")).slice(-200);
      });
      response.once("end", () => {
        const isWhole = response.statusCode === 201 && (expected === undefined || got > expected);
        if (isWhole) resolve();
        else reject(new Error(`Wrong answer: ${response.statusCode}, ${got} bytes, ${tail}`));
      });
    });
    asked.end(body);
  });
}

/** Growth of the peak of `venue-files mcp` while a client asks for much and reads nothing, and then all of it. */
export async function measureStdioReads(folder, { reads, bytes }) {
  const docs = makeFiles(folder, { files: 8, bytes });
  const config = join(folder, "venue.json5");
  const limits = { maxReadBytes: Math.max(bytes, 8_388_608) };
  writeFileSync(
    config,
    JSON.stringify({
      stateDir: join(folder, "state"),
      mcp: { maxReadBytes: limits.maxReadBytes },
      file: { roots: { docs }, limits },
    }),
  );
  const child = spawn(process.execPath, [CLI, "mcp", "--config", config], { stdio: ["pipe", "pipe", "inherit"] });
  adopt(child.pid);
  const send = (message) => child.stdin.write(`${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`);
  const call = (id, args) =>
    send({ id, method: "tools/call", params: { name: "file_read", arguments: { root: "docs", ...args } } });
  const answers = linesOf(child.stdout);
  const clientInfo = { name: "bench", version: "1" };
  send({ id: "i", method: "initialize", params: { protocolVersion: "2025-06-18", capabilities: {}, clientInfo } });
  await answers.next();
  send({ method: "notifications/initialized" });
  call("w", { path: "0.txt", offset: 0, length: 1000 });
  await answers.next();
  const before = memoryOf(child.pid).now;
  for (let id = 0; id < reads; id += 1) call(id, { path: `${id % 8}.txt`, mode: "text", maxBytes: bytes });
  await sleep(STALLED_MS);
  const stalled = memoryOf(child.pid).peak - before;
  for (let id = 0; id < reads; id += 1) {
    const { value } = await answers.next();
    if (value < bytes) throw new Error(`Wrong answer of ${value} bytes`);
  }
  const { peak } = memoryOf(child.pid);
  child.stdin.end();
  await once(child, "exit");
  disown(child.pid);
  return { reads, bytes, before, stalled, growth: peak - before };
}

/** Lengths of the lines of a stream, read only when they are asked for. */
async function* linesOf(stream) {
  let length = 0;
  for await (const chunk of stream) {
    let start = 0;
    for (let end = chunk.indexOf(10); end >= 0; end = chunk.indexOf(10, start)) {
      yield length + end - start;
      length = 0;
      start = end + 1;
    }
    length += chunk.length - start;
  }
}
