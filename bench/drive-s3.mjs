#!/usr/bin/env node
// Object storage for drives: 100 MiB in and out through the engine, next to plain PutObject and GetObject of the same bytes.
import { randomBytes } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { AwsClient } from "aws4fetch";
import { createDriveEngine } from "../dist/drive/engine/engine.js";
import { createOwnerKeys } from "../dist/drive/keys/owner-keys.js";
import { openObjectStore } from "../dist/drive/store/s3/open-object-store.js";
import { expectEqual } from "./expect.mjs";
import { describeMachine } from "./machine.mjs";
import { median } from "./measure.mjs";

const { S3_TEST_ENDPOINT: endpoint, S3_TEST_BUCKET: bucket = "drives", AWS_REGION: region = "us-east-1" } = process.env;
const { AWS_ACCESS_KEY_ID: accessKeyId = "", AWS_SECRET_ACCESS_KEY: secretAccessKey = "" } = process.env;
if (endpoint === undefined) throw new Error("S3_TEST_ENDPOINT names no server: npm run bench:drive-s3 starts one");

const ROUNDS = 3;
const BYTES = 100 * 2 ** 20;
const PIECE = 4 * 2 ** 20;
const credentials = { accessKeyId, secretAccessKey };
const aws = new AwsClient({ ...credentials, region, service: "s3", retries: 0 });
const log = { debug() {}, info() {}, warn() {}, error() {} };
const clock = { nowMs: Date.now, monotonicMs: () => performance.now() };
const folder = mkdtempSync(join(tmpdir(), "bench-s3-"));
const requests = { count: 0 };
const plainFetch = globalThis.fetch;
globalThis.fetch = (...all) => {
  requests.count += 1;
  return plainFetch(...all);
};

async function venue(prefix, cache) {
  const cachePath = join(folder, cache);
  const store = await openObjectStore({ bucket, endpoint, region, credentials, prefix, cachePath, log });
  const keys = createOwnerKeys({ records: store.keys, venueKey: new Uint8Array(32).fill(1), clock });
  const engine = createDriveEngine({ store, keys, clock, log });
  const close = async () => {
    await engine.close();
    await store.close();
  };
  return { owner: engine.owner("did:key:zBench"), close };
}

async function timed(work) {
  const [start, before] = [performance.now(), requests.count];
  await work();
  return { ms: performance.now() - start, requests: requests.count - before };
}

async function readAll(owner, name, size) {
  const read = await owner.read("bench");
  let bytes = 0;
  for (let at = 0; at < size; at += PIECE) bytes += (await read.readFile([name], at, PIECE)).bytes.length;
  read.release();
  expectEqual(bytes, size, "Bytes that were read");
}

const rows = [];
for (let round = 0; round < ROUNDS; round += 1) {
  const content = randomBytes(BYTES);
  const prefix = `bench-${Date.now()}-${round}`;
  const put = await timed(async () => {
    const response = await aws.fetch(`${endpoint}/${bucket}/${prefix}-plain`, { method: "PUT", body: content });
    expectEqual(response.status, 200, "Status of PutObject");
  });
  const get = await timed(async () => {
    const body = await (await aws.fetch(`${endpoint}/${bucket}/${prefix}-plain`)).arrayBuffer();
    expectEqual(body.byteLength, BYTES, "Bytes of GetObject");
  });
  const writer = await venue(prefix, `writer-${round}`);
  const write = await timed(() => writer.owner.change("bench", (draft) => draft.writeFile(["large"], content)));
  const small = await timed(() =>
    writer.owner.change("bench", (draft) => draft.writeFile(["1k"], new Uint8Array(1024))),
  );
  const names = Array.from({ length: 10_000 }, (_, at) => `file-${String(at).padStart(5, "0")}`);
  await writer.owner.change("list", async (draft) => {
    for (const name of names) await draft.writeFile([name], Buffer.from(name.repeat(8)));
  });
  await writer.close();
  const reader = await venue(prefix, `reader-${round}`);
  const read = await timed(() => readAll(reader.owner, "large", BYTES));
  await reader.close();
  const cold = await venue(prefix, `cold-${round}`);
  const list = await timed(async () => {
    const snapshot = await cold.owner.read("list");
    expectEqual((await snapshot.entries([])).length, names.length, "Entries");
    snapshot.release();
  });
  await cold.close();
  rows.push({ put, get, write, small, read, list });
}
const machine = describeMachine(folder);
rmSync(folder, { recursive: true, force: true });

const of = (what, field) => median(rows.map((row) => row[what][field]));
const line = (name, what, base, goal) => {
  const ratio = base === undefined ? "" : `${(of(what, "ms") / of(base, "ms")).toFixed(1)}x`;
  console.log(`| ${name} | ${(of(what, "ms") / 1000).toFixed(2)} s | ${ratio} | ${of(what, "requests")} | ${goal} |`);
};
const { cpu, cores, node, load } = machine;
console.log(`${cpu}, ${cores} cores, Node ${node}, load ${load.toFixed(1)}, ${ROUNDS} rounds, medians\n`);
console.log("| what | time | next to plain | requests | goal |\n|---|---|---|---|---|");
line("PutObject of 100 MiB", "put", undefined, "");
line("100 MiB into a drive", "write", "put", "at most 20 requests");
line("GetObject of 100 MiB", "get", undefined, "");
line("100 MiB out of a drive, nothing cached", "read", "get", "");
line("1 KiB into a drive", "small", undefined, "");
line("listing of 10,000 files, nothing cached", "list", undefined, "at most 100 requests");
