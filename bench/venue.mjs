#!/usr/bin/env node
// The venue over HTTP: throughput beside the bare framework, start, memory while streaming, and many callers of large answers.
import { parseArgs } from "node:util";
import { cleanUp, cleanUpWhateverHappens, temporaryDirectory } from "./lifetime.mjs";
import { describeMachine } from "./machine.mjs";
import { measureCrowd } from "./venue/crowd.mjs";
import { measureFloods } from "./venue/flood.mjs";
import { measureIdleBodies } from "./venue/idle-bodies.mjs";
import { measureHttpReads, measureStdioReads } from "./venue/memory.mjs";
import { measureStart } from "./venue/start.mjs";
import { measureStreaming } from "./venue/streaming.mjs";
import { measureThroughput, measureToolCalls } from "./venue/throughput.mjs";

const { values } = parseArgs({
  options: {
    quick: { type: "boolean", default: false },
    memory: { type: "boolean", default: false },
    crowd: { type: "boolean", default: false },
    flood: { type: "boolean", default: false },
    alone: { type: "boolean", default: false },
  },
});
const size = values.quick
  ? { rounds: 1, seconds: 2, warmUpSeconds: 3, bytes: 128 * 1024 * 1024, calls: 400 }
  : { rounds: 15, seconds: 2, warmUpSeconds: 15, bytes: 1024 * 1024 * 1024, calls: 10_000 };

const verdict = (met) => (met ? "met" : "**missed**");

/** Memory that answers take, and calls beside requests that send nothing. */
async function loadRows() {
  const many = await measureHttpReads(temporaryDirectory(), { reads: 64, bytes: 8_388_608, senders: 8 });
  const large = await measureHttpReads(temporaryDirectory(), { reads: 16, bytes: 50_000_000, senders: 16 });
  const stdio = await measureStdioReads(temporaryDirectory(), { reads: 80, bytes: 8_388_608 });
  const rounds = values.quick ? { rounds: 1, seconds: 3 } : { rounds: 9, seconds: 6 };
  const idle = await measureIdleBodies(temporaryDirectory(), { ...rounds, perSecond: 200, idle: 500 });
  const mb = (bytes) => `${(bytes / 1e6).toFixed(0)} MB`;
  return [
    [
      "64 reads of 8 MiB at once, 8 senders: growth of memory",
      mb(many.growth),
      `${mb(many.before)} before`,
      "at most 2x `maxInFlightBytes`, 537 MB",
      verdict(many.growth <= 2 * 268_435_456),
    ],
    [
      "16 reads of 50 MB at once, 16 senders: growth of memory",
      mb(large.growth),
      `${mb(large.before)} before`,
      "at most 500 MB",
      verdict(large.growth <= 500e6),
    ],
    [
      "80 reads of 8 MiB over MCP on stdio, nothing taken for 5 s: growth of memory",
      mb(stdio.stalled),
      `${mb(stdio.growth)} once all were taken`,
      "at most 100 MB",
      verdict(stdio.stalled <= 100e6),
    ],
    [
      `p99 of ${idle.perSecond} calls a second beside ${idle.idle} bodies that are announced and never come`,
      `${idle.beside.toFixed(1)} ms`,
      `alone ${idle.alone.toFixed(1)} ms: ${idle.ratio.toFixed(2)}x; ${idle.refused} refused`,
      "at most 2x, none refused",
      verdict(idle.ratio <= 2 && idle.refused === 0),
    ],
  ];
}

/** Reads of one caller beside slow calls of another. */
async function floodRows() {
  const floods = await measureFloods(temporaryDirectory(), { seconds: values.quick ? 3 : 10, inFlight: 200 });
  return floods.map(({ what, inFlight, alone, beside }) => [
    `a read of 1 KB beside ${inFlight} ${what} of another caller, median`,
    `${beside.p50Ms.toFixed(1)} ms`,
    `p99 ${beside.p99Ms.toFixed(1)} ms; alone ${alone.p50Ms.toFixed(1)} and ${alone.p99Ms.toFixed(1)} ms`,
    "at most 50 ms",
    verdict(beside.p50Ms <= 50),
  ]);
}

const CROWD_CALLS = { list: "`file:list` of 1,000", tree: "`file:tree` of 5,000" };

const besideReference = (ratio) => (ratio === undefined ? "" : `reference venue: ${ratio.toFixed(2)}x; `);

/** Many callers of large answers, and the memory after them. */
function crowdRows({ calls, connections, perSecond, ratio, toReference, loopMs, peak, settled, after }) {
  return [
    ...Object.entries(values.alone ? {} : CROWD_CALLS).map(([name, what]) => [
      `${what} under ${connections} connections, requests a second`,
      `${Math.round(perSecond[name])}`,
      `bare framework over \`node:fs/promises\`: ${ratio[name].toFixed(2)}x; ${besideReference(toReference[name])}${loopMs[name].toFixed(1)} ms of the event loop each`,
      toReference[name] === undefined ? "at least 1x" : "at least 1x the reference",
      verdict((toReference[name] ?? ratio[name]) >= 1),
    ]),
    [
      `${calls} such calls: memory two minutes after them`,
      `${Math.round(settled / 1e6)} MB`,
      `${Math.round(peak / 1e6)} MB at most, ${Math.round(after / 1e6)} MB after a collection`,
      "under 300 MB",
      verdict(settled < 300e6),
    ],
  ];
}

