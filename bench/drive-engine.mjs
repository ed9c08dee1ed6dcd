#!/usr/bin/env node
// The engine of drives on the embedded store (or, with --memory, in memory), next to what it has to reach.
import { randomBytes } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { createDriveEngine } from "../dist/drive/engine/engine.js";
import { createOwnerKeys } from "../dist/drive/keys/owner-keys.js";
import { openEmbeddedStore } from "../dist/drive/store/embedded.js";
import { createMemoryStore } from "../dist/drive/store/memory.js";
import { expectEqual } from "./expect.mjs";
import { median } from "./measure.mjs";

const { values } = parseArgs({
  options: { quick: { type: "boolean", default: false }, memory: { type: "boolean", default: false } },
});
const FILES = values.quick ? 10_000 : 100_000;
const BIG_BYTES = 100 * 2 ** 20;
const ROUNDS = values.quick ? 20 : 200;
const OWNER = "did:key:bench";
const clock = { nowMs: () => Date.now(), monotonicMs: () => performance.now() };
const log = { debug() {}, info() {}, warn() {}, error() {} };
const rows = [];

/** @param most milliseconds */
function report(what, ms, most) {
  rows.push([what, `${ms.toFixed(ms < 20 ? 2 : 0)} ms`, `at most ${most} ms`, ms <= most ? "met" : "**missed**"]);
}

async function timed(work) {
  const start = performance.now();
  await work();
  return performance.now() - start;
}

async function* pieces(bytes) {
  for (let at = 0; at < bytes.length; at += 65_536) yield bytes.subarray(at, at + 65_536);
}

function openEngine(store) {
  const keys = createOwnerKeys({ records: store.keys, venueKey: new Uint8Array(32).fill(1), clock });
  return createDriveEngine({ store, keys, clock, log });
}

async function measureBig(owner) {
  const content = randomBytes(BIG_BYTES);
  const before = process.memoryUsage.rss();
  let highest = before;
  const watch = setInterval(() => {
    highest = Math.max(highest, process.memoryUsage.rss());
  }, 20);
  report(
    "write 100 MiB",
    await timed(() => owner.change("big", (drive) => drive.writeFile(["f"], pieces(content)))),
    2300,
  );
  clearInterval(watch);
  rows.push([
    "more memory meanwhile",
    `${Math.round((highest - before) / 2 ** 20)} MiB`,
    "at most 64 MiB",
    highest - before <= 64 * 2 ** 20 ? "met" : "**missed**",
  ]);
  const snapshot = await owner.read("big");
  const read = await timed(async () => {
    for (let at = 0; at < BIG_BYTES; at += 2 ** 20) {
      const { bytes } = await snapshot.readFile(["f"], at, 2 ** 20);
      expectEqual(bytes.equals(content.subarray(at, at + 2 ** 20)), true, "What is read back");
    }
  });
  snapshot.release();
  report("read 100 MiB", read, 800);
  const appends = [];
  for (let round = 0; round < ROUNDS; round += 1) {
    appends.push(await timed(() => owner.change("big", (drive) => drive.appendFile(["f"], Uint8Array.of(1)))));
  }
  report("append 1 byte to 100 MiB", median(appends), 20);
}

async function measureMany(owner) {
  const content = randomBytes(1024);
  for (let at = 0; at < FILES; at += 1000) {
    await owner.change("many", async (drive) => {
      for (let file = at; file < at + 1000; file += 1) {
        content.writeUInt32LE(file);
        await drive.writeFile([`file-${file}.txt`], content);
      }
    });
  }
  const writes = [];
  for (let round = 0; round < ROUNDS; round += 1) {
    content.writeUInt32LE(FILES + round);
    const name = `file-${(round * 7919) % FILES}.txt`;
    writes.push(await timed(() => owner.change("many", (drive) => drive.writeFile([name], content))));
  }
  report(`write 1 KiB into ${FILES} files, durable`, median(writes), 20);
  const listings = [];
  for (let round = 0; round < 5; round += 1) {
    const snapshot = await owner.read("many");
    listings.push(await timed(async () => expectEqual((await snapshot.entries([])).length, FILES, "What is listed")));
    snapshot.release();
  }
  report(`list ${FILES} files`, median(listings), (150 * FILES) / 10_000);
}

const folder = mkdtempSync(join(tmpdir(), "drive-engine-"));
try {
  const open = () => (values.memory ? createMemoryStore() : openEmbeddedStore({ path: join(folder, "store") }));
  const store = await open();
  const engine = openEngine(store);
  await measureBig(engine.owner(OWNER));
  await measureMany(engine.owner(OWNER));
  await engine.close();
  const later = openEngine(store);
  report("first change of another process", await timed(() => later.owner(OWNER).create("new")), 5000);
  await later.close();
  await store.close();
} finally {
  rmSync(folder, { recursive: true, force: true });
}
for (const row of rows) process.stdout.write(`| ${row.join(" | ")} |\n`);
