// Requests over HTTP whose cost could depend on what a venue keeps.

import { createHash } from "node:crypto";
import { mkdirSync, writeFileSync } from "node:fs";
import { Agent, request } from "node:http";
import { join } from "node:path";
import { expectEqual } from "../expect.mjs";
import { temporaryDirectory } from "../lifetime.mjs";
import { startVenue } from "../venue/process.mjs";

const JSON_TYPE = { "content-type": "application/json" };
const STAT = { operation: "v/ops/file/stat", input: { root: "docs", path: "a.txt" } };

export const venueSubjects = () => [
  { what: "stat by invoke, so many jobs kept", sizes: [100, 1_000, 10_000], isLookUp: true, open: onJobs },
  { what: "stat by invoke, so many static tokens", sizes: [10, 100, 1_000], isLookUp: true, open: onTokens },
  { what: "stat by invoke, so many revocations", sizes: [100, 1_000, 10_000], isLookUp: true, open: onRevocations },
];

async function openVenue(more, prepare = () => {}) {
  const folder = temporaryDirectory();
  const docs = join(folder, "docs");
  mkdirSync(docs);
  writeFileSync(join(docs, "a.txt"), "alpha");
  prepare(folder);
  const venue = await startVenue(folder, { file: { roots: { docs } }, ...more(folder) });
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  const post = (body, headers = {}) => send(`${venue.url}/api/v1/invoke`, { agent, body, headers });
  const stat = async (headers, fields = {}) => {
    const { status, output } = await post({ ...STAT, ...fields }, headers);
    expectEqual([status, output?.size], ["COMPLETE", 5], "stat");
  };
  return {
    stat,
    cpuUs: () => venue.loopCpuMs() * 1e3,
    async close() {
      agent.destroy();
      await venue.stop();
    },
  };
}

function send(url, { agent, body, headers }) {
  return new Promise((resolve, reject) => {
    const asked = request(url, { method: "POST", agent, headers: { ...JSON_TYPE, ...headers } }, (response) => {
      let text = "";
      response.setEncoding("utf8");
      response.on("data", (piece) => {
        text += piece;
      });
      response.once("end", () => resolve(JSON.parse(text)));
    });
    asked.once("error", reject);
    asked.end(JSON.stringify(body));
  });
}

async function onJobs(size) {
  const venue = await openVenue(() => ({ jobs: { max: size + 1 } }));
  for (let index = 0; index < size; index++) await venue.stat();
  // The next ones are not kept, so that their number stays.
  return { ...venue, call: () => venue.stat({}, { private: true }) };
}

async function onTokens(size) {
  const tokenOf = (index) => `token-of-the-growth-bench-number-${String(index).padStart(8, "0")}`;
  const caps = [{ with: "file://docs/", can: "crud" }];
  const tokens = Array.from({ length: size }, (_, index) => {
    const sha256 = createHash("sha256").update(tokenOf(index)).digest("hex");
    return { name: `t${index}`, token: { sha256 }, caps };
  });
  const venue = await openVenue(() => ({ auth: { tokens } }));
  return {
    ...venue,
    call: (index) => venue.stat({ authorization: `Bearer ${tokenOf((index * 7) % size)}` }),
  };
}

async function onRevocations(size) {
  const lines = Array.from({ length: size }, (_, index) => `did:key:z6Mkrevoked${index}\n`);
  const venue = await openVenue(
    (folder) => ({ auth: { ucan: { revocations: join(folder, "revoked") } } }),
    (folder) => writeFileSync(join(folder, "revoked"), lines.join("")),
  );
  return { ...venue, call: () => venue.stat() };
}
