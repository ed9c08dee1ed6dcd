#!/usr/bin/env node
// A tool of a profile next to the operation that it is mapped onto, and a read over the Agent Client Protocol next to the same read
// and an empty round trip of its SDK; in the library, in processor time, which neighbours on the machine do not change much.
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { agent, client, ndJsonStream } from "@agentclientprotocol/sdk";
import { createFileAdapter, createProfile } from "venue-files";
import { AcpClientFs } from "venue-files/acp";
import { expectThat } from "./expect.mjs";
import { runBench, shown } from "./harness.mjs";
import { temporaryDirectory } from "./lifetime.mjs";
import { connectBoth } from "./rows/acp-tools.mjs";
import { inTurns, median, ratios, spent, timed } from "./timing.mjs";

const MOST = 1.25;
const MOST_ACP = 1.3;
/** Lines are numbered, and an answer has the hash of its file. */
const MOST_WINDOW = 1.3;
const MOST_TOOL = 1.5;
const CONTENT = "A line of text.\n".repeat(256);

const base = temporaryDirectory();
mkdirSync(join(base, "ws/dir"), { recursive: true });
const edited = `one\n${CONTENT}`;
const texts = { tiny: CONTENT.slice(0, 1024), small: CONTENT, medium: CONTENT.repeat(16), edited, "edited-2": edited };
for (const [name, text] of Object.entries(texts)) writeFileSync(join(base, "ws", name), text);
for (let index = 0; index < 20; index++) writeFileSync(join(base, `ws/dir/f${index}`), "x");
const files = await createFileAdapter({ roots: { r: { path: base, durability: "none" } } });
const profile = (name, more = {}) => createProfile(files, { profile: name, root: "r", prefix: "ws", ...more });
const [jettson, everruns] = [profile("jettson"), profile("everruns")];
const everruns050 = profile("everruns", { variant: "0.50" });
const call = (tool, args) => jettson.call(`jettson_files_${tool}`, args);
const session = (tool, args) => everruns.call(tool, args);
const core = (name, input) => files.invoke(`file:${name}`, { root: "r", ...input });

const range = { encoding: "utf-8", offset: 0, length: 1_048_576 };
const writeCore = () => core("write", { path: "ws/v", content: CONTENT, parents: true });

/** One way, and back, for each file. */
function replacements() {
  let turns = 0;
  return () => (turns++ % 2 === 0 ? ["one", "two"] : ["two", "one"]);
}
const [ofTool, ofOperation] = [replacements(), replacements()];
let seen = await session("read_file", { path: "edited" });

async function editByTool() {
  const [old_text, new_text] = ofTool();
  seen = await session("edit_file", { path: "edited", expected_hash: seen.content_hash, old_text, new_text });
  if (seen.error !== undefined) throw new Error(seen.error);
}

function editByOperation() {
  const [oldText, newText] = ofOperation();
  return core("edit", { path: "ws/edited-2", oldText, newText });
}

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

const acp = new AcpClientFs({ adapter: files, mounts: [{ root: "r", prefix: base }] });
const app = acp.app();
await acp.addSession(app, "s", { cwd: base });
const served = connect(app);

/** The empty round trip sends back as much: what is compared is the file system, not the length of a line of JSON. */
async function readOverAcp(name) {
  const params = { sessionId: "s", path: join(base, "ws", name) };
  const { content } = await core("read", { path: `ws/${name}` });
  const empty = connect(client({ name: "empty" }).onRequest("fs/read_text_file", () => ({ content })));
  const read = () => served.request("fs/read_text_file", params);
  expectThat((await read()).content === content, "the answer is wrong");
  const apart = async () => {
    await core("read", { path: `ws/${name}` });
    await empty.request("fs/read_text_file", params);
  };
  return [500, read, apart, MOST_ACP];
}

const tools = await connectBoth(base);
/** In other processes too: by the clock. */
const byTool = (name, args) => [300, ...tools.both(name, args), MOST_TOOL, timed];

/** By name: calls of a round, the tool, the operation, and the most that the tool may take of it. */
const PAIRS = {
  "ACP: file_read 1 KB, over stdio": byTool("file_read", { path: "ws/tiny" }),
  "ACP: file_read 64 KB, over stdio": byTool("file_read", { path: "ws/medium" }),
  "ACP: file_list, over stdio": byTool("file_list", { path: "ws/dir" }),
  "ACP: file_write 1 KB, over stdio": byTool("file_write", { path: "ws/t", content: texts.tiny }),
  "ACP: read 1 KB": await readOverAcp("tiny"),
  "ACP: read 64 KB": await readOverAcp("medium"),
  "read 4 KB": [1000, () => call("read", { path: "small" }), () => core("read", { path: "ws/small", ...range })],
  "read 64 KB": [500, () => call("read", { path: "medium" }), () => core("read", { path: "ws/medium", ...range })],
  "write 4 KB": [200, () => call("write", { path: "w", content: CONTENT }), writeCore],
  "list 20 entries": [500, () => call("list", { path: "dir" }), () => core("list", { path: "ws/dir", limit: 10_000 })],
  "everruns: read 4 KB": [
    1000,
    () => session("read_file", { path: "small" }),
    () => core("read", { path: "ws/small" }),
  ],
  "everruns 0.50: read 1 KB": [
    1000,
    () => everruns050.call("read_file", { path: "tiny" }),
    () => core("read", { path: "ws/tiny" }),
    MOST_WINDOW,
  ],
  "everruns: stat": [1000, () => session("stat_file", { path: "small" }), () => core("stat", { path: "ws/small" })],
  "everruns: write 4 KB": [200, () => session("write_file", { path: "w", content: CONTENT }), writeCore],
  "everruns: edit 4 KB": [200, editByTool, editByOperation],
};

async function measurePair({ quick, row }, what, [calls, tool, operation, most = MOST, timing = spent]) {
  const many = (work) => () =>
    timing(async () => {
      for (let index = 0; index < calls; index++) await work();
    });
  const forms = { tool: many(tool), operation: many(operation) };
  await inTurns(1, forms);
  const found = await inTurns(quick ? 5 : 61, forms);
  const us = (values) => shown((median(values) / calls) * 1e3, "µs");
  const beside = `${us(found.tool)}, the operation ${us(found.operation)}`;
  row({ what, value: median(ratios(found.tool, found.operation)), unit: "x", beside, most });
}

await runBench(
  Object.entries(PAIRS).map(([name, pair]) => ({ name, run: (context) => measurePair(context, name, pair) })),
);
await tools.close();
