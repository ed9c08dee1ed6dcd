#!/usr/bin/env node
import { writeFileSync } from "node:fs";
import { loadavg } from "node:os";
import { performance } from "node:perf_hooks";
import {
  measureDefaultBuffer,
  measureFlight,
  measureFloor,
  measureMemory,
  measureSparse,
  measureStart,
  measureTools,
  measureWarming,
  measureWire,
} from "./extras.mjs";
import { makeFixture } from "./fixture.mjs";
import { cleanUp, cleanUpWhateverHappens, temporaryDirectory } from "./lifetime.mjs";
import { describeMachine } from "./machine.mjs";
import { measure, summarise } from "./measure.mjs";
import { parseOptions, wanted } from "./options.mjs";
import { markdownReport } from "./report-markdown.mjs";
import { plainReport } from "./report-plain.mjs";
import { timedRows } from "./rows/index.mjs";
import { configure, Ports } from "./subjects.mjs";
import { judge } from "./targets.mjs";

/** What is measured besides timed calls. */
const EXTRAS = [
  { id: "floor", title: "a tool that does nothing", run: ({ options }) => measureFloor(options) },
  {
    id: "wire",
    title: "bytes on the wire",
    run: ({ rows, allRows, ports }) => measureWire(rows.length > 0 ? rows : allRows, ports),
  },
  { id: "tools", title: "tools/list", run: ({ ports }) => measureTools(ports) },
  { id: "start", title: "start", run: ({ ports, options }) => measureStart(ports, options) },
  {
    id: "warming",
    title: "stat by servers that have just started",
    run: ({ allRows, ports, options }) => measureWarming(ports, { rows: allRows, quick: options.quick }),
  },
  { id: "sparse", title: "100 lines of 10 GB", run: ({ ports, fixture }) => measureSparse(ports, fixture) },
  { id: "memory", title: "peak memory", run: ({ allRows, ports, options }) => measureMemory(allRows, ports, options) },
  {
    id: "flight",
    title: "peak memory of 16 reads of 5 MB in flight",
    run: ({ allRows, ports }) => measureFlight(allRows, ports),
  },
  {
    id: "buffer",
    title: "5 MB in a client as it comes",
    run: ({ allRows, ports }) => measureDefaultBuffer(allRows, ports),
  },
];

const say = (text) => process.stderr.write(text);

async function main() {
  const options = parseOptions(process.argv.slice(2));
  cleanUpWhateverHappens();
  const startedMs = performance.now();
  const base = temporaryDirectory();
  const bigTree = ["tree-100k", "du-100k", "wire"].some((id) => wanted(options, { id, title: "" }));
  if (!options.list) say("fixture …\n");
  const fixture = makeFixture(base, { bigTree });
  const allRows = timedRows(fixture, options);
  if (options.list) {
    for (const { id, title } of [...allRows, ...EXTRAS]) process.stdout.write(`${id.padEnd(18)} ${title}\n`);
    return;
  }
  const machine = describeMachine(base);
  const ports = new Ports(configure(base, fixture.root));
  const rows = allRows.filter((row) => wanted(options, row));
  const samples = {};
  const extras = {};
  // Memory, start and the rest first: they want a quiet machine, and the rows leave warm servers behind.
  for (const extra of EXTRAS.filter((one) => wanted(options, one))) {
    say(`${extra.title} …\n`);
    extras[extra.id] = await extra.run({ rows, allRows, ports, options, fixture });
  }
  for (const row of rows) {
    const before = performance.now();
    say(`${row.title} … `);
    samples[row.id] = await measure(row, ports);
    say(`${((performance.now() - before) / 1e3).toFixed(1)} s\n`);
  }
  await ports.close();
  const summaries = Object.fromEntries(Object.entries(samples).map(([id, results]) => [id, summarise(results)]));
  const report = {
    date: new Date().toISOString(),
    command: options.command,
    seconds: Math.round((performance.now() - startedMs) / 1e3),
    machine: { ...machine, loadAtEnd: loadavg()[0] },
    rows: allRows,
    summaries,
    extras,
    verdicts: judge({ summaries, rows: allRows, extras }),
  };
  process.stdout.write(options.markdown ? markdownReport(report) : plainReport(report));
  if (options.json !== undefined) {
    const { rows: _, ...rest } = report;
    writeFileSync(options.json, JSON.stringify({ ...rest, samples }));
  }
  const missed = report.verdicts.filter(({ pass }) => !pass);
  if (!options.check || missed.length === 0) return;
  say(`missed: ${missed.map(({ what }) => what).join("; ")}\n`);
  process.exitCode = 1;
}

main().then(
  () => {
    cleanUp();
    process.exit();
  },
  (error) => {
    process.stderr.write(`\n${error.name === "WrongAnswer" ? `Wrong answer. ${error.message}` : error.stack}\n`);
    process.exit(1);
  },
);
