#!/usr/bin/env node
// What a read costs through the Agent Client Protocol, beside the same read in the library and the SDK's own round trip with
// a handler that does nothing. Round by round, each in turn, so that whatever else happens on the machine hits all alike.
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { agent, client, ndJsonStream } from "@agentclientprotocol/sdk";
import { createFileAdapter } from "venue-files";
import { AcpClientFs } from "venue-files/acp";
import { describeMachine } from "./machine.mjs";

const { values } = parseArgs({ options: { quick: { type: "boolean", default: false } } });
const [ROUNDS, CALLS] = values.quick ? [11, 50] : [61, 100];
const WARMUP = 20;
const TARGET = 1.3;
const SIZES = [
  ["1 KB", 1024],
  ["64 KB", 65_536],
];

/** Connects a client app with an agent by lines of JSON, without processes between them. @returns the agent's side */
function connect(app) {
  const [there, back] = [new TransformStream(), new TransformStream()];
  let side;
  agent({ name: "bench" })
    .onConnect((connection) => {
      side = connection.client;
    })
    .connect(ndJsonStream(there.writable, back.readable));
  app.connect(ndJsonStream(back.writable, there.readable));
  return side;
}

const median = (numbers) => numbers.toSorted((a, b) => a - b)[Math.floor(numbers.length / 2)];

async function timed(call) {
  const samples = [];
  for (let count = 0; count < CALLS; count++) {
    const start = process.hrtime.bigint();
    await call();
    samples.push(Number(process.hrtime.bigint() - start) / 1e3);
  }
  return median(samples);
}

async function measure(subjects) {
  const rounds = Object.fromEntries(Object.keys(subjects).map((name) => [name, []]));
  // Until what is called often has been compiled.
  for (let round = 0; round < WARMUP; round++) for (const call of Object.values(subjects)) await timed(call);
  for (let round = 0; round < ROUNDS; round++) {
    for (const [name, call] of Object.entries(subjects)) rounds[name].push(await timed(call));
  }
  const ratios = rounds.acp.map((acp, round) => acp / (rounds.library[round] + rounds.nothing[round]));
  const medians = Object.fromEntries(Object.entries(rounds).map(([name, own]) => [name, median(own)]));
  return { ...medians, ratio: median(ratios) };
}

const dir = await mkdtemp(join(tmpdir(), "venue-files-bench-acp-"));
const files = await createFileAdapter({ roots: { docs: { path: dir } } });
const acp = new AcpClientFs({ adapter: files, mounts: [{ root: "docs", prefix: dir }] });
const app = acp.app();
await acp.addSession(app, "s", { cwd: dir });
const served = connect(app);
let failed = false;

console.log(JSON.stringify(describeMachine(dir)));
for (const [name, size] of SIZES) {
  const path = `${size}.txt`;
  const content = "a line of some forty characters, or so.\n".repeat(size / 40 + 1).slice(0, size);
  await writeFile(join(dir, path), content);
  const input = { root: "docs", path };
  const params = { sessionId: "s", path: join(dir, path) };
  // It sends back as much: what is compared is the file system, not the length of a line of JSON.
  const idle = connect(client({ name: "idle" }).onRequest("fs/read_text_file", () => ({ content })));
  const subjects = {
    library: () => files.invoke("file:read", input),
    nothing: () => idle.request("fs/read_text_file", params),
    acp: () => served.request("fs/read_text_file", params),
  };
  if ((await subjects.acp()).content !== content) throw new Error("the answer is wrong");
  const { library, nothing, acp: through, ratio } = await measure(subjects);
  const isMet = ratio <= TARGET;
  failed ||= !isMet;
  const parts = `library ${library.toFixed(0)} µs + nothing ${nothing.toFixed(0)} µs, through ACP ${through.toFixed(0)} µs`;
  console.log(`${name}: ${parts}: ${ratio.toFixed(2)}x (at most ${TARGET}) ${isMet ? "ok" : "MISSED"}`);
}
await files.close();
await rm(dir, { recursive: true });
process.exitCode = failed ? 1 : 0;
