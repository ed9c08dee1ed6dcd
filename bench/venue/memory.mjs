// Memory that large answers and streams take.
import { createHash } from "node:crypto";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { connectRaw } from "../clients.mjs";
import { expectEqual, expectThat } from "../expect.mjs";
import { shown } from "../harness.mjs";
import { JSON_TYPE, send, sendJson } from "../http.mjs";
import { temporaryDirectory } from "../lifetime.mjs";
import { memoryOf } from "../machine.mjs";
import { CLI, startVenue } from "../processes.mjs";
import { growthWhile, timed } from "../timing.mjs";

const MB = 1e6;
const CHUNK = Buffer.alloc(1 << 20, "venue-files ");
const READ_BYTES = 8_388_608;
const STDIO_READS = 80;
/** For how long a client that reads nothing is watched. */
const STALLED_MS = 5000;

export const memoryParts = [
  { name: "memory of streams", run: measureStreaming },
  {
    name: "memory of 64 reads of 8 MiB",
    run: (context) => measureReads(context, { reads: 64, bytes: READ_BYTES, senders: 8, most: 537 }),
  },
  {
    name: "memory of 16 reads of 50 MB",
    run: (context) => measureReads(context, { reads: 16, bytes: 50_000_000, senders: 16, most: 500 }),
  },
  { name: "memory of reads over stdio", run: measureStdioReads },
];

const invoke = (venue, operation, input) =>
  // Private: who reads a large file in pieces wants no record of each; records are kept up to jobs.maxBytes, 64 MiB.
  sendJson(venue, "POST", "/api/v1/invoke", { operation: `file:${operation}`, input, wait: true, private: true });

/** An asset goes up, into a root, and comes back by ranges. */
async function measureStreaming({ quick, row }) {
  const chunks = quick ? 128 : 1024;
  const bytes = chunks * CHUNK.length;
  const venue = await startVenue({
    maxContentSize: bytes,
    assets: { maxTotalBytes: bytes + CHUNK.length },
    storage: { content: "file", path: join(temporaryDirectory(), "assets") },
    file: { roots: { tmp: { temp: true, quota: {} } }, limits: { timeoutMs: 300_000 } },
  });
  const hash = createHash("sha256");
  for (let index = 0; index < chunks; index++) hash.update(CHUNK);
  // Everything is loaded and warm before the first sample.
  await invoke(venue, "write", { root: "tmp", path: "warm.txt", content: "x".repeat(100_000) });
  await invoke(venue, "read", { root: "tmp", path: "warm.txt" });
  const content = { sha256: hash.digest("hex") };
  const id = await sendJson(venue, "POST", "/api/v1/assets", { name: "big", content });
  const { result: seconds, growth } = await growthWhile(venue.rssBytes, async () => {
    const upload = await timed(() => uploadTo(venue, `/api/v1/assets/${id}/content`, chunks));
    const write = await timed(async () => {
      const { output } = await invoke(venue, "write", { root: "tmp", path: "big.bin", asset: id });
      expectEqual(output?.written, bytes, "written");
    });
    const read = await timed(async () => {
      for (let offset = 0; offset < bytes; offset += CHUNK.length) {
        const range = { mode: "bytes", offset, length: CHUNK.length };
        const { output } = await invoke(venue, "read", { root: "tmp", path: "big.bin", ...range });
        expectEqual(output?.length, CHUNK.length, "read");
      }
    });
    return Object.entries({ upload, write, read }).map(([name, ms]) => `${name} ${shown(ms / 1000, "s")}`);
  });
  await venue.stop();
  const what = `${chunks} MiB up, into a root, back by ranges: growth of memory`;
  row({ what, value: growth / MB, unit: "MB", beside: seconds.join(", "), most: 100 });
}