async function main() {
  cleanUpWhateverHappens();
  if (values.crowd) {
    const crowd = await measureCrowd(temporaryDirectory(), { ...size, alone: values.alone });
    for (const row of crowdRows(crowd)) process.stdout.write(`| ${row.join(" | ")} |\n`);
    return;
  }
  if (values.flood) {
    for (const row of await floodRows()) process.stdout.write(`| ${row.join(" | ")} |\n`);
    return;
  }
  if (values.memory) {
    for (const row of await loadRows()) process.stdout.write(`| ${row.join(" | ")} |\n`);
    return;
  }
  const machine = describeMachine(temporaryDirectory());
  const start = await measureStart(temporaryDirectory(), { rounds: values.quick ? 1 : 5 });
  const throughput = await measureThroughput(temporaryDirectory(), size);
  const tools = [];
  for (const revision of ["2025-11-25", "2026-07-28"])
    tools.push({ revision, ...(await measureToolCalls(temporaryDirectory(), revision, size)) });
  const streaming = await measureStreaming(temporaryDirectory(), size);
  const crowd = await measureCrowd(temporaryDirectory(), size);
  const { ours, bare, ratio, connections } = throughput;
  const spread = ours.p99Ms / ours.p50Ms;
  const growthMB = streaming.growth / 1e6;
  const floods = await floodRows();
  const load = await loadRows();
  const rows = [
    [
      "`file:stat` by invoke, requests a second",
      `${Math.round(ours.perSecond)}`,
      `bare framework ${Math.round(bare.perSecond)}: ${ratio.toFixed(2)}x`,
      "at least 0.6x",
      verdict(ratio >= 0.6),
    ],
    [
      `p99 under ${connections} connections`,
      `${ours.p99Ms.toFixed(1)} ms`,
      `median ${ours.p50Ms.toFixed(1)} ms: ${spread.toFixed(1)}x`,
      "at most 5x the median",
      verdict(spread <= 5),
    ],
    ...tools.map(({ revision, perSecond, p99Ms }) => [
      `the same as a tool, over MCP by HTTP in revision ${revision}, calls a second`,
      `${Math.round(perSecond)}`,
      `the same by invoke: ${(perSecond / ours.perSecond).toFixed(2)}x; p99 ${p99Ms.toFixed(1)} ms`,
      "at least 0.4x",
      verdict(perSecond / ours.perSecond >= 0.4),
    ]),
    [
      `${streaming.bytes / 2 ** 20} MiB up, into a root, back by ranges: growth of memory`,
      `${growthMB.toFixed(0)} MB`,
      Object.entries(streaming.seconds)
        .map(([name, s]) => `${name} ${s.toFixed(1)} s`)
        .join(", "),
      "under 100 MB",
      verdict(growthMB < 100),
    ],
    ...crowdRows(crowd),
    [
      "start to first answer",
      `${Math.round(start.statusMs)} ms`,
      `first operation ${Math.round(start.operationMs)} ms; a Node that does nothing ${Math.round(start.idleMs)} ms`,
      "under 400 ms",
      verdict(start.statusMs < 400),
    ],
    ...floods,
    ...load,
  ];
  const lines = [
    "# Performance of the venue",
    "",
    "All pages of figures: [performance.md](performance.md).",
    "",
    "Fast: streams of bytes, and many callers at once in bounded memory. Not fast: a small call costs three times what the bare",
    "framework answers in, since it is a job with an identity, rights, a record and an audit line.",
    "",
    "The venue over HTTP, measured by `npm run bench:venue`, which prints this page. The bare framework is Fastify, which parses",
    "the same request and answers the same bytes and headers; both are loaded by the same client in turns, and the ratio is the",
    "median of the ratios of the rounds. Memory is the resident set of the server process; the pieces are read by private calls",
    "of 1 MiB, whose records are not kept (those of others are, up to `jobs.maxBytes`, 64 MiB). `npm run soak` loads a venue",
    "with 64 clients. `npm run bench:venue -- --memory` prints the last four rows alone,",
    "`-- --flood` the three of floods, `-- --crowd` the three of many callers, and with `--alone` only the memory after them.",
    "`VENUE_FILES_BENCH_REFERENCE` may hold the command line of a reference venue, with `{config}` for the file that it reads: then it is asked in turns too.",
    "",
    `${machine.cores} cores (${machine.cpu}), ${machine.kernel}, Node ${machine.node}, ${machine.fileSystem}; load ${machine.load.toFixed(1)} before.`,
    "",
    "| what | venue | beside | target | |",
    "|---|---|---|---|---|",
    ...rows.map((row) => `| ${row.join(" | ")} |`),
  ];
  process.stdout.write(`${lines.join("\n")}\n`);
}

main().then(
  () => {
    cleanUp();
    process.exit(0);
  },
  (error) => {
    process.stderr.write(`${error.stack}\n`);
    process.exit(1);
  },
);
