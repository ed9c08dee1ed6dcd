#!/usr/bin/env node
// What the audit costs: processor time that the chain adds to a record, and queries of a million records.
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { openAuditFile } from "../dist/audit/audit-file.js";
import { AuditLog } from "../dist/audit/log.js";
import { openRotatingFile } from "../dist/audit/rotating-file.js";
import { auditSigner } from "../dist/venue/start/audit-signer.js";
import { describeMachine } from "./machine.mjs";

const { values } = parseArgs({ options: { quick: { type: "boolean", default: false } } });
const RECORDS = values.quick ? 100_000 : 1_000_000;
const ROUNDS = values.quick ? 3 : 9;
const ROUND_RECORDS = 50_000;
const BATCH = 500;
const CHAIN_TARGET_US = 3;
const QUERY_TARGET_MS = 50;

const record = (index) => ({
  time: 1_764_000_000_000 + index,
  caller:
    index % 9973 === 5 ? "did:key:z6MkRare" : `did:key:z6MkpTHR8VNsBxYAAWHut2Geadd9jSwuBV8xRoAnwWsdvkt${index % 5}`,
  operation: index % 3 === 0 ? "file:write" : "file:read",
  resource: `file://docs/d${index % 50}/e${index % 700}/file${index}.txt`,
  outcome: index % 10_007 === 3 ? "NOT_FOUND" : "OK",
  bytes: index,
  ms: 0.532,
  job: "01a206369bb40000bc78091b2caa0879",
  via: "pee1c1c3e24834ca4",
});

const median = (numbers) => numbers.toSorted((a, b) => a - b)[Math.floor(numbers.length / 2)];

/** Processor time of a record, in microseconds. @param settle waits until what was queued is written */
async function costOf(write, settle) {
  const start = process.cpuUsage();
  for (let index = 0; index < ROUND_RECORDS; index++) {
    write(record(index));
    if (index % BATCH === 0) await settle();
  }
  await settle();
  const { user, system } = process.cpuUsage(start);
  return (user + system) / ROUND_RECORDS;
}

/** In turn, so that whatever else happens on the machine hits both alike. */
async function measureChain(dir) {
  const plain = await openRotatingFile(join(dir, "plain.jsonl"), console.error);
  const chained = await openAuditFile(join(dir, "chained.jsonl"), console.error, { signer: auditSigner(undefined) });
  const [without, added] = [[], []];
  for (let round = 0; round < ROUNDS; round++) {
    const base = await costOf(
      (one) => plain.append(`${JSON.stringify(one)}\n`),
      () => plain.settled(),
    );
    const all = await costOf(
      (one) => chained.write(one),
      () => chained.written(),
    );
    without.push(base);
    added.push(all - base);
  }
  await Promise.all([plain.close(), chained.close()]);
  return { without: median(without), added: median(added) };
}

async function fill(path) {
  const audit = await openAuditFile(path, console.error, { signer: auditSigner(undefined), keep: 20 });
  for (let index = 0; index < RECORDS; index++) {
    audit.write(record(index));
    if (index % BATCH === 0) await audit.written();
  }
  await audit.close();
}

const QUERIES = [
  ["all", {}],
  ["a rare caller", { actor: "did:key:z6MkRare" }],
  ["failures", { outcome: "NOT_FOUND" }],
  ["a folder", { under: ["file://docs/d7/e7"] }],
  ["a caller that never came", { actor: "did:key:z6MkNobody" }],
];

async function measureQueries(path, indexFolder) {
  const log = new AuditLog({ path, indexFolder });
  const rows = [];
  const start = performance.now();
  // The first makes the index; it answers what it has after five seconds, so it is asked again.
  let cursor;
  do ({ next: cursor } = await log.query({ actor: "did:key:z6MkNobody", limit: 100, cursor }));
  while (cursor !== undefined);
  const indexed = performance.now() - start;
  for (const [name, query] of QUERIES) {
    const times = [];
    for (let round = 0; round < ROUNDS; round++) {
      const from = performance.now();
      await log.query({ ...query, limit: 100 });
      times.push(performance.now() - from);
    }
    rows.push([name, median(times)]);
  }
  return { indexed, rows };
}

const dir = await mkdtemp(join(tmpdir(), "venue-files-bench-audit-"));
try {
  const chain = await measureChain(dir);
  await fill(join(dir, "audit.jsonl"));
  const { indexed, rows } = await measureQueries(join(dir, "audit.jsonl"), join(dir, "index"));
  console.log(`# Audit\n\n${JSON.stringify(describeMachine(dir))}\n`);
  console.log("| what | measured | target |\n|---|--:|--:|");
  console.log(`| a record without the chain, processor | ${chain.without.toFixed(1)} µs | – |`);
  console.log(`| what the chain adds | ${chain.added.toFixed(1)} µs | ${CHAIN_TARGET_US} µs |`);
  for (const [name, ms] of rows) {
    console.log(
      `| newest 100 of ${RECORDS.toLocaleString("en")}: ${name} | ${ms.toFixed(1)} ms | ${QUERY_TARGET_MS} ms |`,
    );
  }
  console.log(`| making the index, once | ${(indexed / 1000).toFixed(1)} s | – |`);
  if (chain.added > CHAIN_TARGET_US || rows.some(([, ms]) => ms > QUERY_TARGET_MS)) process.exitCode = 1;
} finally {
  await rm(dir, { recursive: true });
}
