#!/usr/bin/env node
// The embedded store of drives: 100 MiB in and out, the disk it takes, and a small commit into it.
import { createHash, randomBytes } from "node:crypto";
import { closeSync, mkdtempSync, openSync, readdirSync, readSync, rmSync, statSync, writeSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { createBlobTree } from "../dist/drive/blob.js";
import { encode, sign } from "../dist/drive/index.js";
import { openEmbeddedStore } from "../dist/drive/store/embedded.js";
import { expectEqual } from "./expect.mjs";
import { describeMachine } from "./machine.mjs";
import { median } from "./measure.mjs";

const { values } = parseArgs({ options: { quick: { type: "boolean", default: false } } });
const rounds = values.quick ? 1 : 5;

const CHUNK_BYTES = 4096;
const BLOB_TAG = 0x31;
const TOTAL_BYTES = 100 * 2 ** 20;
const MIB = 2 ** 20;
const OWNER = "ab".repeat(32);
const SEED = new Uint8Array(32).fill(7);

const verdict = (met) => (met ? "met" : "**missed**");
const sizeOf = (folder) =>
  readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .reduce((sum, entry) => sum + statSync(join(entry.parentPath, entry.name)).blocks * 512, 0);

/** A piece for all rounds, changed a little in each chunk, so that the content is not held but differs everywhere. */
function* chunksOf(seed) {
  for (let at = 0; at < TOTAL_BYTES; at += CHUNK_BYTES) {
    seed.writeUInt32BE(at / CHUNK_BYTES);
    yield seed;
  }
}

async function storeContent(store, seed) {
  const batch = store.batch();
  const hashes = [];
  let waiting;
  const tree = createBlobTree(({ ref, bytes }) => {
    if (bytes.length > CHUNK_BYTES) hashes.push(ref.slice(1));
    waiting = batch.put(ref.subarray(1), bytes) ?? waiting;
  });
  let most = 0;
  for (const chunk of chunksOf(seed)) {
    tree.add(chunk);
    if (waiting === undefined) continue;
    await waiting;
    waiting = undefined;
    most = Math.max(most, process.memoryUsage.rss());
  }
  const top = tree.finish(BLOB_TAG);
  if (top.ref[0] === 0x20) await batch.put(top.ref.subarray(1), top.bytes);
  await batch.flush();
  return { hashes, most };
}

async function readContent(store, hashes) {
  let bytes = 0;
  for (let at = 0; at < hashes.length; at += 256) {
    for (const cell of await store.getMany(hashes.slice(at, at + 256))) bytes += cell.length - 3;
  }
  expectEqual(bytes, TOTAL_BYTES, "Bytes that were read");
}

/** The same content hashed and written, and read and hashed, with nothing that makes it a store. */
function bareWork(folder, seed) {
  const path = join(folder, "bare");
  const file = openSync(path, "w+");
  const start = performance.now();
  for (const chunk of chunksOf(seed)) {
    createHash("sha3-256").update(chunk).digest();
    writeSync(file, chunk);
  }
  const wrote = performance.now();
  const piece = Buffer.alloc(MIB);
  for (let at = 0; at < TOTAL_BYTES; at += MIB) {
    readSync(file, piece, 0, MIB, at);
    for (let chunk = 0; chunk < MIB; chunk += CHUNK_BYTES) {
      createHash("sha3-256")
        .update(piece.subarray(chunk, chunk + CHUNK_BYTES))
        .digest();
    }
  }
  const read = performance.now();
  closeSync(file);
  return { writeMs: wrote - start, readMs: read - wrote };
}

async function measureSmall(store) {
  const times = [];
  for (let round = 0; round < 200; round += 1) {
    const cells = Array.from({ length: 12 }, () => randomBytes(700));
    const [before = null] = await store.roots(OWNER);
    const root = encode(sign(BigInt(round), SEED));
    const start = performance.now();
    const batch = store.batch();
    for (const cell of cells) batch.put(createHash("sha3-256").update(cell).digest(), cell);
    await batch.commit(OWNER, before, root);
    times.push(performance.now() - start);
  }
  return median(times);
}

async function measure(folder) {
  const found = { store: [], read: [], bareWrite: [], bareRead: [], memory: [], disk: 0, small: 0, durable: 0 };
  for (let round = 0; round < rounds; round += 1) {
    const seed = randomBytes(CHUNK_BYTES);
    const path = join(folder, String(round));
    const store = await openEmbeddedStore({ path, flush: false });
    const before = process.memoryUsage.rss();
    const start = performance.now();
    const { hashes, most } = await storeContent(store, seed);
    const stored = performance.now();
    await readContent(store, hashes);
    found.store.push(stored - start);
    found.read.push(performance.now() - stored);
    found.memory.push((most - before) / MIB);
    found.disk = sizeOf(path);
    if (round === rounds - 1) found.small = await measureSmall(store);
    await store.close();
    rmSync(path, { recursive: true });
    const bare = bareWork(folder, seed);
    found.bareWrite.push(bare.writeMs);
    found.bareRead.push(bare.readMs);
  }
  const durable = await openEmbeddedStore({ path: join(folder, "durable") });
  found.durable = await measureSmall(durable);
  await durable.close();
  return found;
}

const ms = (times) => `${Math.round(median(times))} ms`;

async function main() {
  const folder = mkdtempSync(join(tmpdir(), "vf-bench-"));
  const { load, ...machine } = describeMachine(folder);
  try {
    const found = await measure(folder);
    const [storeMs, readMs, memory] = [median(found.store), median(found.read), median(found.memory)];
    const rows = [
      [
        "hash and store 100 MiB",
        ms(found.store),
        `hash and write ${ms(found.bareWrite)}`,
        "at most 2300 ms",
        storeMs <= 2300,
      ],
      ["memory for that", `${Math.round(memory)} MiB`, "", "at most 64 MiB", memory <= 64],
      [
        "read 100 MiB back, warm",
        ms(found.read),
        `read and hash ${ms(found.bareRead)}`,
        "at most 800 ms",
        readMs <= 800,
      ],
      ["disk for 100 MiB", `${(found.disk / 1e6).toFixed(1)} MB`, "104.9 MB", "at most 112 MB", found.disk <= 112e6],
      ["commit 12 cells", `${found.small.toFixed(2)} ms`, "", "at most 5 ms", found.small <= 5],
      ["commit 12 cells, flushed", `${found.durable.toFixed(2)} ms`, "", "", undefined],
    ];
    const lines = [
      "# Performance of the embedded store of drives",
      "",
      `Medians of ${rounds} rounds; without flushing to the disk but where it is said.`,
      "",
      `${machine.cores} cores (${machine.cpu}), ${machine.kernel}, Node ${machine.node}, ${machine.fileSystem}; load ${load.toFixed(1)} before.`,
      "",
      "| what | store | beside | goal | |",
      "|---|---|---|---|---|",
      ...rows.map((row) => `| ${[...row.slice(0, 4), row[4] === undefined ? "" : verdict(row[4])].join(" | ")} |`),
    ];
    process.stdout.write(`${lines.join("\n")}\n`);
  } finally {
    rmSync(folder, { recursive: true });
  }
}

await main();
