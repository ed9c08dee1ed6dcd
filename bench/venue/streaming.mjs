import { createHash } from "node:crypto";
import { request } from "node:http";
import { join } from "node:path";
import { startVenue } from "./process.mjs";

const CHUNK = Buffer.alloc(1 << 20, "venue-files ");
const READ_BYTES = 1024 * 1024;
const SAMPLE_MS = 50;

/** Peak growth of resident memory while an asset goes up, into a root, and comes back by ranges. */
export async function measureStreaming(folder, { bytes }) {
  const venue = await startVenue(folder, {
    maxContentSize: bytes,
    assets: { maxTotalBytes: bytes + (1 << 20) },
    storage: { content: "file", path: join(folder, "assets") },
    file: { roots: { tmp: { temp: true, quota: {} } }, limits: { timeoutMs: 300_000 } },
  });
  const chunks = bytes / CHUNK.length;
  const hash = createHash("sha256");
  for (let index = 0; index < chunks; index += 1) hash.update(CHUNK);
  const sha256 = hash.digest("hex");
  const invoke = (operation, input) =>
    // Private: who reads a large file in pieces wants no record of each; records are kept up to jobs.maxBytes, 64 MiB.
    json(venue, "POST", "/api/v1/invoke", { operation: `file:${operation}`, input, wait: true, private: true });
  // Everything is loaded and warm before the first sample.
  await invoke("write", { root: "tmp", path: "warm.txt", content: "x".repeat(100_000) });
  await invoke("read", { root: "tmp", path: "warm.txt" });
  const id = await json(venue, "POST", "/api/v1/assets", { name: "big", content: { sha256 } });
  const before = venue.rssBytes();
  let peak = before;
  const timer = setInterval(() => {
    peak = Math.max(peak, venue.rssBytes());
  }, SAMPLE_MS);
  const seconds = {};
  const timed = async (name, work) => {
    const startedMs = performance.now();
    await work();
    seconds[name] = (performance.now() - startedMs) / 1000;
  };
  await timed("upload", () => upload(venue, `/api/v1/assets/${id}/content`, chunks));
  await timed("write", async () => {
    const job = await invoke("write", { root: "tmp", path: "big.bin", asset: id });
    if (job.output?.written !== bytes) throw new Error(`Wrong answer: ${JSON.stringify(job)}`);
  });
  await timed("read", async () => {
    for (let offset = 0; offset < bytes; offset += READ_BYTES) {
      const input = { root: "tmp", path: "big.bin", mode: "bytes", offset, length: READ_BYTES };
      const { output } = await invoke("read", input);
      if (output?.length !== READ_BYTES) throw new Error(`Wrong answer at ${offset}`);
    }
  });
  clearInterval(timer);
  await venue.stop();
  return { bytes, seconds, before, peak, growth: peak - before };
}

async function json({ url, token }, method, path, body) {
  const response = await fetch(url + path, {
    method,
    headers: { "content-type": "application/json", authorization: `Bearer ${token}` },
    body: JSON.stringify(body),
  });
  return response.json();
}

function upload({ url, token }, path, chunks) {
  return new Promise((resolve, reject) => {
    const sending = request(
      `${url}${path}`,
      { method: "PUT", headers: { authorization: `Bearer ${token}`, "content-length": chunks * CHUNK.length } },
      (response) => {
        response.resume();
        if (response.statusCode === 200) response.once("end", resolve);
        else reject(new Error(`Upload answered ${response.statusCode}`));
      },
    ).once("error", reject);
    let left = chunks;
    const pump = () => {
      while (left > 0) {
        left -= 1;
        if (!sending.write(CHUNK)) return sending.once("drain", pump);
      }
      sending.end();
    };
    pump();
  });
}
