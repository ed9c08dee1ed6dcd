#!/usr/bin/env node
// A tool of a profile next to the operation that it is mapped onto, and a read over the Agent Client Protocol next to the same read
// and an empty round trip of its SDK; in the library, in processor time, which neighbours on the machine do not change much.
import { join } from "node:path";
import { agent, client, ndJsonStream } from "@agentclientprotocol/sdk";
import { createFileAdapter, createProfile } from "venue-files";
import { AcpClientFs } from "venue-files/acp";
import { compare } from "./compare.mjs";
import { expectThat } from "./expect.mjs";
import { runBench } from "./harness.mjs";
import { filesOf, temporaryDirectory } from "./lifetime.mjs";

const MOST = 1.25;
const MOST_ACP = 1.3;
/** Lines are numbered, and an answer has the hash of its file. */
const MOST_WINDOW = 1.3;
const CONTENT = "A line of text.\n".repeat(256);

const base = temporaryDirectory({
  ...{ "ws/tiny": CONTENT.slice(0, 1024), "ws/small": CONTENT, "ws/medium": CONTENT.repeat(16) },
  ...filesOf(20, (index) => `ws/dir/f${index}`, "x"),
});
const files = await createFileAdapter({ roots: { r: { path: base, durability: "none" } } });
const profile = (name, more = {}) => createProfile(files, { profile: name, root: "r", prefix: "ws", ...more });
const [jettson, everruns] = [profile("jettson"), profile("everruns")];
const everruns050 = profile("everruns", { variant: "0.50" });
const call = (tool, args) => jettson.call(`jettson_files_${tool}`, args);
const session = (tool, args) => everruns.call(tool, args);
const core = (name, input) => files.invoke(`file:${name}`, { root: "r", ...input });

const range = { encoding: "utf-8", offset: 0, length: 1_048_576 };
const writeCore = () => core("write", { path: "ws/v", content: CONTENT, parents: true });

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

/** By name: calls of a round, the tool, the operation, and the most that the tool may take of it. */
const PAIRS = {
  "ACP: read 1 KB": await readOverAcp("tiny"),
  "ACP: read 64 KB": await readOverAcp("medium"),
  "read 4 KB": [1000, () => call("read", { path: "small" }), () => core("read", { path: "ws/small", ...range })],
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
};

await runBench(
  Object.entries(PAIRS).map(([name, [calls, tool, operation, most = MOST]]) => ({
    name,
    run: (context) =>
      compare(context, {
        ...{ what: name, most, rounds: 61, calls, by: "processor" },
        forms: [{ run: tool }, { run: operation }],
      }),
  })),
);
