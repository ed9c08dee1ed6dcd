#!/usr/bin/env node
// What later pages of a list cost beside the stats of their own entries: `npm run bench:pages`.
import { lstatSync, mkdirSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createFileAdapter } from "venue-files";
import { expectEqual } from "./expect.mjs";
import { cleanUpWhateverHappens, temporaryDirectory } from "./lifetime.mjs";
import { describeMachine } from "./machine.mjs";
import { median } from "./measure.mjs";

const ROUNDS = 15;
const TARGET = 1.3;
const CASES = [
  [10_000, 1000],
  [100_000, 1000],
  [100_000, 10_000],
];

/** Milliseconds by the clock, and of the processor. */
async function timed(work) {
  const [start, before] = [performance.now(), process.cpuUsage()];
  await work();
  const { user, system } = process.cpuUsage(before);
  return { ms: performance.now() - start, busy: (user + system) / 1000 };
}

async function measure(home, [entries, limit]) {
  const folder = join(home, `d${entries}`);
  const adapter = await createFileAdapter({ roots: { bench: home } });
  const names = readdirSync(folder).toSorted();
  const list = (offset) => adapter.invoke("file:list", { root: "bench", path: `d${entries}`, offset, limit });
  const pages = Math.min(entries / limit - 1, 9);
  const rounds = [];
  for (let round = 0; round < ROUNDS; round++) {
    await list(0);
    for (let page = 1; page <= pages; page++) {
      const offset = page * limit;
      const own = await timed(async () => expectEqual((await list(offset)).entries.length, limit, "list"));
      const stats = await timed(() => names.slice(offset, offset + limit).map((name) => lstatSync(join(folder, name))));
      if (round > 2) rounds.push({ own, stats });
    }
  }
  await adapter.close();
  const of = (part) => median(rounds.map(({ own, stats }) => part(own) / part(stats)));
  return { wall: of(({ ms }) => ms), ms: median(rounds.map(({ own }) => own.ms)) };
}

cleanUpWhateverHappens();
const home = temporaryDirectory();
for (const entries of new Set(CASES.map(([count]) => count))) {
  mkdirSync(join(home, `d${entries}`));
  for (let index = 0; index < entries; index++) {
    writeFileSync(join(home, `d${entries}`, `file-${String(index).padStart(6, "0")}.txt`), "x");
  }
}
console.log(`${JSON.stringify(describeMachine(home))}\n`);
console.log("| later pages of a list | a page | stats of its entries | target |\n|---|--:|--:|--:|");
for (const one of CASES) {
  const { wall, ms } = await measure(home, one);
  const [entries, limit] = one.map((count) => count.toLocaleString("en"));
  console.log(`| ${limit} of ${entries} | ${ms.toFixed(1)} ms | ${wall.toFixed(2)}x | ${TARGET}x |`);
  if (wall > TARGET) process.exitCode = 1;
}
