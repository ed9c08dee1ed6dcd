import { once } from "node:events";
import { mkdirSync, writeFileSync } from "node:fs";
import { Agent, request } from "node:http";
import { connect } from "node:net";
import { join } from "node:path";
import { performance } from "node:perf_hooks";
import { startVenue } from "./process.mjs";

const CALL = JSON.stringify({ operation: "v/ops/file/stat", input: { root: "docs", path: "a.txt" } });
const HEADERS = { "content-type": "application/json", "content-length": Buffer.byteLength(CALL) };
/** As large as a body may be, and more of them than fit the memory of the venue. */
const ANNOUNCED = 16_777_216;

/**
 * Latency of ordinary calls at a steady rate, alone and beside connections that announce large bodies and send nothing.
 * Rounds of both alternate. Idle ones that the venue ends are opened again at once.
 */
export async function measureIdleBodies(folder, { rounds, seconds, perSecond, idle }) {
  const docs = join(folder, "docs");
  mkdirSync(docs);
  writeFileSync(join(docs, "a.txt"), "alpha");
  const venue = await startVenue(folder, { file: { roots: { docs } } });
  const { port } = new URL(venue.url);
  await steady(port, { seconds: Math.max(2, seconds / 2), perSecond });
  const alone = [];
  const beside = [];
  for (let round = 0; round < rounds; round += 1) {
    alone.push(await steady(port, { seconds, perSecond }));
    const crowd = await openIdle(port, idle);
    beside.push(await steady(port, { seconds, perSecond }));
    crowd.close();
  }
  await venue.stop();
  const p99 = (runs) => middleOf(runs.map(({ p99Ms }) => p99Ms));
  return {
    ...{ idle, perSecond, calls: rounds * seconds * perSecond },
    refused: beside.reduce((sum, run) => sum + run.refused, 0),
    alone: p99(alone),
    beside: p99(beside),
    ratio: middleOf(beside.map(({ p99Ms }, round) => p99Ms / alone[round].p99Ms)),
  };
}

/** Calls begun at fixed times, whether those before have ended or not. */
async function steady(port, { seconds, perSecond }) {
  const agent = new Agent({ keepAlive: true });
  const times = [];
  let refused = 0;
  const started = performance.now();
  const calls = [];
  for (let count = 0; count < seconds * perSecond; count += 1) {
    const due = started + (count * 1000) / perSecond;
    const early = due - performance.now();
    if (early > 0) await new Promise((resolve) => setTimeout(resolve, early));
    const begun = performance.now();
    calls.push(
      call(port, agent).then((status) => {
        if (status !== 201) refused += 1;
        times.push(performance.now() - begun);
      }),
    );
  }
  await Promise.all(calls);
  agent.destroy();
  times.sort((a, b) => a - b);
  return { refused, p50Ms: times[Math.floor(times.length / 2)], p99Ms: times[Math.floor(times.length * 0.99)] };
}

function call(port, agent) {
  return new Promise((resolve, reject) => {
    const asked = request({ host: "127.0.0.1", port, path: "/api/v1/invoke", method: "POST", headers: HEADERS, agent });
    asked.once("error", reject).once("response", (response) => {
      response.resume().once("end", () => resolve(response.statusCode));
    });
    asked.end(CALL);
  });
}

async function openIdle(port, count) {
  const open = new Set();
  let isOpen = true;
  const add = async (index) => {
    const socket = connect(port, "127.0.0.1").on("error", () => {});
    open.add(socket);
    socket.once("close", () => {
      open.delete(socket);
      if (isOpen) void add(index);
    });
    const length = index % 2 === 0 ? `Content-Length: ${ANNOUNCED}` : "Transfer-Encoding: chunked";
    await once(socket, "connect");
    socket.resume();
    socket.write(
      `POST /api/v1/invoke HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n${length}\r\n\r\n`,
    );
  };
  await Promise.all(Array.from({ length: count }, (_, index) => add(index)));
  return {
    close() {
      isOpen = false;
      for (const socket of open) socket.destroy();
    },
  };
}

const middleOf = (values) => [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)];
