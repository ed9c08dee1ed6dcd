import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { performance } from "node:perf_hooks";
import { setTimeout as sleep } from "node:timers/promises";
import autocannon from "autocannon";
import { startBareFiles, startOtherVenue, startVenue } from "./process.mjs";

const CONNECTIONS = 16;
const HEADERS = { "content-type": "application/json" };
const SAMPLE_MS = 100;
/** V8 collects a heap in which nothing more is allocated after some 100 s. */
const SETTLE_MS = 120_000;

const CALLS = {
  list: { operation: "v/ops/file/list", input: { root: "docs", path: "list", limit: 1000 } },
  tree: { operation: "v/ops/file/tree", input: { root: "docs", path: "tree", maxDepth: 10, maxEntries: 5000 } },
};

/** A directory of 1,000 files, and a tree of 5,000 entries. */
function fill(docs) {
  mkdirSync(join(docs, "list"), { recursive: true });
  for (let index = 0; index < 1000; index++) writeFileSync(join(docs, "list", `file-${index}.txt`), "x");
  for (let folder = 0; folder < 50; folder++) {
    mkdirSync(join(docs, "tree", `folder-${folder}`), { recursive: true });
    for (let index = 0; index < 99; index++)
      writeFileSync(join(docs, "tree", `folder-${folder}`, `file-${index}.txt`), "x");
  }
}

/** Command line of another venue to compare with, with `{config}` for its configuration. */
const REFERENCE = process.env["VENUE_FILES_BENCH_REFERENCE"];

/** Rounds of each call, by turns with the other servers, so that whatever else the machine does hits all. */
const ROUNDS = 10;

/**
 * Many callers of large answers at once: `calls` in all, half of them lists and half trees, beside the bare framework over
 * node:fs/promises, and another venue where there is one.
 *
 * @param options.alone leaves the other servers out, for the memory only
 * @returns of each, requests per second, the median of their ratios to the bare server's and to those of the other venue, and the time of the event loop for one,
 * in ms; the resident size of the venue at its peak, when it has had nothing to do for two minutes, and after a collection that is asked for then, in bytes
 */
export async function measureCrowd(folder, { calls, alone = false }) {
  const docs = join(folder, "docs");
  fill(docs);
  const venue = await startVenue(folder, { file: { roots: { docs } } }, { probe: true });
  const bare = alone ? undefined : await startBareFiles(folder, docs);
  const other = { command: REFERENCE, docs, call: CALLS.list };
  const reference = alone || REFERENCE === undefined ? undefined : await startOtherVenue(folder, other);
  let peak = 0;
  const timer = setInterval(() => {
    peak = Math.max(peak, venue.rssBytes());
  }, SAMPLE_MS);
  const perSecond = {};
  const ratio = {};
  const toReference = {};
  const loopMs = {};
  for (const [name, call] of Object.entries(CALLS)) {
    const amount = Math.max(CONNECTIONS, Math.round(calls / 2 / ROUNDS));
    const rounds = { venue: [], bare: [], reference: [] };
    if (reference !== undefined) await fire(reference.url, call, amount);
    const before = venue.loopCpuMs();
    for (let round = 0; round < ROUNDS; round++) {
      rounds.venue.push(await fire(venue.url, call, amount));
      if (bare !== undefined) rounds.bare.push(await fire(bare.url, call, amount));
      if (reference !== undefined) rounds.reference.push(await fire(reference.url, call, amount));
    }
    perSecond[name] = middleOf(rounds.venue);
    const ratioTo = (other) => middleOf(rounds.venue.map((own, round) => own / other[round]));
    if (bare !== undefined) ratio[name] = ratioTo(rounds.bare);
    if (reference !== undefined) toReference[name] = ratioTo(rounds.reference);
    loopMs[name] = (venue.loopCpuMs() - before) / (amount * ROUNDS);
  }
  clearInterval(timer);
  await sleep(SETTLE_MS);
  const settled = venue.rssBytes();
  await venue.collected();
  const { rss: after } = await venue.collected();
  await venue.stop();
  await bare?.stop();
  await reference?.stop();
  return { connections: CONNECTIONS, calls, perSecond, ratio, toReference, loopMs, peak, settled, after };
}

/** @returns requests per second until the last answer: the client itself ends at full seconds */
async function fire(url, call, amount) {
  const started = performance.now();
  let last = started;
  const options = {
    // Without it an answer may come before the operation has ended, and in the reference it always does.
    url: `${url}/api/v1/invoke?wait=true`,
    method: "POST",
    headers: HEADERS,
    body: JSON.stringify(call),
    connections: CONNECTIONS,
    amount,
    // A busy machine is slow, not wrong.
    timeout: 60,
  };
  const result = await new Promise((resolve, reject) => {
    const load = autocannon(options, (error, found) => (error ? reject(error) : resolve(found)));
    load.on("response", () => {
      last = performance.now();
    });
  });
  if (result.non2xx > 0 || result.errors > 0)
    throw new Error(`${result.non2xx} wrong answers, ${result.errors} errors`);
  return (result.requests.total * 1000) / (last - started);
}

const middleOf = (values) => [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)];