function uploadTo({ url, token }, path, chunks) {
  const headers = { authorization: `Bearer ${token}`, "content-length": chunks * CHUNK.length };
  const body = (sending) => {
    let left = chunks;
    const pump = () => {
      while (left-- > 0) if (!sending.write(CHUNK)) return sending.once("drain", pump);
      return sending.end();
    };
    pump();
  };
  return send(`${url}${path}`, { method: "PUT", headers, body, allowed: [200] });
}

/** Large files to be read, each of its own text. */
function makeFiles({ files, bytes }) {
  const docs = temporaryDirectory();
  for (let index = 0; index < files; index++) {
    const line = `${index} line of text\n`;
    writeFileSync(join(docs, `${index}.txt`), line.repeat(Math.ceil(bytes / line.length)).slice(0, bytes));
  }
  return docs;
}

/** Many reads at once over HTTP; `senders` of them have an address of their own. */
async function measureReads({ row }, { reads, bytes, senders, most }) {
  const docs = makeFiles({ files: reads, bytes });
  const limits = { maxReadBytes: Math.max(bytes, READ_BYTES), timeoutMs: 300_000 };
  const venue = await startVenue({ file: { roots: { docs }, limits }, jobs: { inlineWaitMs: 4000 } });
  const url = `http://127.0.0.1:${new URL(venue.url).port}/api/v1/invoke`;
  const read = async (index, fields) => {
    const input = { root: "docs", path: `${index}.txt`, mode: "text", ...fields };
    const body = JSON.stringify({ operation: "file:read", input, wait: true, private: true });
    const localAddress = `127.0.0.${2 + (index % senders)}`;
    return send(url, { body, headers: JSON_TYPE, localAddress, agent: false, allowed: [201] });
  };
  await read(0, { offset: 0, length: 1000 });
  const before = memoryOf(venue.pid).now;
  const answers = await Promise.all(Array.from({ length: reads }, (_, index) => read(index)));
  for (const answer of answers) expectThat(answer.bytes > bytes, `Wrong answer of ${answer.bytes} bytes`);
  const growth = memoryOf(venue.pid).peak - before;
  await venue.stop();
  const size = bytes === READ_BYTES ? "8 MiB" : shown(bytes / MB, "MB");
  const what = `${reads} reads of ${size} at once, ${senders} senders: growth of memory`;
  row({ what, value: growth / MB, unit: "MB", beside: `${shown(before / MB, "MB")} before`, most });
}

/** `venue-files mcp` while a client asks for much and reads nothing, and then all of it. */
async function measureStdioReads({ row }) {
  const folder = temporaryDirectory();
  const docs = makeFiles({ files: 8, bytes: READ_BYTES });
  const config = join(folder, "venue.json5");
  const limits = { maxReadBytes: READ_BYTES };
  const file = { roots: { docs }, limits };
  writeFileSync(config, JSON.stringify({ stateDir: join(folder, "state"), mcp: limits, file }));
  const server = await connectRaw([CLI, "mcp", "--config", config]);
  const read = (index, fields) => server.tool("file_read", { root: "docs", path: `${index % 8}.txt`, ...fields });
  await read(0, { offset: 0, length: 1000 });
  const before = memoryOf(server.pid).now;
  server.child.stdout.pause();
  const fields = { mode: "text", maxBytes: READ_BYTES };
  const lengthOf = ({ content }) => content[0].text.length;
  const answers = Array.from({ length: STDIO_READS }, (_, index) => read(index, fields).then(lengthOf));
  await sleep(STALLED_MS);
  const stalled = memoryOf(server.pid).peak - before;
  server.child.stdout.resume();
  for (const length of await Promise.all(answers)) expectEqual(length, READ_BYTES, "read");
  const growth = memoryOf(server.pid).peak - before;
  await server.close();
  const beside = `${shown(growth / MB, "MB")} once all were taken`;
  const what = `${STDIO_READS} reads of 8 MiB over MCP on stdio, nothing taken for 5 s: growth of memory`;
  row({ what, value: stalled / MB, unit: "MB", beside, most: 100 });
}
