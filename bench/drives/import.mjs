import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { createDriveEngine } from "../../dist/drive/engine/engine.js";
import { createOwnerKeys } from "../../dist/drive/keys/owner-keys.js";
import { row } from "./report.mjs";

const clock = { nowMs: () => Date.now(), monotonicMs: () => performance.now() };
const log = { debug() {}, info() {}, warn() {}, error() {} };

const MIB = 2 ** 20;

/** In use or not yet collected, without what the store maps into memory, in bytes. */
function memoryNow() {
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
}

/** Processor time of the main thread so far, in milliseconds; 0 where only Linux would say. */
function threadTime() {
  if (process.platform !== "linux") return 0;
  const [nanoseconds] = readFileSync(`/proc/self/task/${process.pid}/schedstat`, "utf8").split(" ");
  return Number(nanoseconds) / 1e6;
}

/**
 * How long the event loop is held at most while something is done, by the clock and by the processor time of its thread
 * (which other programs do not lengthen), in milliseconds, how long that takes, and by how many bytes memory grows at
 * most.
 */
async function heldBy(work) {
  let [last, longest, isRunning] = [performance.now(), 0, true];
  let [lastTime, busiest] = [threadTime(), 0];
  const before = memoryNow();
  let highest = before;
  const watch = setInterval(() => {
    highest = Math.max(highest, memoryNow());
  }, 20);
  const tick = () => {
    const now = performance.now();
    longest = Math.max(longest, now - last);
    last = now;
    const time = threadTime();
    busiest = Math.max(busiest, time - lastTime);
    lastTime = time;
    if (isRunning) setImmediate(tick);
  };
  setImmediate(tick);
  const start = performance.now();
  await work();
  isRunning = false;
  clearInterval(watch);
  return { ms: performance.now() - start, longest, busiest, growth: highest - before };
}

async function* pieces(bytes) {
  for (let at = 0; at < bytes.length; at += 65_536) yield bytes.subarray(at, at + 65_536);
}

const EXPORT = join(import.meta.dirname, "export.mjs");

const exported = (entries, side) =>
  execFileSync(process.execPath, [EXPORT, String(entries), side], { maxBuffer: 2 ** 30 });

/** `drive:import` into a new drive, and into one that exists and has as many other entries. @param store an empty one */
export async function measureImport(store, entries) {
  const keys = createOwnerKeys({ records: store.keys, venueKey: new Uint8Array(32).fill(1), clock });
  const owner = createDriveEngine({ store, keys, clock, log }).owner("did:key:import");
  for (const [what, side] of [
    ["a new drive", "a"],
    ["a drive that exists", "b"],
  ]) {
    const bytes = exported(entries, side);
    const { ms, longest, busiest, growth } = await heldBy(() =>
      owner.importDrive([pieces(bytes)], { drive: "import" }),
    );
    row(`import ${entries} entries into ${what}`, [ms]);
    row("… longest hold of the event loop", [longest], { most: 50 });
    row("… most processor time of its thread in one turn", [busiest], { most: 50 });
    row("… more memory meanwhile (MiB)", [growth / MIB]);
  }
}
