#!/usr/bin/env node
// What the audit costs: processor time that the chain adds to a record, and queries of a million records.
import { join } from "node:path";
import { openAuditFile } from "../dist/audit/audit-file.js";
import { AuditLog } from "../dist/audit/log.js";
import { openRotatingFile } from "../dist/audit/rotating-file.js";
import { auditSigner } from "../dist/venue/start/audit-signer.js";
import { runBench, shown } from "./harness.mjs";
import { temporaryDirectory } from "./lifetime.mjs";
import { inTurns, median, spent, timings } from "./timing.mjs";

const ROUND_RECORDS = 50_000;
const BATCH = 500;
const SIGNED = { signer: auditSigner(undefined) };
const QUERIES = [
  ["all", {}],
  ["a rare caller", { actor: "did:key:z6MkRare" }],
  ["failures", { outcome: "NOT_FOUND" }],
  ["a folder", { under: ["file://docs/d7/e7"] }],
  ["a caller that never came", { actor: "did:key:z6MkNobody" }],
];

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

/** @param settle waits until what was queued is written */
async function writeAll(count, write, settle) {
  for (let index = 0; index < count; index++) {
    write(record(index));
    if (index % BATCH === 0) await settle();
  }
  await settle();
}

async function measureChain({ quick, row }) {
  const folder = temporaryDirectory();
  const plain = await openRotatingFile(join(folder, "plain.jsonl"), console.error);
  const chained = await openAuditFile(join(folder, "chained.jsonl"), console.error, SIGNED);
  const line = (one) => plain.append(`${JSON.stringify(one)}\n`);
  const link = (one) => chained.write(one);
  const found = await inTurns(quick ? 3 : 9, {
    plain: () => spent(() => writeAll(ROUND_RECORDS, line, () => plain.settled())),
    chained: () => spent(() => writeAll(ROUND_RECORDS, link, () => chained.written())),
  });
  await Promise.all([plain.close(), chained.close()]);
  const perRecordUs = (values) => (median(values) / ROUND_RECORDS) * 1e3;
  const added = found.chained.map((ms, round) => ms - found.plain[round]);
  const beside = `a record without it ${shown(perRecordUs(found.plain), "µs")} of processor time`;
  row({ what: "the chain, added to a record", value: perRecordUs(added), unit: "µs", beside, most: 3 });
}

async function measureQueries({ quick, row }) {
  const records = quick ? 100_000 : 1_000_000;
  const folder = temporaryDirectory();
  const path = join(folder, "audit.jsonl");
  const audit = await openAuditFile(path, console.error, { ...SIGNED, keep: 20 });
  const write = (one) => audit.write(one);
  await writeAll(records, write, () => audit.written());
  await audit.close();
  const log = new AuditLog({ path, indexFolder: join(folder, "index") });
  // The first query makes the index; it answers what it has after five seconds, so it is asked again.
  let cursor;
  do ({ next: cursor } = await log.query({ actor: "did:key:z6MkNobody", limit: 100, cursor }));
  while (cursor !== undefined);
  for (const [name, query] of QUERIES) {
    const samples = await timings(quick ? 3 : 9, () => log.query({ ...query, limit: 100 }));
    row({ what: `newest 100 of ${shown(records)}: ${name}`, value: median(samples), most: 50 });
  }
}

await runBench([
  { name: "chain", run: measureChain },
  { name: "queries", run: measureQueries },
]);
