#!/usr/bin/env node
// Object storage for drives: time and requests of 100 MiB in and out, and of a listing.
import { randomBytes } from "node:crypto";
import { openObjectStore } from "../dist/drive/store/s3/object-store.js";
import { log, openDrives } from "./drive-stores.mjs";
import { expectEqual } from "./expect.mjs";
import { runBench } from "./harness.mjs";
import { temporaryDirectory } from "./lifetime.mjs";
import { median, timed } from "./timing.mjs";

const { S3_TEST_ENDPOINT: endpoint, S3_TEST_BUCKET: bucket = "drives", AWS_REGION: region = "us-east-1" } = process.env;
const { AWS_ACCESS_KEY_ID: accessKeyId = "", AWS_SECRET_ACCESS_KEY: secretAccessKey = "" } = process.env;
if (endpoint === undefined) throw new Error("S3_TEST_ENDPOINT names no server: npm run bench:drive-s3 starts one");

const BYTES = 100 * 2 ** 20;
const PIECE = 4 * 2 ** 20;
const NAMES = Array.from({ length: 10_000 }, (_, at) => `file-${String(at).padStart(5, "0")}`);
const credentials = { accessKeyId, secretAccessKey };

let requests = 0;
const plainFetch = globalThis.fetch;
globalThis.fetch = (...all) => {
  requests += 1;
  return plainFetch(...all);
};

/** Work on drives of a process with an empty cache. */
async function withDrives(prefix, work) {
  const options = { bucket, endpoint, region, credentials, prefix, cachePath: temporaryDirectory(), log };
  const store = await openObjectStore(options);
  const drives = openDrives(store);
  const result = await work(drives.owner);
  await drives.close();
  await store.close();
  return result;
}

async function counted(work) {
  const before = requests;
  return { ms: await timed(work), requests: requests - before };
}

async function measureRound(round) {
  const content = randomBytes(BYTES);
  const prefix = `bench-${Date.now()}-${round}`;
  const write = await withDrives(prefix, async (owner) => {
    const write = await counted(() => owner.change("bench", (draft) => draft.writeFile(["large"], content)));
    await owner.change("list", async (draft) => {
      for (const name of NAMES) await draft.writeFile([name], Buffer.from(name.repeat(8)));
    });
    return write;
  });
  const read = await withDrives(prefix, (owner) =>
    counted(async () => {
      const snapshot = await owner.read("bench");
      let bytes = 0;
      for (let at = 0; at < BYTES; at += PIECE) bytes += (await snapshot.readFile(["large"], at, PIECE)).bytes.length;
      snapshot.release();
      expectEqual(bytes, BYTES, "Bytes that were read");
    }),
  );
  const list = await withDrives(prefix, (owner) =>
    counted(async () => {
      const snapshot = await owner.read("list");
      expectEqual((await snapshot.entries([])).length, NAMES.length, "Entries");
      snapshot.release();
    }),
  );
  return { write, read, list };
}

async function measureObjects({ quick, row }) {
  const rounds = [];
  for (let round = 0; round < (quick ? 1 : 3); round++) rounds.push(await measureRound(round));
  const of = (name, field) => median(rounds.map((one) => one[name][field]));
  const line = (what, name, most) => {
    row({ what, value: of(name, "ms") / 1000, unit: "s" });
    row({ what: "… requests", value: of(name, "requests"), unit: "", most });
  };
  line("100 MiB into a drive", "write", 20);
  line("100 MiB out of a drive, nothing cached", "read");
  line("listing of 10,000 files, nothing cached", "list", 100);
}

await runBench([{ name: "objects", run: measureObjects }]);
